#include "mpi/runtime/agree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t n_agreements;

/* The hook NORMA_TEST_FAIL=k@r: is this the call that must fail here? */
static bool injected_local(int64_t k)
{
    static bool parsed;
    static long long fail_k = -1;
    static int fail_rank = -1;
    if (!parsed) {
        const char *text = getenv("NORMA_TEST_FAIL");
        if (!text || sscanf(text, "%lld@%d", &fail_k, &fail_rank) != 2)
            fail_k = -1;
        parsed = true;
    }
    if (k != fail_k)
        return false;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == fail_rank;
}

norma_status(norma_agree)(MPI_Comm comm, norma_status status)
{
    int64_t k = n_agreements++;
    if (status == NORMA_OK && injected_local(k))
        status = NORMA_FAIL(NORMA_LIBRARY, "injected failure at agreement %lld", (long long)k);

    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    int mine = status == NORMA_OK ? INT_MAX : rank;
    int lowest = INT_MAX;
    MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, comm);
    if (lowest == INT_MAX)
        return NORMA_OK;

    /* A failing rank whose record was never filled still has to name its status. */
    norma_error error = *norma_status_error();
    if (error.status == NORMA_OK && status != NORMA_OK) {
        (void)NORMA_FAIL(status, "%s", norma_status_text(status));
        error = *norma_status_error();
    }
    error.status = status;
    MPI_Bcast(&error, (int)sizeof error, MPI_BYTE, lowest, comm);
    norma_status_set_error(&error);
    return error.status;
}

bool norma_agree_any(MPI_Comm comm, bool mine)
{
    int local = mine ? 1 : 0;
    int any = 0;
    MPI_Allreduce(&local, &any, 1, MPI_INT, MPI_MAX, comm);
    return any != 0;
}

/* FNV-1a: enough to tell accidental differences between ranks. */
static uint64_t hash_local(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

norma_status norma_agree_same(MPI_Comm comm, const void *data, size_t size, const char *what)
{
    uint64_t hash = hash_local(data, size);
    uint64_t mine[2] = {hash, ~hash};
    uint64_t least[2] = {0, 0};
    norma_status status = NORMA_OK;
    MPI_Allreduce(mine, least, 2, MPI_UINT64_T, MPI_MIN, comm);
    if (least[0] != ~least[1])
        status = NORMA_FAIL(NORMA_LIBRARY, "%s differs between ranks", what);
    return norma_agree(comm, status);
}
