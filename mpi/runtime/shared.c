#include "mpi/runtime/shared.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <sys/statvfs.h>

struct norma_shared {
    int64_t n_bytes;
    MPI_Comm node;    /* ranks that share memory; owned */
    MPI_Comm holders; /* ranks with a copy of their own; owned, MPI_COMM_NULL elsewhere */
    MPI_Win window;   /* owned, MPI_WIN_NULL where the copy is private */
    char *data;       /* in the window, or own */
    char *own;        /* owned; NULL where the window is used */
};

/* Bytes of one broadcast. */
#define PIECE (INT64_C(1) << 28)

bool norma_shared_has_room(MPI_Comm node, int64_t n_bytes)
{
    struct statvfs fs;
    int has = 1;
    int rank = 0;
    MPI_Comm_rank(node, &rank);
    if (rank == 0 && statvfs("/dev/shm", &fs) == 0)
        has = (double)fs.f_bavail * (double)fs.f_frsize > 1.1 * (double)n_bytes + 16e6 ? 1 : 0;
    MPI_Bcast(&has, 1, MPI_INT, 0, node);
    return has != 0;
}

/* All of the window on the node's first rank. */
static void open_window(norma_shared *shared, int node_rank)
{
    int unit = 1;
    MPI_Aint size = 0;
    MPI_Win_allocate_shared(node_rank == 0 ? (MPI_Aint)shared->n_bytes : 0, 1, MPI_INFO_NULL,
                            shared->node, &shared->data, &shared->window);
    MPI_Win_shared_query(shared->window, 0, &size, &unit, &shared->data);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, shared->window);
}

norma_status norma_shared_create(MPI_Comm comm, int64_t n_bytes, norma_shared **out)
{
    norma_shared *shared = NULL;
    int rank = 0;
    int node_rank = 0;
    int node_size = 0;
    norma_status status = norma_agree(comm, NORMA_CALLOC(shared, 1));
    if (status != NORMA_OK) {
        NORMA_FREE(shared);
        return status;
    }
    shared->n_bytes = n_bytes;
    shared->window = MPI_WIN_NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared->node);
    MPI_Comm_rank(shared->node, &node_rank);
    MPI_Comm_size(shared->node, &node_size);
    bool windowed = node_size > 1 && n_bytes > 0 && norma_shared_has_room(shared->node, n_bytes);
    MPI_Comm_split(comm, !windowed || node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &shared->holders);
    if (windowed) {
        open_window(shared, node_rank);
    } else {
        status = NORMA_ALLOC(shared->own, n_bytes);
        shared->data = shared->own;
    }
    status = norma_agree(comm, status);
    if (status != NORMA_OK) {
        norma_shared_destroy(&shared);
        return status;
    }
    *out = shared;
    return NORMA_OK;
}

void *norma_shared_data_local(norma_shared *shared)
{
    return shared->data;
}

void norma_shared_broadcast(norma_shared *shared)
{
    if (shared->holders != MPI_COMM_NULL)
        for (int64_t begin = 0; begin < shared->n_bytes; begin += PIECE) {
            int64_t n = shared->n_bytes - begin < PIECE ? shared->n_bytes - begin : PIECE;
            MPI_Bcast(shared->data + begin, (int)n, MPI_BYTE, 0, shared->holders);
        }
    if (shared->window != MPI_WIN_NULL)
        MPI_Win_sync(shared->window);
    MPI_Barrier(shared->node);
    if (shared->window != MPI_WIN_NULL)
        MPI_Win_sync(shared->window);
}

void norma_shared_destroy(norma_shared **shared)
{
    norma_shared *s = *shared;
    if (!s)
        return;
    if (s->window != MPI_WIN_NULL) {
        MPI_Win_unlock_all(s->window);
        MPI_Win_free(&s->window);
    }
    NORMA_FREE(s->own);
    if (s->holders != MPI_COMM_NULL)
        MPI_Comm_free(&s->holders);
    MPI_Comm_free(&s->node);
    NORMA_FREE(*shared);
}
