/* The journals of a checkpoint, read back when a run resumes. */
#include "io/checkpoint/checkpoint_file.h"
#include "io/checkpoint/checkpoint_internal.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static norma_status visit_entry(const norma_checkpoint_visitor *visitor,
                                const norma_block_header *header, const void *bytes,
                                unsigned char *done)
{
    if (header->sequence == NORMA_CHECKPOINT_PIECE)
        return visitor->piece ? visitor->piece(visitor->context, header->task, bytes, header->size)
                              : NORMA_OK;
    if (!done[header->task])
        NORMA_TRY(visitor->finished(visitor->context, header->task, bytes, header->size));
    done[header->task] = 1;
    return NORMA_OK;
}

/* All whole entries of one journal; what follows them is cut off. */
static norma_status replay_journal_root(norma_checkpoint *c, const char *path, int64_t n_tasks,
                                        unsigned char *done,
                                        const norma_checkpoint_visitor *visitor)
{
    norma_block_header header;
    void *bytes = NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NORMA_FAIL(NORMA_IO, "cannot open %s: %s", path, strerror(errno));
    off_t end = 0;
    norma_status status = norma_block_read_local(fd, path, c->key, &header, &bytes);
    while (status == NORMA_OK && bytes) {
        if (header.task < 0 || header.task >= n_tasks)
            status = NORMA_FAIL(NORMA_CONFIG, "%s: task %lld is not one of %lld", path,
                                (long long)header.task, (long long)n_tasks);
        else
            status = visit_entry(visitor, &header, bytes, done);
        NORMA_FREE(bytes);
        end = lseek(fd, 0, SEEK_CUR);
        if (status == NORMA_OK)
            status = norma_block_read_local(fd, path, c->key, &header, &bytes);
    }
    NORMA_FREE(bytes);
    if (status == NORMA_OK && ftruncate(fd, end) != 0)
        status = NORMA_FAIL(NORMA_IO, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    return status;
}

static norma_status replay_root(norma_checkpoint *c, int64_t n_tasks, unsigned char *done,
                                const norma_checkpoint_visitor *visitor)
{
    char path[PATH_MAX];
    struct dirent *entry = NULL;
    norma_status status = NORMA_OK;
    DIR *dir = opendir(c->folder);
    if (!dir)
        return NORMA_FAIL(NORMA_IO, "cannot read %s: %s", c->folder, strerror(errno));
    while (status == NORMA_OK && (entry = readdir(dir)))
        if (strncmp(entry->d_name, "done-", 5) == 0 &&
            snprintf(path, sizeof path, "%s/%s", c->folder, entry->d_name) < PATH_MAX)
            status = replay_journal_root(c, path, n_tasks, done, visitor);
    closedir(dir);
    return status == NORMA_OK && visitor->settle ? visitor->settle(visitor->context, done) : status;
}

norma_status norma_checkpoint_replay(norma_checkpoint *c, int64_t n_tasks, unsigned char *done,
                                     norma_checkpoint_visit visit, void *context)
{
    const norma_checkpoint_visitor visitor = {.context = context, .finished = visit};
    return norma_checkpoint_replay_pieces(c, n_tasks, done, &visitor);
}

norma_status norma_checkpoint_replay_pieces(norma_checkpoint *c, int64_t n_tasks,
                                            unsigned char *done,
                                            const norma_checkpoint_visitor *visitor)
{
    norma_status status = NORMA_OK;
    memset(done, 0, (size_t)n_tasks);
    if (c->rank == 0)
        status = replay_root(c, n_tasks, done, visitor);
    status = norma_agree(c->comm, status);
    const int64_t piece = (int64_t)1 << 30;
    for (int64_t at = 0; status == NORMA_OK && at < n_tasks; at += piece)
        MPI_Bcast(done + at, (int)(n_tasks - at < piece ? n_tasks - at : piece), MPI_BYTE, 0,
                  c->comm);
    /* All ranks know whether the folder grows. */
    if (!c->final)
        return status;
    return status == NORMA_OK
               ? norma_checkpoint_commit(c)
               : norma_status_context(status,
                                      "this run cannot be extended, %s is as it was: ", c->final);
}
