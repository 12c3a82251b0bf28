#ifndef NORMA_MPI_LINALG_FACTOR_BODY_H
#define NORMA_MPI_LINALG_FACTOR_BODY_H
/*
 * The body of mpi/linalg/factor, compiled once for each type by mpi/linalg/factor_double.c and
 * _single.c, which define REAL and what follows from it; nobody else includes this file.
 */
#include "mpi/linalg/factor_state.h"
#include "mpi/linalg/scalapack.h"
#include "src/base/index.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Columns of a panel from which on it is not split further. */
#define LEAF 8
/* Columns whose rows move together where no message is sent: short enough to stay in cache. */
#define NEAR 16

static REAL *element(const norma_dmat *matrix, int64_t row, int64_t column)
{
    return ELEMENTS(matrix) + row + column * matrix->leading;
}

/* --- the panel --- */

/* n numbers at a distance, one after the other. */
static void copy_row(int64_t n, const REAL *from, int64_t from_step, REAL *to, int64_t to_step)
{
    for (int64_t c = 0; c < n; c++)
        to[c * to_step] = from[c * from_step];
}

/* The local row of a panel that holds a global row; -1 where another process row does. */
static int64_t local_row(const norma_factor_work *work, const norma_factor_panel *p, int64_t row)
{
    const norma_dmat *m = work->factor->matrix;
    if (norma_layout_owner_local(&m->rows, row) != m->grid->row)
        return -1;
    return norma_layout_index_local(&m->rows, row) - p->row;
}

/* Offers this process row's largest entry of column j, and takes the best of all. */
static void choose_pivot(norma_factor_work *work, const norma_factor_panel *p, int64_t j)
{
    const norma_dmat *m = work->factor->matrix;
    const REAL *data = p->data;
    norma_factor_candidate *mine = work->mine;
    REAL *rows = (REAL *)(mine + 1);
    int64_t above = p->has_top ? j : 0;
    *mine = (norma_factor_candidate){-1, work->factor->n, p->width * (int64_t)sizeof(REAL), 0};
    if (above < p->n_rows) {
        int64_t i = above + (int64_t)BLAS_MAX_INDEX((blasint)(p->n_rows - above),
                                                    data + above + j * p->n_rows, 1);
        i = i < p->n_rows ? i : above; /* among values that are not numbers */
        double size = (double)ABSOLUTE(data[i + j * p->n_rows]);
        mine->size = isfinite(size) ? size : INFINITY;
        mine->row = norma_layout_global_local(&m->rows, m->grid->row, p->row + i);
        copy_row(p->width, data + i, p->n_rows, rows, 1);
    }
    if (p->has_top) {
        mine->has_top = 1;
        copy_row(p->width, data + j, p->n_rows, rows + p->width, 1);
    }
    if (m->rows.n_processes > 1)
        MPI_Allreduce(mine, work->best, 1, work->candidate, work->choose,
                      work->factor->along_column);
}

/* Pivot j: the rows change places, the pivot row goes to `top`, the column below is divided. */
static void eliminate(norma_factor_work *work, norma_factor_panel *p, int64_t j)
{
    REAL *data = p->data;
    REAL *top = work->top;
    choose_pivot(work, p, j);
    const norma_factor_candidate *best =
        work->factor->matrix->rows.n_processes > 1 ? work->best : work->mine;
    const REAL *rows = (const REAL *)(best + 1);
    copy_row(p->width, rows, 1, top + j, p->width);
    int64_t left = local_row(work, p, best->row);
    if (left >= 0)
        copy_row(p->width, rows + p->width, 1, data + left, p->n_rows);
    p->pivots[j] = (int)best->row;
    REAL pivot = top[j + j * p->width];
    if (!isfinite(pivot) || pivot == 0) {
        if (p->pivots[p->width] < 0)
            p->pivots[p->width] = (int)(p->first + j);
        return;
    }
    int64_t below = p->has_top ? j + 1 : 0;
    REAL *column = data + j * p->n_rows;
    if (ABSOLUTE(pivot) >= SMALLEST)
        BLAS(scal)((blasint)(p->n_rows - below), 1 / pivot, column + below, 1);
    else
        for (int64_t i = below; i < p->n_rows; i++)
            column[i] /= pivot;
}

/* Factors columns j .. j + n - 1 of a panel, to whose rows everything left of them is applied. */
static void factor_columns(norma_factor_work *work, norma_factor_panel *p, int64_t j, int64_t n)
{
    REAL *data = p->data;
    REAL *top = work->top;
    blasint ld = (blasint)(p->n_rows > 0 ? p->n_rows : 1);
    blasint width = (blasint)p->width;
    for (int64_t c = j; n <= LEAF && c < j + n; c++) {
        eliminate(work, p, c);
        int64_t below = p->has_top ? c + 1 : 0;
        if (below < p->n_rows && c + 1 < j + n)
            BLAS(ger)
        (CblasColMajor, (blasint)(p->n_rows - below), (blasint)(j + n - c - 1), -1,
         data + below + c * p->n_rows, 1, top + c + (c + 1) * p->width, width,
         data + below + (c + 1) * p->n_rows, ld);
    }
    if (n <= LEAF)
        return;
    int64_t half = (n / 2 + LEAF - 1) / LEAF * LEAF;
    int64_t middle = j + half;
    blasint rest = (blasint)(n - half);
    factor_columns(work, p, j, half);
    BLAS(trsm)
    (CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, (blasint)half, rest, 1,
     top + j + j * p->width, width, top + j + middle * p->width, width);
    int64_t below = p->has_top ? middle : 0;
    if (below < p->n_rows)
        BLAS(gemm)
    (CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)(p->n_rows - below), rest, (blasint)half,
     -1, data + below + j * p->n_rows, ld, top + j + middle * p->width, width, 1,
     data + below + middle * p->n_rows, ld);
    factor_columns(work, p, middle, n - half);
}

/* The panel of this process column: out of the matrix, factored, and back. */
static void factor_panel(norma_factor_work *work, norma_factor_panel *p)
{
    const norma_dmat *m = work->factor->matrix;
    int64_t column = norma_layout_index_local(&m->columns, p->first);
    size_t length = (size_t)p->n_rows * sizeof(REAL);
    REAL *data = p->data;
    const REAL *top = work->top;
    for (int64_t c = 0; c < p->width && length > 0; c++)
        memcpy(data + c * p->n_rows, element(m, p->row, column + c), length);
    p->pivots[p->width] = -1;
    factor_columns(work, p, 0, p->width);
    for (int64_t c = 0; c < p->width && p->has_top; c++)
        memcpy(data + c * p->n_rows, top + c * p->width, (size_t)p->width * sizeof(REAL));
    for (int64_t c = 0; c < p->width && length > 0; c++)
        memcpy(element(m, p->row, column + c), data + c * p->n_rows, length);
}

/* --- the rest of the matrix --- */

/* Rows of `count` columns between the matrix and messages by process row. */
static void pack(norma_factor_work *work, int64_t column, int64_t count)
{
    const norma_dmat *m = work->factor->matrix;
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < count; c++) {
        const REAL *from = element(m, 0, column + c);
        const int64_t *row = work->leaving;
        for (int q = 0; q < m->rows.n_processes; q++) {
            REAL *to = (REAL *)work->outgoing + work->at_out[q] + c * work->n_leaving[q];
            for (int64_t i = 0; i < work->n_leaving[q]; i++)
                to[i] = from[*row++];
        }
    }
}

static void unpack(norma_factor_work *work, const REAL *incoming, int64_t column, int64_t count)
{
    const norma_dmat *m = work->factor->matrix;
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < count; c++) {
        REAL *to = element(m, 0, column + c);
        const int64_t *row = work->coming;
        for (int q = 0; q < m->rows.n_processes; q++) {
            const REAL *from = incoming + work->at_in[q] + c * work->n_coming[q];
            for (int64_t i = 0; i < work->n_coming[q]; i++)
                to[*row++] = from[i];
        }
    }
}

/* The listed rows of local columns first .. last - 1 change places. */
static void exchange_rows(norma_factor_work *work, int64_t first, int64_t last)
{
    int n_processes = work->factor->matrix->rows.n_processes;
    if (work->n_moves == 0)
        return;
    int64_t most = work->capacity / work->n_moves;
    if (n_processes == 1 && most > NEAR)
        most = NEAR;
    for (int64_t column = first; column < last; column += most) {
        int64_t count = last - column < most ? last - column : most;
        int out = 0;
        int in = 0;
        for (int q = 0; q < n_processes; q++) {
            work->at_out[q] = out;
            work->at_in[q] = in;
            out += work->counts_out[q] = work->n_leaving[q] * (int)count;
            in += work->counts_in[q] = work->n_coming[q] * (int)count;
        }
        pack(work, column, count);
        if (n_processes > 1)
            MPI_Alltoallv(work->outgoing, work->counts_out, work->at_out, MPI_REAL_TYPE,
                          work->incoming, work->counts_in, work->at_in, MPI_REAL_TYPE,
                          work->factor->along_column);
        unpack(work, n_processes > 1 ? work->incoming : work->outgoing, column, count);
    }
}

/* U of a panel's rows in `count` local columns, on every process row: the block and its leading
 * dimension. */
static const REAL *solve_upper(norma_factor_work *work, const norma_factor_panel *p, int64_t column,
                               int64_t count, int64_t *leading)
{
    const norma_dmat *m = work->factor->matrix;
    REAL *upper = work->upper;
    REAL *block = element(m, p->row, column);
    if (p->has_top)
        BLAS(trsm)
    (CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, (blasint)p->width,
     (blasint)count, 1, p->data, (blasint)p->n_rows, block, (blasint)m->leading);
    *leading = m->leading;
    if (m->rows.n_processes == 1)
        return block;
    for (int64_t c = 0; p->has_top && c < count; c++)
        memcpy(upper + c * p->width, element(m, p->row, column + c),
               (size_t)p->width * sizeof(REAL));
    MPI_Bcast(upper, (int)(count * p->width), MPI_REAL_TYPE,
              norma_layout_owner_local(&m->rows, p->first), work->factor->along_column);
    *leading = p->width;
    return upper;
}

/* Applies a panel to local columns first .. last - 1, a slice at a time. */
static void update(norma_factor_work *work, const norma_factor_panel *panel, int64_t first,
                   int64_t last)
{
    const norma_dmat *m = work->factor->matrix;
    int64_t above = panel->has_top ? panel->width : 0;
    for (int64_t column = first; column < last; column += work->slice) {
        int64_t count = last - column < work->slice ? last - column : work->slice;
        int64_t leading = 0;
        exchange_rows(work, column, column + count);
        const REAL *upper = solve_upper(work, panel, column, count, &leading);
        if (above < panel->n_rows)
            BLAS(gemm)
        (CblasColMajor, CblasNoTrans, CblasNoTrans, (blasint)(panel->n_rows - above),
         (blasint)count, (blasint)panel->width, -1, (const REAL *)panel->data + above,
         (blasint)panel->n_rows, upper, (blasint)leading, 1, element(m, panel->row + above, column),
         (blasint)m->leading);
        for (int q = 0; q < NORMA_FACTOR_PANELS; q++)
            norma_ring_progress(work->panels[q].ring);
    }
}

/* --- the whole --- */

/* Panel `index` begins: factored where it is, and sent; elsewhere awaited. */
static void begin_panel(norma_factor_work *work, int64_t index, norma_factor_panel *p)
{
    const norma_grid *grid = work->factor->matrix->grid;
    int owner = (int)(index % grid->shape.n_columns);
    norma_factor_place_panel(work, index, sizeof(REAL), p);
    if (grid->column == owner)
        factor_panel(work, p);
    norma_ring_start(p->ring, owner, p->n_bytes);
}

/* Rows left of each panel move as its pivots say, all at once for every block column. */
static void exchange_left(norma_factor_work *work)
{
    const norma_factor *f = work->factor;
    const norma_dmat *m = f->matrix;
    for (int64_t b = m->grid->column; b < f->n_blocks - 1; b += m->grid->shape.n_columns) {
        int64_t column = norma_layout_index_local(&m->columns, b * f->block);
        norma_factor_list_moves(work, (b + 1) * f->block, f->n);
        exchange_rows(work, column, column + f->block);
    }
}

void TYPED(norma_factor_run)(norma_factor_work *work)
{
    norma_factor *f = work->factor;
    const norma_dmat *m = f->matrix;
    int64_t column = 0; /* first local one right of the panels begun */
    work->first_bad = -1;
    begin_panel(work, 0, &work->panels[0]);
    for (int64_t k = 0; k < f->n_blocks; k++) {
        norma_factor_panel *p = &work->panels[k % NORMA_FACTOR_PANELS];
        norma_factor_panel *next = &work->panels[(k + 1) % NORMA_FACTOR_PANELS];
        bool holds_next =
            k + 1 < f->n_blocks && (k + 1) % m->grid->shape.n_columns == m->grid->column;
        norma_ring_receive(p->ring);
        memcpy(f->pivots + p->first, p->pivots, (size_t)p->width * sizeof *p->pivots);
        if (work->first_bad < 0)
            work->first_bad = p->pivots[p->width];
        norma_factor_list_moves(work, p->first, p->first + p->width);
        norma_ring_finish(next->ring);
        if (k % m->grid->shape.n_columns == m->grid->column)
            column += p->width;
        int64_t ahead = column;
        if (holds_next)
            ahead += norma_layout_run_local(&m->columns, m->grid->column, column);
        update(work, p, column, ahead);
        if (k + 1 < f->n_blocks)
            begin_panel(work, k + 1, next);
        update(work, p, ahead, m->n_local_columns);
    }
    for (int q = 0; q < NORMA_FACTOR_PANELS; q++)
        norma_ring_finish(work->panels[q].ring);
    exchange_left(work);
}

void TYPED(norma_factor_serial)(norma_factor_work *work)
{
    norma_factor *f = work->factor;
    const int n = (int)f->n;
    int info = 0;
    LAPACK_FACTOR(&n, &n, ELEMENTS(f->matrix), &n, f->pivots, &info);
    work->first_bad = info - 1;
    for (int64_t i = 0; i < f->n; i++) {
        f->pivots[i]--;
        if (work->first_bad < 0 && !isfinite(*element(f->matrix, i, i)))
            work->first_bad = i;
    }
}

/* --- solves --- */

/* y[n] += four columns times x. */
static void add_columns(int64_t n, const REAL *restrict a, int64_t leading, const double *x,
                        double *restrict y)
{
    const REAL *restrict b = a + leading;
    const REAL *restrict c = b + leading;
    const REAL *restrict d = c + leading;
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] +=
            (double)a[i] * x[0] + (double)b[i] * x[1] + (double)c[i] * x[2] + (double)d[i] * x[3];
}

static void add_column(int64_t n, const REAL *restrict a, double x, double *restrict y)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] += (double)a[i] * x;
}

static double dot_column(int64_t n, const REAL *restrict a, const double *restrict y)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * y[i];
    return sum;
}

void TYPED(norma_factor_multiply)(const norma_dmat *matrix, int64_t row, int64_t n_rows,
                                  int64_t first, int64_t last, const double *x, double *pieces,
                                  double *y)
{
    int n_threads = 1; /* the team's: the system may give fewer than are asked for */
    memset(pieces, 0, (size_t)n_rows * (size_t)omp_get_max_threads() * sizeof *pieces);
#pragma omp parallel
    {
        int64_t begin = 0;
#pragma omp single
        n_threads = omp_get_num_threads();
        double *piece = pieces + omp_get_thread_num() * n_rows;
        int64_t count = norma_index_share(last - first, n_threads, omp_get_thread_num(), &begin);
        int64_t c = 0;
        for (; c + 4 <= count; c += 4)
            add_columns(n_rows, element(matrix, row, first + begin + c), matrix->leading,
                        x + begin + c, piece);
        for (; c < count; c++)
            add_column(n_rows, element(matrix, row, first + begin + c), x[begin + c], piece);
    }
    for (int t = 0; t < n_threads; t++)
        for (int64_t i = 0; i < n_rows; i++)
            y[i] += pieces[t * n_rows + i];
}

void TYPED(norma_factor_multiply_transpose)(const norma_dmat *matrix, int64_t row, int64_t n_rows,
                                            int64_t first, int64_t last, const double *y, double *x)
{
#pragma omp parallel for schedule(static)
    for (int64_t c = first; c < last; c++)
        x[c - first] += dot_column(n_rows, element(matrix, row, c), y);
}

void TYPED(norma_factor_triangle)(const norma_dmat *matrix, int64_t row, int64_t column, int64_t n,
                                  bool lower, bool transpose, double *x)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t j = lower == transpose ? n - 1 - k : k;
        const REAL *a = element(matrix, row, column + j);
        int64_t from = lower ? j + 1 : 0;
        int64_t count = lower ? n - j - 1 : j;
        if (transpose)
            x[j] -= dot_column(count, a + from, x + from);
        if (!lower)
            x[j] /= (double)a[j];
        if (!transpose)
            add_column(count, a + from, -x[j], x + from);
    }
}

#endif
