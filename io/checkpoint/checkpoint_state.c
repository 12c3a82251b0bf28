/* States of tasks under way, in two generations each. */
#include "io/checkpoint/checkpoint_file.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

norma_status norma_checkpoint_path_local(const char *folder, char path[PATH_MAX],
                                         const char *format, long long number, const char *end)
{
    int used = snprintf(path, PATH_MAX, "%s/", folder);
    if (used > 0 && used < PATH_MAX)
        used += snprintf(path + used, (size_t)(PATH_MAX - used), format, number, end);
    return used > 0 && used < PATH_MAX
               ? NORMA_OK
               : NORMA_FAIL(NORMA_CONFIG, "the name of %s is too long", folder);
}

/* Writes, syncs and renames one generation. */
static norma_status replace(const norma_checkpoint *c, const char *beside, const char *path,
                            int64_t task, int64_t sequence, const void *bytes, int64_t size)
{
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return NORMA_FAIL(NORMA_IO, "cannot write %s: %s", beside, strerror(errno));
    norma_status status = norma_block_write_local(fd, beside, c->key, task, sequence, bytes, size);
    if (status == NORMA_OK && fsync(fd) != 0)
        status = NORMA_FAIL(NORMA_IO, "cannot write %s: %s", beside, strerror(errno));
    close(fd);
    if (status == NORMA_OK && rename(beside, path) != 0)
        status = NORMA_FAIL(NORMA_IO, "cannot rename %s to %s: %s", beside, path, strerror(errno));
    if (status != NORMA_OK)
        unlink(beside);
    return status;
}

norma_status norma_checkpoint_save_local(norma_checkpoint *c, int64_t task, const void *bytes,
                                         int64_t size)
{
    char path[PATH_MAX];
    char beside[PATH_MAX];
    int64_t sequence = c->task == task ? c->sequence + 1 : 1;
    NORMA_TRY(norma_checkpoint_path_local(c->folder, path, "task-%lld%s", task,
                                          sequence % 2 ? ".1" : ".0"));
    NORMA_TRY(norma_checkpoint_path_local(c->folder, beside, "task-%lld%s", task, ".new"));
    NORMA_TRY(replace(c, beside, path, task, sequence, bytes, size));
    c->task = task;
    c->sequence = sequence;
    return norma_block_sync_folder_local(c->folder);
}

norma_status norma_checkpoint_keep_state_local(norma_checkpoint *c, int64_t task, const void *bytes,
                                               int64_t size)
{
    NORMA_TRY(norma_checkpoint_save_local(c, task, bytes, size));
    c->task = -1;
    return NORMA_OK;
}

norma_status norma_checkpoint_load_local(norma_checkpoint *c, int64_t task, void **bytes,
                                         int64_t *size)
{
    char path[PATH_MAX];
    norma_status status = NORMA_OK;
    int n_files = 0;
    *bytes = NULL;
    *size = 0;
    for (int generation = 0; generation < 2 && status == NORMA_OK; generation++) {
        norma_block_header header;
        void *content = NULL;
        NORMA_TRY(norma_checkpoint_path_local(c->folder, path, "task-%lld%s", task,
                                              generation ? ".1" : ".0"));
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        n_files++;
        status = norma_block_read_local(fd, path, c->key, &header, &content);
        close(fd);
        if (content && header.task == task && (!*bytes || header.sequence > c->sequence)) {
            NORMA_FREE(*bytes);
            *bytes = content;
            *size = header.size;
            c->task = task;
            c->sequence = header.sequence;
        } else {
            norma_mem_free(content);
        }
    }
    if (status == NORMA_OK && n_files > 0 && !*bytes)
        norma_log_warning_local("%s/task-%lld: every saved state is damaged; this part begins anew",
                                c->folder, (long long)task);
    return status;
}

norma_status norma_checkpoint_drop_local(norma_checkpoint *c, int64_t task)
{
    char path[PATH_MAX];
    NORMA_TRY(norma_checkpoint_sync_local(c)); /* before the state goes */
    if (c->task == task)
        c->task = -1;
    for (int generation = 0; generation < 2; generation++) {
        NORMA_TRY(norma_checkpoint_path_local(c->folder, path, "task-%lld%s", task,
                                              generation ? ".1" : ".0"));
        unlink(path);
    }
    return NORMA_OK;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The number of "task-N.0" and "task-N.1"; -1 for other names. */
static int64_t task_of_name(const char *name)
{
    if (strncmp(name, "task-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return -1;
    char *end = NULL;
    long long task = strtoll(name + 5, &end, 10);
    return strcmp(end, ".0") == 0 || strcmp(end, ".1") == 0 ? (int64_t)task : -1;
}

norma_status norma_checkpoint_list_root(const norma_checkpoint *c, int64_t **tasks, int64_t *n)
{
    struct dirent *entry = NULL;
    norma_status status = NORMA_OK;
    int64_t found = 0;
    DIR *dir = opendir(c->folder);
    if (!dir)
        return NORMA_FAIL(NORMA_IO, "cannot read %s: %s", c->folder, strerror(errno));
    while ((entry = readdir(dir)))
        found += task_of_name(entry->d_name) >= 0;
    rewinddir(dir);
    status = found > 0 ? NORMA_ALLOC(*tasks, found) : NORMA_OK;
    while (status == NORMA_OK && *n < found && (entry = readdir(dir)))
        if (task_of_name(entry->d_name) >= 0)
            (*tasks)[(*n)++] = task_of_name(entry->d_name);
    closedir(dir);
    if (status != NORMA_OK || *n == 0)
        return status;
    qsort(*tasks, (size_t)*n, sizeof **tasks, ascending);
    int64_t distinct = 1;
    for (int64_t k = 1; k < *n; k++)
        if ((*tasks)[k] != (*tasks)[distinct - 1])
            (*tasks)[distinct++] = (*tasks)[k];
    *n = distinct;
    return NORMA_OK;
}

norma_status norma_checkpoint_list(norma_checkpoint *c, int64_t **tasks, int64_t *n)
{
    *tasks = NULL;
    *n = 0;
    norma_status status = c->rank == 0 ? norma_checkpoint_list_root(c, tasks, n) : NORMA_OK;
    status = norma_agree(c->comm, status);
    if (status == NORMA_OK) {
        MPI_Bcast(n, 1, MPI_INT64_T, 0, c->comm);
        if (*n > INT_MAX)
            status = NORMA_FAIL(NORMA_LIMIT, "%s holds too many states", c->folder);
        else if (c->rank != 0 && *n > 0)
            status = NORMA_ALLOC(*tasks, *n);
        status = norma_agree(c->comm, status);
    }
    if (status == NORMA_OK && *n > 0)
        MPI_Bcast(*tasks, (int)*n, MPI_INT64_T, 0, c->comm);
    if (status != NORMA_OK) {
        norma_mem_free(*tasks);
        *tasks = NULL;
        *n = 0;
    }
    return status;
}
