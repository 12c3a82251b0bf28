#include "io/checkpoint/checkpoint.h"

#include "io/checkpoint/checkpoint_file.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "io/checkpoint/checkpoint_key.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Key for the check of the configuration, which cannot be keyed with itself. */
static const uint64_t first_key = 14695981039346656037u;

uint64_t norma_checkpoint_hash_local(const void *bytes, int64_t size)
{
    return norma_block_hash_local(first_key, bytes, size);
}

static norma_status folder_of(const char *output, char **folder)
{
    norma_text text;
    norma_text_init(&text);
    norma_text_append(&text, "%s.ckpt", output);
    return norma_text_take(&text, folder);
}

/* The stored configuration, NULL without a checkpoint. */
static norma_status read_configuration_root(const char *folder, char **text)
{
    char path[PATH_MAX];
    struct stat about;
    norma_block_header header;
    void *bytes = NULL;
    *text = NULL;
    if (lstat(folder, &about) != 0)
        return NORMA_OK;
    NORMA_TRY(norma_checkpoint_path_local(folder, path, "configuration%.0lld%s", 0, ""));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s exists and is not a checkpoint (%s: %s): remove it",
                          folder, path, strerror(errno));
    norma_status status = norma_block_read_local(fd, path, first_key, &header, &bytes);
    close(fd);
    if (status == NORMA_OK && !bytes)
        status =
            NORMA_FAIL(NORMA_CONFIG, "%s is damaged: nothing can be resumed; remove it", folder);
    *text = bytes; /* written with its closing zero */
    return status;
}

uint64_t norma_checkpoint_key_local(const char *configuration)
{
    return norma_block_hash_local(first_key, configuration, (int64_t)strlen(configuration));
}

norma_status norma_checkpoint_configuration(MPI_Comm world, const char *output, char **text)
{
    char *folder = NULL;
    char *found = NULL;
    int64_t size = 0;
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    *text = NULL;
    norma_status status = folder_of(output, &folder);
    if (status == NORMA_OK && rank == 0)
        status = read_configuration_root(folder, &found);
    norma_mem_free(folder);
    NORMA_TRY(norma_agree(world, status));
    if (found)
        size = (int64_t)strlen(found) + 1;
    MPI_Bcast(&size, 1, MPI_INT64_T, 0, world);
    if (size > 0 && rank != 0)
        status = NORMA_ALLOC(found, size);
    status = norma_agree(world, status);
    if (status != NORMA_OK) {
        norma_mem_free(found);
        return status;
    }
    if (size > 0)
        MPI_Bcast(found, (int)size, MPI_CHAR, 0, world);
    *text = found;
    return NORMA_OK;
}

norma_status norma_checkpoint_recall(MPI_Comm world, const char *output, const char *key,
                                     char **value)
{
    char *folder = NULL;
    char *text = NULL;
    char found[NORMA_MESSAGE_LENGTH] = "";
    int rank = 0;
    int64_t length = -1;
    MPI_Comm_rank(world, &rank);
    norma_status status = folder_of(output, &folder);
    if (status == NORMA_OK && rank == 0)
        status = read_configuration_root(folder, &text);
    if (text) {
        const char *at = norma_checkpoint_value_local(text, key, &length);
        if (at)
            snprintf(found, sizeof found, "%.*s", (int)length, at);
        else
            length = -1;
    }
    status = norma_agree(world, status);
    *value = NULL;
    if (status == NORMA_OK) {
        MPI_Bcast(&length, 1, MPI_INT64_T, 0, world);
        MPI_Bcast(found, (int)sizeof found, MPI_CHAR, 0, world);
        if (length >= 0)
            *value = norma_mem_strdup(found);
        status = norma_agree(world, length < 0 || *value ? NORMA_OK : NORMA_MEMORY);
    }
    norma_mem_free(text);
    norma_mem_free(folder);
    return status;
}

/* Is there a journal with bytes in it? */
static bool has_results_root(const char *folder)
{
    char path[PATH_MAX];
    struct dirent *entry = NULL;
    struct stat about;
    bool found = false;
    DIR *dir = opendir(folder);
    while (dir && !found && (entry = readdir(dir)))
        found = strncmp(entry->d_name, "done-", 5) == 0 &&
                snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_MAX &&
                stat(path, &about) == 0 && about.st_size > 0;
    if (dir)
        closedir(dir);
    return found;
}

norma_status norma_checkpoint_has_results(MPI_Comm world, const char *output, bool *out)
{
    char *folder = NULL;
    int found = 0;
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    norma_status status = folder_of(output, &folder);
    if (status == NORMA_OK && rank == 0)
        found = has_results_root(folder) ? 1 : 0;
    status = norma_agree(world, status);
    if (status == NORMA_OK)
        MPI_Bcast(&found, 1, MPI_INT, 0, world);
    norma_mem_free(folder);
    *out = found != 0;
    return status;
}

/* Results may then differ in their last bits from those of one straight run. */
static void warn_of_kernels_root(const char *folder, const char *stored, const char *kernels)
{
    int64_t length = 0;
    const char *before = norma_checkpoint_value_local(stored, NORMA_CHECKPOINT_KERNEL, &length);
    if (before &&
        (strlen(kernels) != (size_t)length || strncmp(before, kernels, (size_t)length) != 0))
        norma_log_news("warning: %s was begun with BLAS kernels %.*s, and %s are in use now: last "
                       "bits may differ",
                       folder, (int)length, before, kernels);
}

static norma_status check_root(const char *folder, const char *kernels,
                               const norma_checkpoint_options *options, bool *exists)
{
    char *stored = NULL;
    struct stat about;
    *exists = lstat(folder, &about) == 0;
    if (!*exists || (options->force && !options->resume && S_ISDIR(about.st_mode)))
        return NORMA_OK;
    NORMA_TRY(read_configuration_root(folder, &stored));
    norma_status status =
        options->resume
            ? norma_checkpoint_compare_local(folder, stored, options->configuration,
                                             options->free_keys)
            : NORMA_FAIL(NORMA_CONFIG,
                         "%s holds the state of an unfinished run: --resume continues it, --force "
                         "starts over",
                         folder);
    if (status == NORMA_OK)
        warn_of_kernels_root(folder, stored, kernels);
    norma_mem_free(stored);
    return status;
}

norma_status norma_checkpoint_check(MPI_Comm world, const char *output,
                                    const norma_checkpoint_options *options)
{
    char *folder = NULL;
    bool exists = false;
    int rank = 0;
    char kernels[NORMA_BLAS_NAMES];
    norma_blas_kernels(world, kernels);
    MPI_Comm_rank(world, &rank);
    norma_status status = folder_of(output, &folder);
    if (status == NORMA_OK && rank == 0)
        status = check_root(folder, kernels, options, &exists);
    norma_mem_free(folder);
    return norma_agree(world, status);
}

/* Is it a name of ours? */
static bool is_entry(const char *name)
{
    return strcmp(name, "configuration") == 0 || strncmp(name, "done-", 5) == 0 ||
           strncmp(name, "task-", 5) == 0;
}

bool norma_checkpoint_remove_root(const char *folder, bool spare_state)
{
    char path[PATH_MAX];
    struct dirent *entry = NULL;
    bool has_state = false;
    DIR *dir = opendir(folder);
    if (!dir)
        return true;
    while (spare_state && (entry = readdir(dir)))
        has_state = has_state || strncmp(entry->d_name, "done-", 5) == 0 ||
                    strncmp(entry->d_name, "task-", 5) == 0;
    rewinddir(dir);
    while (!has_state && (entry = readdir(dir)))
        if (is_entry(entry->d_name) && strcmp(entry->d_name, "configuration") != 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_MAX)
            unlink(path);
    closedir(dir);
    if (has_state)
        return false;
    /* Last: without it the rest would be no checkpoint. */
    if (snprintf(path, sizeof path, "%s/configuration", folder) < PATH_MAX)
        unlink(path);
    return rmdir(folder) == 0;
}

/* The configuration, and the kernels as a further line of it; a counted text. */
static norma_status describe_run(const char *configuration, const char *kernels, char **out)
{
    norma_text text;
    norma_text_init(&text);
    norma_text_append(
        &text, "%s%s  " NORMA_CHECKPOINT_KERNEL ": %s\n", configuration,
        configuration[0] && configuration[strlen(configuration) - 1] != '\n' ? "\n" : "", kernels);
    return norma_text_take(&text, out);
}

norma_status norma_checkpoint_make_root(const char *folder, const char *configuration)
{
    char path[PATH_MAX];
    NORMA_TRY(norma_checkpoint_path_local(folder, path, "configuration%.0lld%s", 0, ""));
    if (mkdir(folder, 0777) != 0)
        return NORMA_FAIL(NORMA_IO, "cannot make %s: %s", folder, strerror(errno));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return NORMA_FAIL(NORMA_IO, "cannot write %s: %s", path, strerror(errno));
    norma_status status = norma_block_write_local(fd, path, first_key, 0, 0, configuration,
                                                  (int64_t)strlen(configuration) + 1);
    if (fsync(fd) != 0 && status == NORMA_OK)
        status = NORMA_FAIL(NORMA_IO, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    if (status == NORMA_OK)
        status = norma_block_sync_folder_local(folder);
    if (status != NORMA_OK)
        norma_checkpoint_remove_root(folder, false);
    return status;
}

/* Goes on with a copy of the folder under the configuration of this run; the kernels stay those
 * that it was begun with. */
static norma_status grow_root(norma_checkpoint *c, const char *stored, const char *kernels,
                              const norma_checkpoint_options *options)
{
    char before[NORMA_BLAS_NAMES] = "";
    char *text = NULL;
    int64_t length = 0;
    const char *at = norma_checkpoint_value_local(stored, NORMA_CHECKPOINT_KERNEL, &length);
    if (at)
        snprintf(before, sizeof before, "%.*s", (int)length, at);
    NORMA_TRY(describe_run(options->configuration, at ? before : kernels, &text));
    norma_status status = norma_checkpoint_grow_root(c, options->growth, text);
    norma_mem_free(text);
    return status;
}

/* Finds or makes the folder; the key comes from the configuration that is stored in it. */
static norma_status settle_root(norma_checkpoint *c, const char *kernels,
                                const norma_checkpoint_options *options)
{
    char *stored = NULL;
    bool exists = false;
    NORMA_TRY(check_root(c->folder, kernels, options, &exists));
    if (exists && !options->resume && !norma_checkpoint_remove_root(c->folder, false))
        return NORMA_FAIL(NORMA_IO, "cannot remove %s: it holds files of others", c->folder);
    c->resumed = exists && options->resume;
    if (options->resume && !exists)
        norma_log_info("%s is not there: the run begins anew", c->folder);
    if (!c->resumed) {
        NORMA_TRY(describe_run(options->configuration, kernels, &stored));
        norma_status status = norma_checkpoint_make_root(c->folder, stored);
        norma_mem_free(stored);
        NORMA_TRY(status);
    }
    NORMA_TRY(read_configuration_root(c->folder, &stored));
    if (!stored)
        return NORMA_FAIL(NORMA_IO, "%s was removed by somebody else", c->folder);
    c->key = norma_checkpoint_key_local(stored);
    norma_status status = NORMA_OK;
    if (c->resumed && options->growth)
        status = grow_root(c, stored, kernels, options);
    norma_mem_free(stored);
    return status;
}

static void release(norma_checkpoint **checkpoint)
{
    norma_checkpoint *c = *checkpoint;
    MPI_Comm_free(&c->comm);
    norma_mem_free(c->final);
    norma_mem_free(c->folder);
    NORMA_FREE(*checkpoint);
}

/* Gives all ranks what rank 0 found. */
static norma_status share(norma_checkpoint *c)
{
    int flags[] = {c->resumed ? 1 : 0, c->final ? 1 : 0};
    MPI_Bcast(flags, 2, MPI_INT, 0, c->comm);
    MPI_Bcast(&c->key, 1, MPI_UINT64_T, 0, c->comm);
    c->resumed = flags[0] != 0;
    if (flags[1] != 0 && !c->final)
        c->final = norma_mem_strdup(c->folder);
    return flags[1] == 0 || c->final ? NORMA_OK : NORMA_MEMORY;
}

norma_status norma_checkpoint_open(MPI_Comm world, const char *output,
                                   const norma_checkpoint_options *options, norma_checkpoint **out)
{
    norma_checkpoint *c = NULL;
    char kernels[NORMA_BLAS_NAMES];
    norma_status status = norma_agree(world, NORMA_CALLOC(c, 1));
    if (status != NORMA_OK) {
        norma_mem_free(c);
        return status;
    }
    MPI_Comm_dup(world, &c->comm);
    MPI_Comm_rank(world, &c->rank);
    c->journal = -1;
    c->task = -1;
    norma_blas_kernels(world, kernels);
    status = folder_of(output, &c->folder);
    if (status == NORMA_OK && c->rank == 0)
        status = settle_root(c, kernels, options);
    bool made = status == NORMA_OK && c->rank == 0 && !c->resumed;
    status = norma_agree(world, status);
    if (status == NORMA_OK)
        status = norma_agree(world, share(c));
    if (status != NORMA_OK) {
        if (made) /* another rank failed */
            (void)norma_checkpoint_remove_root(c->folder, true);
        if (c->rank == 0 && c->final)
            (void)norma_checkpoint_remove_root(c->folder, false);
        release(&c);
        return status;
    }
    *out = c;
    return NORMA_OK;
}

bool norma_checkpoint_resumed_local(const norma_checkpoint *checkpoint)
{
    return checkpoint->resumed;
}

static norma_status open_journal(norma_checkpoint *c, char path[PATH_MAX])
{
    NORMA_TRY(norma_checkpoint_path_local(c->folder, path, "done-%06lld%s", c->rank, ""));
    if (c->journal < 0)
        c->journal = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return c->journal >= 0 ? NORMA_OK
                           : NORMA_FAIL(NORMA_IO, "cannot write %s: %s", path, strerror(errno));
}

static norma_status append(norma_checkpoint *c, int64_t task, int64_t sequence, const void *bytes,
                           int64_t size)
{
    char path[PATH_MAX];
    NORMA_TRY(open_journal(c, path));
    off_t end = lseek(c->journal, 0, SEEK_END);
    norma_status status =
        norma_block_write_local(c->journal, path, c->key, task, sequence, bytes, size);
    /* A part of the entry would hide later ones; if this fails too, the checksum finds it. */
    if (status != NORMA_OK && ftruncate(c->journal, end) != 0)
        norma_log_detail("cannot cut %s", path);
    return status;
}

norma_status norma_checkpoint_append_piece_local(norma_checkpoint *c, int64_t task,
                                                 const void *bytes, int64_t size)
{
    return append(c, task, NORMA_CHECKPOINT_PIECE, bytes, size);
}

norma_status norma_checkpoint_append_local(norma_checkpoint *c, int64_t task, const void *bytes,
                                           int64_t size)
{
    NORMA_TRY(append(c, task, 0, bytes, size));
    return c->task == task ? norma_checkpoint_drop_local(c, task) : NORMA_OK;
}

norma_status norma_checkpoint_sync_local(norma_checkpoint *c)
{
    return c->journal < 0 || fsync(c->journal) == 0
               ? NORMA_OK
               : NORMA_FAIL(NORMA_IO, "cannot sync the journal of %s: %s", c->folder,
                            strerror(errno));
}

bool norma_checkpoint_close(norma_checkpoint **checkpoint, bool finished)
{
    norma_checkpoint *c = *checkpoint;
    int there = 0;
    if (!c)
        return false;
    if (c->journal >= 0)
        close(c->journal);
    MPI_Barrier(c->comm);
    if (c->rank == 0 && c->final) { /* nothing came of the extension */
        (void)norma_checkpoint_remove_root(c->folder, false);
        there = 1;
    } else if (c->rank == 0) {
        there = norma_checkpoint_remove_root(c->folder, !finished) ? 0 : 1;
    }
    MPI_Bcast(&there, 1, MPI_INT, 0, c->comm);
    release(checkpoint);
    return there != 0;
}
