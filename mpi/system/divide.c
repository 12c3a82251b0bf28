#include "mpi/system/divide.h"

#include "mpi/linalg/scalapack.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* Columns that LAPACK's blocked algorithms take at a time, at most. */
#define LAPACK_BLOCK 64
/* Entries within these bounds have squares, and sums of them, within the range of doubles. */
#define LEAST_ENTRY 1e-130
#define LARGEST_ENTRY 1e130

static int64_t fewer(int64_t m, int64_t n)
{
    return m < n ? m : n;
}

/* A matrix so much longer than wide is made square by QR first. */
static bool is_long(int64_t longer, int64_t shorter)
{
    return longer >= shorter * 11 / 6 && longer > shorter;
}

int64_t norma_divide_integers_local(int64_t n_rows, int64_t n_columns)
{
    return 8 * fewer(n_rows, n_columns);
}

/* Numbers of the vectors in front: d, e, copies of both, scales of three sets of reflectors. */
enum { N_VECTORS = 7 };

int64_t norma_divide_workspace_local(int64_t n_rows, int64_t n_columns)
{
    int64_t k = fewer(n_rows, n_columns);
    int64_t square = is_long(n_rows, n_columns) || is_long(n_columns, n_rows) ? k * k : 0;
    int64_t divide = 3 * k * k + 4 * k;
    int64_t blocked = LAPACK_BLOCK * (n_rows + n_columns + LAPACK_BLOCK + 1);
    return N_VECTORS * k + square + (divide > blocked ? divide : blocked);
}

bool norma_divide_fits_local(int64_t n_rows, int64_t n_columns)
{
    const int64_t longest = INT_MAX / (4 * LAPACK_BLOCK);
    return n_rows < longest && n_columns < longest && fewer(n_rows, n_columns) < 46340 &&
           norma_divide_workspace_local(n_rows, n_columns) <= INT_MAX;
}

bool norma_divide_agrees_local(int64_t n, const double *values, const double *expected)
{
    double tolerance = fmax(1e-12, (double)n * DBL_EPSILON) * expected[0];
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(values[i] - expected[i]) <= tolerance))
            return false;
    return true;
}

/* Parts of the workspace, and the matrix that is reduced to bidiagonal form. */
typedef struct work {
    int m, n, k; /* of A */
    int bm, bn;  /* of the matrix that is reduced: A, or its triangle */
    double *b;
    int ldb;
    double *d, *e, *d_copy, *e_copy;    /* [k] */
    double *tau, *tau_left, *tau_right; /* [k] */
    double *space;
    int n_space;
} work;

static double largest_entry(const norma_divide_matrices *x)
{
    double largest = 0;
    for (int64_t c = 0; c < x->n; c++)
        for (int64_t r = 0; r < x->m; r++) {
            double size = fabs(x->a[c * x->lda + r]);
            if (!(size <= largest)) /* NaN as well */
                largest = size;
        }
    return largest;
}

static work lay_out(const norma_divide_matrices *x, double *workspace)
{
    work w = {.m = x->m, .n = x->n, .bm = x->m, .bn = x->n, .b = x->a, .ldb = x->lda};
    double **const vectors[N_VECTORS] = {&w.d,   &w.e,        &w.d_copy,   &w.e_copy,
                                         &w.tau, &w.tau_left, &w.tau_right};
    int64_t used = 0;
    w.k = (int)fewer(x->m, x->n);
    for (int i = 0; i < N_VECTORS; i++, used += w.k)
        *vectors[i] = workspace + used;
    if (is_long(x->m, x->n) || is_long(x->n, x->m)) {
        w.b = workspace + used;
        w.bm = w.bn = w.ldb = w.k;
        used += (int64_t)w.k * w.k;
    }
    w.space = workspace + used;
    w.n_space = (int)(norma_divide_workspace_local(x->m, x->n) - used);
    return w;
}

/* A = Q R, or L Q; the triangle goes where it is reduced. */
static void make_square(const norma_divide_matrices *x, const work *w, int *info)
{
    bool tall = w->m > w->n;
    (tall ? dgeqrf_ : dgelqf_)(&w->m, &w->n, x->a, &x->lda, w->tau, w->space, &w->n_space, info);
    for (int64_t c = 0; c < w->k; c++)
        for (int64_t r = 0; r < w->k; r++)
            w->b[c * w->ldb + r] = (tall ? r <= c : r >= c) ? x->a[c * x->lda + r] : 0;
}

/* left and right, holding the singular vectors of the bidiagonal form, become those of A. */
static void turn_back(const norma_divide_matrices *x, const work *w, int *info)
{
    dormbr_("Q", "L", "N", &w->bm, &w->k, &w->bn, w->b, &w->ldb, w->tau_left, x->left, &x->ld_left,
            w->space, &w->n_space, info);
    if (*info == 0)
        dormbr_("P", "R", "T", &w->k, &w->bn, &w->bm, w->b, &w->ldb, w->tau_right, x->right,
                &x->ld_right, w->space, &w->n_space, info);
    if (*info != 0 || w->b == x->a)
        return;
    if (w->m > w->n)
        dormqr_("L", "N", &w->m, &w->k, &w->k, x->a, &x->lda, w->tau, x->left, &x->ld_left,
                w->space, &w->n_space, info);
    else
        dormlq_("R", "N", &w->k, &w->n, &w->k, x->a, &x->lda, w->tau, x->right, &x->ld_right,
                w->space, &w->n_space, info);
}

norma_status norma_divide_decompose_local(const norma_divide_matrices *x, double *sigma,
                                          double *workspace, int *integers, bool *good)
{
    work w = lay_out(x, workspace);
    double largest = largest_entry(x);
    int info = 0;
    *good = largest >= LEAST_ENTRY && largest <= LARGEST_ENTRY;
    if (!*good)
        return NORMA_OK;
    if (w.b != x->a)
        make_square(x, &w, &info);
    if (info == 0)
        dgebrd_(&w.bm, &w.bn, w.b, &w.ldb, w.d, w.e, w.tau_left, w.tau_right, w.space, &w.n_space,
                &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "the bidiagonal reduction refused its argument %d", -info);
    memcpy(w.d_copy, w.d, (size_t)w.k * sizeof *w.d);
    memcpy(w.e_copy, w.e, (size_t)w.k * sizeof *w.e);
    dlasq1_(&w.k, w.d_copy, w.e_copy, w.space, &info);
    if (info == 0) {
        memset(x->left, 0, (size_t)w.k * (size_t)x->ld_left * sizeof *x->left);
        memset(x->right, 0, (size_t)w.n * (size_t)x->ld_right * sizeof *x->right);
        dbdsdc_(w.bm >= w.bn ? "U" : "L", "I", &w.k, w.d, w.e, x->left, &x->ld_left, x->right,
                &x->ld_right, NULL, NULL, w.space, integers, &info);
    }
    *good = info == 0 && norma_divide_agrees_local(w.k, w.d, w.d_copy);
    if (!*good)
        return NORMA_OK;
    memcpy(sigma, w.d, (size_t)w.k * sizeof *sigma);
    turn_back(x, &w, &info);
    return info == 0 ? NORMA_OK
                     : NORMA_FAIL(NORMA_LIBRARY,
                                  "a product with reflectors refused its argument %d", -info);
}
