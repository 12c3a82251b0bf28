#include "mpi/values/reflector.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Columns that are taken one by one before products of matrices bring the others up to date. */
enum { FEW = 16 };

int64_t norma_reflector_work_local(int64_t width)
{
    return width * (width + FEW + 1) + (int64_t)2 * FEW;
}

static void sum(const norma_reflector_panel *p, double *numbers, int64_t n)
{
    int n_ranks = 0;
    MPI_Comm_size(p->comm, &n_ranks);
    if (n_ranks > 1)
        MPI_Allreduce(MPI_IN_PLACE, numbers, (int)n, MPI_DOUBLE, MPI_SUM, p->comm);
}

/* The first row here that a reflector of column j changes besides its pivot. */
static int64_t below(const norma_reflector_panel *p, int64_t j)
{
    return p->has_top ? j : 0;
}

/* Reflector j, applied to the columns up to `end`. The inner products of the unscaled column give
 * those of the reflector, so that one sum over ranks is enough. */
static void reflect_column(const norma_reflector_panel *p, int64_t j, int64_t end, double *tau)
{
    int64_t m = p->n_rows;
    int64_t from = below(p, j + 1);
    int64_t n_columns = end - j;
    double *column = p->v + j * m;
    double *dots = p->work;            /* [n_columns] */
    double *pivots = dots + n_columns; /* [n_columns] */
    double factors[FEW] = {0};
    memset(dots, 0, 2 * (size_t)n_columns * sizeof *dots);
    if (m > from)
        cblas_dgemv(CblasColMajor, CblasTrans, (int)(m - from), (int)n_columns, 1, column + from,
                    (int)m, column + from, 1, 0, dots, 1);
    for (int64_t c = 0; p->has_top && c < n_columns; c++)
        pivots[c] = column[c * m + j];
    sum(p, dots, 2 * n_columns);
    *tau = 0;
    if (dots[0] == 0) /* nothing to annihilate */
        return;
    double beta = -copysign(hypot(pivots[0], sqrt(dots[0])), pivots[0]);
    double scale = 1 / (pivots[0] - beta);
    *tau = (beta - pivots[0]) / beta;
    for (int64_t c = 1; c < n_columns; c++) {
        double along = *tau * (pivots[c] + scale * dots[c]);
        factors[c - 1] = along * scale;
        if (p->has_top)
            column[c * m + j] -= along;
    }
    if (m > from && n_columns > 1)
        cblas_dger(CblasColMajor, (int)(m - from), (int)(n_columns - 1), -1, column + from, 1,
                   factors, 1, column + m + from, (int)m);
    if (m > from)
        cblas_dscal((int)(m - from), scale, column + from, 1);
    if (p->has_top)
        column[j] = beta;
}

/* T of `count` reflectors from their taus and their Gram matrix (leading dimension `count`). */
static void make_triangle(int64_t count, const double *taus, const double *gram, double *t)
{
    for (int64_t i = 0; i < count; i++) {
        double *column = t + i * count;
        memset(column, 0, (size_t)count * sizeof *column);
        cblas_dcopy((int)i, gram + i * count, 1, column, 1);
        if (i > 0)
            cblas_dtrmv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, (int)i, t,
                        (int)count, column, 1);
        cblas_dscal((int)i, -taus[i], column, 1);
        column[i] = taus[i];
    }
}

/* Moves the rows of R that columns first .. end - 1 hold in `rows` rows from `first` on into p->r,
 * and leaves those of V. */
static void take_triangle(const norma_reflector_panel *p, int64_t first, int64_t n_rows,
                          int64_t column, int64_t end)
{
    if (!p->has_top)
        return;
    for (int64_t c = column; c < end; c++)
        for (int64_t i = first; i < first + n_rows; i++) {
            double *entry = p->v + c * p->n_rows + i;
            if (i > c)
                break;
            p->r[c * p->width + i] = *entry;
            *entry = i == c ? 1 : 0;
        }
}

/* Applies the reflectors first .. end - 1, done, to the columns from `end` on. */
static void update(const norma_reflector_panel *p, int64_t first, int64_t end, const double *taus)
{
    int64_t m = p->n_rows;
    int64_t n_few = end - first;
    int64_t n_rest = p->width - end;
    int64_t from = below(p, first);
    double *products = p->work; /* [n_few + n_rest][n_few] */
    double t[FEW * FEW];
    double *v = p->v + first * m + from;
    memset(products, 0, (size_t)(n_few * (n_few + n_rest)) * sizeof *products);
    if (m > from)
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)n_few, (int)(n_few + n_rest),
                    (int)(m - from), 1, v, (int)m, v, (int)m, 0, products, (int)n_few);
    sum(p, products, n_few * (n_few + n_rest));
    make_triangle(n_few, taus + first, products, t);
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, (int)n_few,
                (int)n_rest, 1, t, (int)n_few, products + n_few * n_few, (int)n_few);
    if (m > from)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)(m - from), (int)n_rest,
                    (int)n_few, -1, v, (int)m, products + n_few * n_few, (int)n_few, 1,
                    v + n_few * m, (int)m);
}

void norma_reflector_factor(const norma_reflector_panel *p)
{
    double *taus = p->work + p->width * (p->width + FEW) + (ptrdiff_t)2 * FEW; /* [count] */
    double *gram = p->work;                                                    /* [count][count] */
    for (int64_t first = 0; first < p->count; first += FEW) {
        int64_t end = first + FEW < p->count ? first + FEW : p->count;
        for (int64_t j = first; j < end; j++)
            reflect_column(p, j, end, taus + j);
        take_triangle(p, first, end - first, first, end);
        if (end < p->width)
            update(p, first, end, taus);
        take_triangle(p, first, end - first, end, p->width);
    }
    memset(gram, 0, (size_t)(p->count * p->count) * sizeof *gram);
    if (p->n_rows > 0)
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)p->count, (int)p->count,
                    (int)p->n_rows, 1, p->v, (int)p->n_rows, p->v, (int)p->n_rows, 0, gram,
                    (int)p->count);
    sum(p, gram, p->count * p->count);
    make_triangle(p->count, taus, gram, p->t);
}
