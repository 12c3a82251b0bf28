#include "mpi/linalg/dmat.h"

#include "mpi/runtime/agree.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <limits.h>
#include <stdbool.h>

int64_t norma_dmat_largest_share_local(int64_t n_rows, int64_t n_columns, int64_t block,
                                       norma_grid_shape shape)
{
    const norma_layout rows = {n_rows, block, shape.n_rows};
    const norma_layout columns = {n_columns, block, shape.n_columns};
    return norma_layout_count_local(&rows, 0) * norma_layout_count_local(&columns, 0);
}

int64_t norma_dmat_largest_local(int64_t n, int64_t block, norma_grid_shape shape)
{
    return norma_dmat_largest_share_local(n, n, block, shape);
}

int norma_dmat_ranks_needed_local(int64_t n, int64_t block)
{
    int64_t n_blocks = norma_index_ceil_divide(n, block);
    /* The elements shared out evenly are fewer than the largest share: no use in starting below. */
    double least = (double)n * (double)n / (double)NORMA_DMAT_MAX_LOCAL;
    if (least > INT_MAX / 2)
        return INT_MAX;
    int n_ranks = least > 1 ? (int)least : 1;
    while (
        norma_dmat_largest_local(n, block, norma_grid_choose_local(n_ranks, n_blocks, n_blocks)) >
        NORMA_DMAT_MAX_LOCAL)
        n_ranks++;
    return n_ranks;
}

norma_status norma_dmat_check_local(int64_t n, int64_t block, norma_grid_shape shape)
{
    if (n > INT_MAX || block > INT_MAX)
        return NORMA_FAIL(NORMA_LIMIT, "a matrix of %lld rows: ScaLAPACK counts to %d",
                          (long long)n, INT_MAX);
    int64_t n_local = norma_dmat_largest_local(n, block, shape);
    if (n_local > NORMA_DMAT_MAX_LOCAL)
        return NORMA_FAIL(NORMA_LIMIT,
                          "the %lld x %lld matrix leaves %lld elements to one rank, and ScaLAPACK "
                          "counts to %lld: run on at least %d ranks",
                          (long long)n, (long long)n, (long long)n_local,
                          (long long)NORMA_DMAT_MAX_LOCAL, norma_dmat_ranks_needed_local(n, block));
    return NORMA_OK;
}

static norma_status check_rectangle(int64_t n_rows, int64_t n_columns, int64_t block,
                                    norma_grid_shape shape)
{
    if (n_rows == n_columns)
        return norma_dmat_check_local(n_rows, block, shape);
    int64_t n_local = norma_dmat_largest_share_local(n_rows, n_columns, block, shape);
    if (n_rows > INT_MAX || n_columns > INT_MAX || block > INT_MAX ||
        n_local > NORMA_DMAT_MAX_LOCAL)
        return NORMA_FAIL(NORMA_LIMIT,
                          "a %lld x %lld matrix leaves %lld elements to one rank: ScaLAPACK counts "
                          "them to %lld, and rows to as many",
                          (long long)n_rows, (long long)n_columns, (long long)n_local,
                          (long long)NORMA_DMAT_MAX_LOCAL);
    return NORMA_OK;
}

static void set_sizes(norma_dmat *matrix, const norma_grid *grid, int64_t n_rows, int64_t n_columns,
                      int64_t block)
{
    matrix->grid = grid;
    matrix->rows = (norma_layout){n_rows, block, grid->shape.n_rows};
    matrix->columns = (norma_layout){n_columns, block, grid->shape.n_columns};
    if (grid->row >= 0) {
        matrix->n_local_rows = norma_layout_count_local(&matrix->rows, grid->row);
        matrix->n_local_columns = norma_layout_count_local(&matrix->columns, grid->column);
    }
    matrix->leading = matrix->n_local_rows > 0 ? matrix->n_local_rows : 1;
    int *d = matrix->descriptor;
    d[0] = 1; /* dense */
    d[1] = grid->context;
    d[2] = (int)n_rows;
    d[3] = (int)n_columns;
    d[4] = d[5] = (int)block;
    d[6] = d[7] = 0; /* the first block is on process 0, 0 */
    d[8] = (int)matrix->leading;
}

static norma_status create(const norma_grid *grid, int64_t n_rows, int64_t n_columns, int64_t block,
                           bool single, norma_dmat **out)
{
    norma_dmat *matrix = NULL;
    norma_status status = check_rectangle(n_rows, n_columns, block, grid->shape);
    if (status == NORMA_OK)
        status = NORMA_CALLOC(matrix, 1);
    if (status == NORMA_OK) {
        set_sizes(matrix, grid, n_rows, n_columns, block);
        int64_t n_local = matrix->leading * matrix->n_local_columns;
        status = single ? NORMA_ALLOC(matrix->single, n_local) : NORMA_ALLOC(matrix->data, n_local);
    }
    status = norma_agree(grid->comm, status);
    if (status == NORMA_OK)
        *out = matrix;
    else
        norma_dmat_destroy_local(&matrix);
    return status;
}

norma_status norma_dmat_create(const norma_grid *grid, int64_t n, int64_t block, norma_dmat **out)
{
    return create(grid, n, n, block, false, out);
}

norma_status norma_dmat_create_rectangle(const norma_grid *grid, int64_t n_rows, int64_t n_columns,
                                         int64_t block, norma_dmat **out)
{
    return create(grid, n_rows, n_columns, block, false, out);
}

norma_status norma_dmat_create_single(const norma_grid *grid, int64_t n, int64_t block,
                                      norma_dmat **out)
{
    return create(grid, n, n, block, true, out);
}

void norma_dmat_destroy_local(norma_dmat **matrix)
{
    if (*matrix) {
        NORMA_FREE((*matrix)->data);
        NORMA_FREE((*matrix)->single);
        NORMA_FREE(*matrix);
    }
}
