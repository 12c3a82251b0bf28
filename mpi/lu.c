#include "mpi/lu.h"

#include "mpi/agree.h"
#include "mpi/assemble.h"
#include "mpi/dmat.h"
#include "mpi/progress.h"
#include "mpi/scalapack.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

struct norma_lu {
    MPI_Comm comm;
    int64_t n;
    norma_grid *grid;
    norma_dmat *matrix;
    int *pivots;       /* [local rows + block] */
    double *vector;    /* [leading]: this rank's part of a right-hand side */
    double *gathered;  /* [n] */
    int descriptor[9]; /* of the right-hand side, n x 1 */
};

norma_grid_shape norma_lu_grid_local(int64_t n_system, int64_t block, int n_ranks)
{
    int64_t n_blocks = norma_index_ceil_divide(n_system, block);
    return norma_grid_choose_local(n_ranks, n_blocks, n_blocks);
}

double norma_lu_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_system, int64_t block,
                            norma_grid_shape grid, int n_threads)
{
    double n = (double)n_system;
    return 8 * (double)norma_dmat_largest_local(n_system, block, grid) + 20 * n +
           norma_assemble_bytes_local(shape, n_threads);
}

/* Whether one rank of the grid does it all. */
static bool is_serial(const norma_lu *lu)
{
    return lu->grid->shape.n_rows * lu->grid->shape.n_columns == 1;
}

/* The LU factors in place. Collective over the grid's active ranks; local status. */
static norma_status factor(norma_lu *lu, const norma_system *system)
{
    int64_t first = 0;
    const int one = 1;
    const int n = (int)lu->n;
    int info = 0;
    norma_dmat *m = lu->matrix;
    if (lu->grid->row < 0)
        return NORMA_OK;
    if (is_serial(lu))
        dgetrf_(&n, &n, m->data, &n, lu->pivots, &info);
    else
        pdgetrf_(&n, &n, m->data, &one, &one, m->descriptor, lu->pivots, &info);
    if (info < 0)
        return NORMA_FAIL(NORMA_LIBRARY, "LU factorization refused its argument %d", -info);
    if (info > 0 && norma_product_zero_features_local(system->product, &first) > 0)
        return norma_system_singular_local(system, INFINITY);
    if (info > 0)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the system is singular: feature %d is a combination of those before it",
                          info - 1);
    return NORMA_OK;
}

/* What this rank holds of the factors. */
static norma_status allocate(norma_lu *lu, int64_t block)
{
    norma_dmat *m = lu->matrix;
    NORMA_TRY(NORMA_ALLOC(lu->pivots, m->n_local_rows + block));
    NORMA_TRY(NORMA_CALLOC(lu->vector, m->leading));
    NORMA_TRY(NORMA_ALLOC(lu->gathered, lu->n));
    memcpy(lu->descriptor, m->descriptor, sizeof lu->descriptor);
    lu->descriptor[3] = 1; /* one column, on the first process column */
    return NORMA_OK;
}

norma_status norma_lu_create(const norma_system *system, double *seconds_assembly,
                             double *seconds_factor, norma_lu **out)
{
    norma_lu *lu = NULL;
    int size = 0;
    int64_t block = system->block_size;
    MPI_Comm_size(system->comm, &size);
    norma_status status = norma_agree(system->comm, NORMA_CALLOC(lu, 1));
    if (status != NORMA_OK)
        goto done;
    lu->comm = system->comm;
    lu->n = system->rule->n_system;
    NORMA_GOTO(status,
               norma_grid_create(system->comm, norma_lu_grid_local(lu->n, block, size), &lu->grid));
    NORMA_GOTO(status, norma_dmat_create(lu->grid, lu->n, block, &lu->matrix));
    NORMA_GOTO(status, norma_agree(lu->comm, allocate(lu, block)));
    double start = norma_progress_clock_local();
    NORMA_GOTO(status, norma_assemble_system(system->rule, system->problem->w1, system->problem->w2,
                                             lu->matrix));
    MPI_Barrier(lu->comm);
    double assembled = norma_progress_clock_local();
    NORMA_GOTO(status, norma_agree(lu->comm, factor(lu, system)));
    *seconds_assembly += assembled - start;
    *seconds_factor += norma_progress_clock_local() - assembled;
    *out = lu;
    lu = NULL;
done:
    norma_lu_destroy(&lu);
    return status;
}

/* The rows of a replicated b that this rank's process row holds. */
static void take_rows(norma_lu *lu, const double *b)
{
    const norma_layout *rows = &lu->matrix->rows;
    int64_t run = 0;
    for (int64_t row = 0; row < lu->matrix->n_local_rows; row += run) {
        run = norma_layout_run_local(rows, lu->grid->row, row);
        memcpy(lu->vector + row, b + norma_layout_global_local(rows, lu->grid->row, row),
               (size_t)run * sizeof *b);
    }
}

/* Adds zeros to the one rank that holds a row: exact, on all ranks. */
static void share_rows(norma_lu *lu, double *x)
{
    const norma_layout *rows = &lu->matrix->rows;
    int64_t run = 0;
    memset(lu->gathered, 0, (size_t)lu->n * sizeof *lu->gathered);
    for (int64_t row = 0; lu->grid->column == 0 && row < lu->matrix->n_local_rows; row += run) {
        run = norma_layout_run_local(rows, lu->grid->row, row);
        memcpy(lu->gathered + norma_layout_global_local(rows, lu->grid->row, row), lu->vector + row,
               (size_t)run * sizeof *x);
    }
    MPI_Allreduce(lu->gathered, x, (int)lu->n, MPI_DOUBLE, MPI_SUM, lu->comm);
}

norma_status norma_lu_solve(norma_lu *lu, bool transpose, const double *b, double *x)
{
    const char *trans = transpose ? "T" : "N";
    const int one = 1;
    const int n = (int)lu->n;
    const norma_dmat *m = lu->matrix;
    int info = 0;
    if (lu->grid->row >= 0)
        take_rows(lu, b);
    if (lu->grid->row >= 0 && is_serial(lu))
        dgetrs_(trans, &n, &one, m->data, &n, lu->pivots, lu->vector, &n, &info);
    else if (lu->grid->row >= 0)
        pdgetrs_(trans, &n, &one, m->data, &one, &one, m->descriptor, lu->pivots, lu->vector, &one,
                 &one, lu->descriptor, &info);
    share_rows(lu, x);
    if (info == 0)
        return norma_agree(lu->comm, NORMA_OK);
    return norma_agree(
        lu->comm, NORMA_FAIL(NORMA_LIBRARY, "triangular solves refused their argument %d", -info));
}

void norma_lu_destroy(norma_lu **lu)
{
    if (*lu) {
        norma_dmat_destroy_local(&(*lu)->matrix);
        norma_grid_destroy(&(*lu)->grid);
        NORMA_FREE((*lu)->pivots);
        NORMA_FREE((*lu)->vector);
        NORMA_FREE((*lu)->gathered);
        NORMA_FREE(*lu);
    }
}
