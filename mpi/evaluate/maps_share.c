#include "mpi/evaluate/maps_share.h"

#include "mpi/runtime/agree.h"

#include <limits.h>

norma_status norma_maps_share(MPI_Comm comm, int64_t n_features, int64_t n_outputs,
                              norma_maps **maps)
{
    int rank = 0;
    norma_status status = NORMA_OK;
    MPI_Comm_rank(comm, &rank);
    int root = *maps ? rank : INT_MAX;
    MPI_Allreduce(MPI_IN_PLACE, &root, 1, MPI_INT, MPI_MIN, comm);
    if (root == INT_MAX)
        return norma_agree(comm, NORMA_FAIL(NORMA_LIBRARY, "no rank holds the affine maps"));
    if (!*maps)
        status = norma_maps_allocate(n_features, n_outputs, maps);
    status = norma_agree(comm, status);
    if (status != NORMA_OK)
        return status;
    norma_maps *m = *maps;
    MPI_Bcast(m->gamma1, (int)n_features, MPI_DOUBLE, root, comm);
    MPI_Bcast(m->beta1, (int)n_features, MPI_DOUBLE, root, comm);
    MPI_Bcast(m->gamma2, (int)n_outputs, MPI_DOUBLE, root, comm);
    MPI_Bcast(m->beta2, (int)n_outputs, MPI_DOUBLE, root, comm);
    MPI_Bcast(m->constant, (int)n_outputs, MPI_DOUBLE, root, comm);
    MPI_Bcast(&m->region, (int)sizeof m->region, MPI_BYTE, root, comm);
    MPI_Bcast(&m->magnitude, 1, MPI_DOUBLE, root, comm);
    return NORMA_OK;
}
