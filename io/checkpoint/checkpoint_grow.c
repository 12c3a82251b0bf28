/* A run that extends another takes over its checkpoint: all of it is copied under the new
 * configuration, and the copy then takes the place of the old folder. */
#include "io/checkpoint/checkpoint_file.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Behind FILE.ckpt: the copy, and the old folder while they change places. */
static const char grown_end[] = ".grown";
static const char old_end[] = ".old";

static norma_status name_of(const char *folder, const char *end, char **out)
{
    norma_text text;
    norma_text_init(&text);
    norma_text_append(&text, "%s%s", folder, end);
    return norma_text_take(&text, out);
}

/* Both folders while all is copied: the old one's checkpoint, and the new one's. */
typedef struct copying {
    norma_checkpoint *from;
    norma_checkpoint to;
    const norma_checkpoint_growth *growth;
} copying;

static norma_status copy_entry(copying *c, int journal, const char *path,
                               const norma_block_header *header, void *bytes)
{
    const norma_checkpoint_growth *growth = c->growth;
    bool piece = header->sequence == NORMA_CHECKPOINT_PIECE;
    int64_t size = header->size;
    int64_t task = piece ? growth->piece(growth->context, header->task)
                         : growth->task(growth->context, header->task);
    if (task < 0)
        return NORMA_OK;
    if (piece && growth->change_piece)
        NORMA_TRY(growth->change_piece(growth->context, header->task, bytes, &size));
    return norma_block_write_local(journal, path, c->to.key, task, header->sequence, bytes, size);
}

/* The whole entries of a journal. */
static norma_status copy_entries(copying *c, int from, const char *from_path, int to,
                                 const char *to_path)
{
    norma_block_header header;
    void *bytes = NULL;
    norma_status status = NORMA_OK;
    do {
        NORMA_FREE(bytes);
        status = norma_block_read_local(from, from_path, c->from->key, &header, &bytes);
        if (status == NORMA_OK && bytes)
            status = copy_entry(c, to, to_path, &header, bytes);
    } while (status == NORMA_OK && bytes);
    NORMA_FREE(bytes);
    return status;
}

static norma_status copy_journal(copying *c, const char *name)
{
    char from_path[PATH_MAX];
    char to_path[PATH_MAX];
    if (snprintf(from_path, PATH_MAX, "%s/%s", c->from->folder, name) >= PATH_MAX ||
        snprintf(to_path, PATH_MAX, "%s/%s", c->to.folder, name) >= PATH_MAX)
        return NORMA_FAIL(NORMA_CONFIG, "the name of %s is too long", c->to.folder);
    int from = open(from_path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return NORMA_FAIL(NORMA_IO, "cannot open %s: %s", from_path, strerror(errno));
    int to = open(to_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    norma_status status =
        to >= 0 ? copy_entries(c, from, from_path, to, to_path)
                : NORMA_FAIL(NORMA_IO, "cannot write %s: %s", to_path, strerror(errno));
    if (status == NORMA_OK && fsync(to) != 0)
        status = NORMA_FAIL(NORMA_IO, "cannot write %s: %s", to_path, strerror(errno));
    if (to >= 0)
        close(to);
    close(from);
    return status;
}

static norma_status copy_journals(copying *c)
{
    struct dirent *entry = NULL;
    norma_status status = NORMA_OK;
    DIR *dir = opendir(c->from->folder);
    if (!dir)
        return NORMA_FAIL(NORMA_IO, "cannot read %s: %s", c->from->folder, strerror(errno));
    while (status == NORMA_OK && (entry = readdir(dir)))
        if (strncmp(entry->d_name, "done-", 5) == 0)
            status = copy_journal(c, entry->d_name);
    closedir(dir);
    return status;
}

static norma_status copy_state(copying *c, int64_t state)
{
    const norma_checkpoint_growth *growth = c->growth;
    void *bytes = NULL;
    int64_t size = 0;
    int64_t number = growth->state(growth->context, state);
    if (number < 0)
        return NORMA_OK;
    norma_status status = norma_checkpoint_load_local(c->from, state, &bytes, &size);
    if (status == NORMA_OK && bytes && growth->change_state)
        status = growth->change_state(growth->context, state, bytes, size);
    if (status == NORMA_OK && bytes)
        status = norma_checkpoint_keep_state_local(&c->to, number, bytes, size);
    norma_mem_free(bytes);
    return status;
}

static norma_status copy_states(copying *c)
{
    int64_t *states = NULL;
    int64_t n = 0;
    norma_status status = norma_checkpoint_list_root(c->from, &states, &n);
    for (int64_t s = 0; s < n && status == NORMA_OK; s++)
        status = copy_state(c, states[s]);
    norma_mem_free(states);
    return status;
}

norma_status norma_checkpoint_grow_root(norma_checkpoint *c, const norma_checkpoint_growth *growth,
                                        const char *configuration)
{
    copying copy = {.from = c, .to = {.journal = -1, .task = -1}, .growth = growth};
    norma_status status = NORMA_OK;
    NORMA_TRY(name_of(c->folder, grown_end, &copy.to.folder));
    copy.to.key = norma_checkpoint_key_local(configuration);
    if (!norma_checkpoint_remove_root(copy.to.folder, false))
        NORMA_GOTO(status, NORMA_FAIL(NORMA_IO, "cannot remove %s: it holds files of others",
                                      copy.to.folder));
    NORMA_GOTO(status, norma_checkpoint_make_root(copy.to.folder, configuration));
    status = copy_journals(&copy);
    if (status == NORMA_OK)
        status = copy_states(&copy);
    if (status == NORMA_OK)
        status = norma_block_sync_folder_local(copy.to.folder);
    if (status != NORMA_OK) {
        (void)norma_checkpoint_remove_root(copy.to.folder, false);
        goto done;
    }
    c->final = c->folder;
    c->folder = copy.to.folder;
    c->key = copy.to.key;
    c->task = -1;
    return NORMA_OK;
done:
    norma_mem_free(copy.to.folder);
    return status;
}

static norma_status exchange_root(const norma_checkpoint *c, const char *old)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(c->final, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - c->final + 1) : 1,
             slash ? c->final : ".");
    norma_status status = NORMA_OK;
    if (rename(c->final, old) != 0)
        return NORMA_FAIL(NORMA_IO, "cannot rename %s to %s: %s", c->final, old, strerror(errno));
    if (rename(c->folder, c->final) != 0) {
        status = NORMA_FAIL(NORMA_IO, "cannot rename %s to %s: %s", c->folder, c->final,
                            strerror(errno));
        if (rename(old, c->final) != 0)
            norma_log_news("warning: the state of the run is in %s", old);
        return status;
    }
    NORMA_TRY(norma_block_sync_folder_local(parent));
    (void)norma_checkpoint_remove_root(old, false);
    return NORMA_OK;
}

norma_status norma_checkpoint_commit(norma_checkpoint *c)
{
    char *old = NULL;
    norma_status status = NORMA_OK;
    if (c->rank == 0)
        status = name_of(c->final, old_end, &old);
    if (c->rank == 0 && status == NORMA_OK)
        status = exchange_root(c, old);
    norma_mem_free(old);
    NORMA_TRY(norma_agree(c->comm, status));
    norma_mem_free(c->folder);
    c->folder = c->final;
    c->final = NULL;
    return NORMA_OK;
}

static norma_status recover_root(const char *output)
{
    char *names[3] = {NULL, NULL, NULL}; /* the folder, the copy, the old one */
    struct stat about;
    norma_status status = name_of(output, ".ckpt", &names[0]);
    if (status == NORMA_OK)
        status = name_of(names[0], grown_end, &names[1]);
    if (status == NORMA_OK)
        status = name_of(names[0], old_end, &names[2]);
    if (status == NORMA_OK && lstat(names[2], &about) == 0) {
        if (lstat(names[0], &about) == 0)
            (void)norma_checkpoint_remove_root(names[2], false);
        else if (rename(names[2], names[0]) != 0)
            status = NORMA_FAIL(NORMA_IO, "cannot rename %s to %s: %s", names[2], names[0],
                                strerror(errno));
    }
    if (status == NORMA_OK && lstat(names[1], &about) == 0)
        (void)norma_checkpoint_remove_root(names[1], false);
    for (int i = 0; i < 3; i++)
        norma_mem_free(names[i]);
    return status;
}

norma_status norma_checkpoint_recover(MPI_Comm world, const char *output)
{
    int rank = 0;
    MPI_Comm_rank(world, &rank);
    return norma_agree(world, rank == 0 ? recover_root(output) : NORMA_OK);
}
