#include "mpi/system/lu.h"

#include "mpi/linalg/dmat.h"
#include "mpi/linalg/factor.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/assemble.h"
#include "mpi/system/single_scale.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"

#include <math.h>
#include <string.h>

struct norma_lu {
    MPI_Comm comm;
    int64_t n;
    norma_grid *grid;
    norma_dmat *matrix;
    norma_factor *factor;
    double *row_scale, *column_scale; /* [n]; NULL in double precision */
};

norma_grid_shape norma_lu_grid_local(int64_t n_system, int64_t block, int n_ranks)
{
    int64_t n_blocks = norma_index_ceil_divide(n_system, block);
    return norma_grid_choose_local(n_ranks, n_blocks, n_blocks);
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place_scales(norma_lu *lu, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(lu->row_scale, lu->n, bytes));
    return NORMA_PLACE(lu->column_scale, lu->n, bytes);
}

double norma_lu_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_system, int64_t block,
                            norma_grid_shape grid, bool single, int n_threads)
{
    norma_lu lu = {.n = n_system};
    const int n_ranks = grid.n_rows * grid.n_columns;
    double bytes = (double)sizeof lu;
    bytes += (single ? 4 : 8) * (double)norma_dmat_largest_local(n_system, block, grid) +
             norma_factor_bytes_local(n_system, block, grid, single) +
             norma_assemble_bytes_local(shape, block, single, n_threads);
    if (single) {
        (void)place_scales(&lu, &bytes);
        bytes += norma_single_scale_bytes_local(shape, norma_index_ceil_divide(n_system, n_ranks));
    }
    return bytes;
}

/* The factors in place. */
static norma_status factor(norma_lu *lu, const norma_system *system)
{
    int64_t first = 0;
    int64_t first_bad = -1;
    NORMA_TRY(norma_factor_create(lu->matrix, &first_bad, &lu->factor));
    if (first_bad >= 0 && norma_product_zero_features_local(system->product, &first) > 0)
        return norma_system_singular_local(system, INFINITY);
    if (first_bad >= 0)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the system is singular: feature %lld is a combination of those before "
                          "it",
                          (long long)first_bad);
    return NORMA_OK;
}

static norma_status assemble(norma_lu *lu, const norma_system *system)
{
    return norma_assemble_system(system->rule, system->problem->w1, system->problem->w2,
                                 lu->matrix);
}

static norma_status assemble_single(norma_lu *lu, const norma_system *system)
{
    NORMA_TRY(norma_agree(lu->comm, place_scales(lu, NULL)));
    NORMA_TRY(norma_single_scale(system, lu->row_scale, lu->column_scale));
    return norma_assemble_system_single(system->rule, system->problem->w1, system->problem->w2,
                                        lu->row_scale, lu->column_scale, lu->matrix);
}

norma_status norma_lu_create(const norma_system *system, bool single, double *seconds_assembly,
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
    NORMA_GOTO(status, (single ? norma_dmat_create_single : norma_dmat_create)(lu->grid, lu->n,
                                                                               block, &lu->matrix));
    double start = norma_progress_clock_local();
    NORMA_GOTO(status, single ? assemble_single(lu, system) : assemble(lu, system));
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

static void scale(const double *scales, double *x, int64_t n)
{
    for (int64_t e = 0; scales && e < n; e++)
        x[e] *= scales[e];
}

void norma_lu_solve(norma_lu *lu, bool transpose, const double *b, double *x)
{
    if (x != b)
        memcpy(x, b, (size_t)lu->n * sizeof *x);
    /* S = R^-1 A C^-1 with A factored, R and C the scales of rows and columns. */
    scale(transpose ? lu->column_scale : lu->row_scale, x, lu->n);
    norma_factor_solve(lu->factor, transpose, x);
    scale(transpose ? lu->row_scale : lu->column_scale, x, lu->n);
}

void norma_lu_destroy(norma_lu **lu)
{
    if (*lu) {
        norma_factor_destroy(&(*lu)->factor);
        norma_dmat_destroy_local(&(*lu)->matrix);
        norma_grid_destroy(&(*lu)->grid);
        NORMA_FREE((*lu)->row_scale);
        NORMA_FREE((*lu)->column_scale);
        NORMA_FREE(*lu);
    }
}
