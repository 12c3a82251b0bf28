#include "io/input/array.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

/* MPI counts in int. */
static const int64_t piece = (int64_t)1 << 27;

static norma_status read_root(const char *path, const char *name, int rank, int64_t *extents,
                              double **out)
{
    norma_h5_input *input = NULL;
    int found = 0;
    int64_t n = 1;
    NORMA_TRY(norma_h5_input_open_root(path, &input));
    norma_status status = norma_h5_input_shape_root(input, name, rank, rank, &found, extents);
    for (int i = 0; i < rank && status == NORMA_OK; i++)
        n *= extents[i];
    if (status == NORMA_OK)
        status = NORMA_ALLOC(*out, n);
    if (status == NORMA_OK)
        status = norma_h5_input_read_root(input, name, rank, extents, *out);
    norma_h5_input_close_root(&input);
    return status;
}

norma_status norma_array_read(MPI_Comm world, const char *path, const char *name, int rank,
                              int64_t extents[NORMA_H5_INPUT_MAX_RANK], double **out)
{
    int me = 0;
    int64_t n = 1;
    double *values = NULL;
    norma_status status = NORMA_OK;
    MPI_Comm_rank(world, &me);
    if (me == 0)
        status = read_root(path, name, rank, extents, &values);
    NORMA_GOTO(status, norma_agree(world, status));
    MPI_Bcast(extents, rank, MPI_INT64_T, 0, world);
    for (int i = 0; i < rank; i++)
        n *= extents[i];
    if (me != 0)
        status = NORMA_ALLOC(values, n);
    NORMA_GOTO(status, norma_agree(world, status));
    for (int64_t at = 0; at < n; at += piece)
        MPI_Bcast(values + at, (int)(n - at < piece ? n - at : piece), MPI_DOUBLE, 0, world);
    *out = values;
    return NORMA_OK;
done:
    norma_mem_free(values);
    return status;
}
