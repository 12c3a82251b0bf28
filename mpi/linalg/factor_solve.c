/*
 * Triangular solves with the factors of mpi/linalg/factor. A block of equations is summed by one
 * process row, its columns side by side; x itself is on all ranks at any time.
 */
#include "mpi/linalg/factor_state.h"

#include <string.h>

/* Where block k of the equations lies. */
typedef struct place {
    int64_t first, count; /* global; as row and as column */
    int row, column;      /* process row and column of the diagonal block */
    int64_t local_row, local_column;
} place;

static place find(const norma_factor *f, int64_t k)
{
    const norma_dmat *m = f->matrix;
    place p = {.first = k * f->block};
    p.count = f->n - p.first < f->block ? f->n - p.first : f->block;
    p.row = norma_layout_owner_local(&m->rows, p.first);
    p.column = norma_layout_owner_local(&m->columns, p.first);
    p.local_row = norma_layout_index_local(&m->rows, p.first);
    p.local_column = norma_layout_index_local(&m->columns, p.first);
    return p;
}

/* Local columns whose block is below k, or at most k. */
static int64_t columns_before(const norma_factor *f, int64_t k)
{
    const norma_dmat *m = f->matrix;
    int64_t n_processes = m->columns.n_processes;
    int64_t columns = (k + n_processes - 1 - m->grid->column) / n_processes * f->block;
    return columns < m->n_local_columns ? columns : m->n_local_columns;
}

static void solve_triangle(const norma_factor *f, const place *p, bool lower, bool transpose,
                           double *x)
{
    (f->matrix->single ? norma_factor_triangle_single : norma_factor_triangle_double)(
        f->matrix, p->local_row, p->local_column, p->count, lower, transpose, x + p->first);
}

/* The rank that holds the diagonal block solves and sends the solution to the others. */
static void share(const norma_factor *f, const place *p, double *x)
{
    const norma_grid *grid = f->matrix->grid;
    if (grid->shape.n_rows * grid->shape.n_columns > 1)
        MPI_Bcast(x + p->first, (int)p->count, MPI_DOUBLE,
                  p->row * grid->shape.n_columns + p->column, grid->active);
}

/* sums[count] += the rows of block k times the parts of x that are known, over this process row's
 * columns; the sum of all is with the diagonal block's. */
static void sum_rows(const norma_factor *f, const place *p, int64_t first, int64_t last,
                     const double *x)
{
    const norma_dmat *m = f->matrix;
    double *sums = f->sums;
    double *known = f->sums + f->block; /* x at this rank's columns */
    int64_t run = 0;
    for (int64_t c = first; c < last; c += run) {
        run = norma_layout_run_local(&m->columns, m->grid->column, c);
        memcpy(known + c - first, x + norma_layout_global_local(&m->columns, m->grid->column, c),
               (size_t)run * sizeof *x);
    }
    memset(sums, 0, (size_t)p->count * sizeof *sums);
    (m->single ? norma_factor_multiply_single : norma_factor_multiply_double)(
        m, p->local_row, p->count, first, last, known, f->pieces, sums);
    if (m->grid->shape.n_columns == 1)
        return;
    bool mine = m->grid->column == p->column;
    MPI_Reduce(mine ? MPI_IN_PLACE : sums, sums, (int)p->count, MPI_DOUBLE, MPI_SUM, p->column,
               f->along_row);
}

/* x <- T^-1 x: each block by its own row of blocks. */
static void solve_plain(const norma_factor *f, bool lower, double *x)
{
    const norma_grid *grid = f->matrix->grid;
    for (int64_t s = 0; s < f->n_blocks; s++) {
        int64_t k = lower ? s : f->n_blocks - 1 - s;
        place p = find(f, k);
        int64_t first = lower ? 0 : columns_before(f, k + 1);
        int64_t last = lower ? columns_before(f, k) : f->matrix->n_local_columns;
        if (grid->row == p.row)
            sum_rows(f, &p, first, last, x);
        if (grid->row == p.row && grid->column == p.column) {
            for (int64_t i = 0; i < p.count; i++)
                x[p.first + i] -= f->sums[i];
            solve_triangle(f, &p, lower, false, x);
        }
        share(f, &p, x);
    }
}

/* x <- T^-T x: each block, once known, is taken from all that follow by its row of blocks. */
static void solve_transposed(const norma_factor *f, bool lower, double *x)
{
    const norma_dmat *m = f->matrix;
    const norma_grid *grid = m->grid;
    double *sums = f->sums; /* [local columns] */
    memset(sums, 0, (size_t)m->n_local_columns * sizeof *sums);
    for (int64_t s = 0; s < f->n_blocks; s++) {
        int64_t k = lower ? f->n_blocks - 1 - s : s;
        place p = find(f, k);
        double *mine = sums + p.local_column;
        if (grid->column == p.column && grid->shape.n_rows > 1)
            MPI_Reduce(grid->row == p.row ? MPI_IN_PLACE : mine, mine, (int)p.count, MPI_DOUBLE,
                       MPI_SUM, p.row, f->along_column);
        if (grid->row == p.row && grid->column == p.column) {
            for (int64_t i = 0; i < p.count; i++)
                x[p.first + i] -= mine[i];
            solve_triangle(f, &p, lower, true, x);
        }
        share(f, &p, x);
        int64_t first = lower ? 0 : columns_before(f, k + 1);
        int64_t last = lower ? columns_before(f, k) : m->n_local_columns;
        if (grid->row == p.row && first < last)
            (m->single ? norma_factor_multiply_transpose_single
                       : norma_factor_multiply_transpose_double)(m, p.local_row, p.count, first,
                                                                 last, x + p.first, sums + first);
    }
}

static void swap(double *x, int64_t i, int64_t j)
{
    double moved = x[i];
    x[i] = x[j];
    x[j] = moved;
}

void norma_factor_solve(norma_factor *factor, bool transpose, double *x)
{
    const norma_grid *grid = factor->matrix->grid;
    if (grid->row >= 0 && transpose) {
        solve_transposed(factor, false, x);
        solve_transposed(factor, true, x);
        for (int64_t i = factor->n - 1; i >= 0; i--)
            swap(x, i, factor->pivots[i]);
    } else if (grid->row >= 0) {
        for (int64_t i = 0; i < factor->n; i++)
            swap(x, i, factor->pivots[i]);
        solve_plain(factor, true, x);
        solve_plain(factor, false, x);
    }
    if (grid->n_idle > 0)
        MPI_Bcast(x, (int)factor->n, MPI_DOUBLE, 0, grid->comm);
}
