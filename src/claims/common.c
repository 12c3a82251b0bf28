#include "src/chain/lapack.h"
#include "src/claims/family.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH, WORK = 64 * NORMA_CLAIM_WIDTH };

void norma_claim_uniforms(norma_claim_random *random, int64_t n, double *out)
{
    norma_rng_fill_uniform(random->seed, &random->stream, random->next, n, out);
    random->next += n;
}

/* A pair of elements makes two normals: elements that were read as uniforms are not read again. */
void norma_claim_normals(norma_claim_random *random, int64_t n, double *out)
{
    random->next += random->next % 2;
    norma_rng_fill_normal(random->seed, &random->stream, random->next, n, out);
    random->next += n + n % 2;
}

double norma_claim_uniform(norma_claim_random *random)
{
    double u = 0;
    norma_claim_uniforms(random, 1, &u);
    return u;
}

double norma_claim_normal(norma_claim_random *random)
{
    double z = 0;
    norma_claim_normals(random, 1, &z);
    return z;
}

int64_t norma_claim_integer(norma_claim_random *random, int64_t low, int64_t high)
{
    return low + (int64_t)(norma_claim_uniform(random) * (double)(high - low + 1));
}

int64_t norma_claim_size(norma_claim_random *random, int64_t low, int64_t high, int64_t most)
{
    return norma_claim_integer(random, low, random->wide ? most : high);
}

void norma_claim_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                         const double *a, const double *b, double *c)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += (transpose_a ? a[p * m + i] : a[i * k + p]) *
                       (transpose_b ? b[j * k + p] : b[p * n + j]);
            c[i * n + j] = sum;
        }
}

/* Row-major [rows][columns] is column-major of the transpose: U and V change places. */
static norma_status decompose(int64_t rows, int64_t columns, const double *a, double *values,
                              double *u)
{
    double copy[WIDTH * WIDTH], work[WORK], none = 0;
    const int m = (int)columns, n = (int)rows, lwork = WORK;
    const int one = 1;
    int info = 0;
    memcpy(copy, a, (size_t)(rows * columns) * sizeof *copy);
    dgesvd_("N", u ? "A" : "N", &m, &n, copy, &m, values, &none, &one, u ? u : &none, u ? &n : &one,
            work, &lwork, &info);
    return info == 0
               ? NORMA_OK
               : NORMA_FAIL(NORMA_NUMERIC, "dgesvd of a %d x %d matrix: info = %d", n, m, info);
}

norma_status norma_claim_singular(int64_t rows, int64_t columns, const double *a, double *values)
{
    return decompose(rows, columns, a, values, NULL);
}

/* LAPACK's VT of the transpose is U' column-major, which is U row-major. */
norma_status norma_claim_left_vectors(int64_t rows, int64_t columns, const double *a, double *u)
{
    double values[WIDTH];
    return decompose(rows, columns, a, values, u);
}

/* The transpose goes to LAPACK: its columns are the rows of a. */
bool norma_claim_solve(int64_t n, const double *a, const double *b, double *x)
{
    double copy[WIDTH * WIDTH];
    int order = (int)n, one = 1, pivots[WIDTH], info = 0;
    norma_claim_transpose(n, n, a, copy);
    memcpy(x, b, (size_t)n * sizeof *x);
    dgesv_(&order, &one, copy, &order, pivots, x, &order, &info);
    return info == 0;
}

void norma_claim_project_out(int64_t n, int64_t count, int64_t stride, const double *basis,
                             double *v)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < count; k++) {
            const double *b = basis + k * stride;
            cblas_daxpy((int)n, -cblas_ddot((int)n, v, 1, b, 1), b, 1, v, 1);
        }
}

bool norma_claim_orthogonalize(int64_t n, const double *a, double *q)
{
    memcpy(q, a, (size_t)(n * n) * sizeof *q);
    for (int64_t i = 0; i < n; i++) {
        double before = cblas_dnrm2((int)n, q + i * n, 1);
        norma_claim_project_out(n, i, n, q, q + i * n);
        double norm = cblas_dnrm2((int)n, q + i * n, 1);
        if (!(norm > 1e-10 * before))
            return false;
        cblas_dscal((int)n, 1 / norm, q + i * n, 1);
    }
    return true;
}

norma_status norma_claim_haar(norma_claim_random *random, int64_t n, double *q)
{
    double a[WIDTH * WIDTH];
    do {
        norma_claim_normals(random, n * n, a);
    } while (!norma_claim_orthogonalize(n, a, q));
    return NORMA_OK;
}

bool norma_claim_normalize_rows(int64_t rows, int64_t columns, double norm, double *a)
{
    for (int64_t i = 0; i < rows; i++) {
        double now = cblas_dnrm2((int)columns, a + i * columns, 1);
        if (!(now > 0) || !isfinite(now))
            return false;
        for (int64_t j = 0; j < columns; j++)
            a[i * columns + j] = a[i * columns + j] / now * norm;
    }
    return true;
}

void norma_claim_transpose(int64_t rows, int64_t columns, const double *a, double *to)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * rows + i] = a[i * columns + j];
}

norma_status norma_claim_isometry(int64_t rows, int64_t columns, const double *a, double *gap,
                                  double *rounding)
{
    double s[WIDTH], trace = 0, logs = 0, errors = 0;
    NORMA_TRY(norma_claim_singular(rows, columns, a, s));
    double error = 20 * (double)rows * DBL_EPSILON * s[0];
    *gap = *rounding = INFINITY;
    if (!(s[rows - 1] > 1e3 * error))
        return NORMA_OK;
    for (int64_t i = 0; i < rows; i++) {
        trace += (s[i] / s[0]) * (s[i] / s[0]);
        logs += 2 * log(s[i] / s[0]);
        errors += 2 * error / s[i];
    }
    *gap = log(trace / (double)rows) - logs / (double)rows;
    *rounding = errors / (double)rows + 40 * DBL_EPSILON * (1 + fabs(logs));
    return NORMA_OK;
}

double norma_claim_spread(int64_t n, const double *values)
{
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (values[i] / mean - 1) * (values[i] / mean - 1) / (double)n;
    return 1 + squares;
}

/* Eigenvalues of all sizes: rows of a normal matrix mixed with a common direction, or scaled. */
void norma_claim_draw_matrix(norma_claim_random *random, int64_t number, int64_t rows,
                             int64_t columns, norma_claim_case *out)
{
    const int64_t corner = number % 8;
    double common[WIDTH];
    out->rows = rows;
    out->columns = columns;
    out->n = out->n_free = rows * columns;
    for (int64_t j = 0; j < columns; j++)
        common[j] = norma_claim_normal(random);
    double scale = corner == 4 ? exp(30 * norma_claim_normal(random)) : 1;
    for (int64_t i = 0; i < rows; i++) {
        double row_scale = corner == 3 ? exp(3 * norma_claim_normal(random)) : 1;
        for (int64_t j = 0; j < columns; j++) {
            double z = norma_claim_normal(random);
            double value = z;
            if (corner == 0 || corner == 2)
                value = (i == j ? 1 : 0) + (corner == 0 ? 0 : 0.1) * z;
            else if (corner == 1)
                value = common[j] + 1e-2 * z;
            else if (corner == 5)
                value = (i == j ? exp(2 * z) : 0);
            out->x[i * columns + j] = scale * row_scale * value;
        }
    }
}

void norma_claim_append_normals(norma_claim_random *random, int64_t n, norma_claim_case *out)
{
    norma_claim_normals(random, n, out->x + out->n);
    out->n += n;
}

void norma_claim_compare(int64_t n, const double *source, const double *target, const double *scale,
                         norma_claim_sides *out)
{
    double deviation = 0, most = 0, top = 0;
    for (int64_t i = 0; i < n; i++) {
        if (fabs(source[i] - target[i]) > fabs(deviation))
            deviation = source[i] - target[i];
        if (fabs(target[i]) > fabs(top))
            top = target[i];
        most = fmax(most, scale[i]);
    }
    out->rounding = 100 * (double)n * DBL_EPSILON * most;
    out->met = out->rounding < 1e-6 * fabs(top);
    out->left = top + deviation;
    out->right = top;
}

void norma_claim_compose(const int64_t shape[5], const double *second, const double *first,
                         double *product)
{
    const int64_t c2 = shape[0], c1 = shape[1], c0 = shape[2], k2 = shape[3], k1 = shape[4];
    const int64_t taps = k1 + k2 - 1;
    memset(product, 0, (size_t)(c2 * c0 * taps * c1) * sizeof *product);
    for (int64_t i = 0; i < c2; i++)
        for (int64_t j = 0; j < c0; j++)
            for (int64_t m = 0; m < c1; m++)
                for (int64_t a = 0; a < k2; a++)
                    for (int64_t b = 0; b < k1; b++)
                        product[((i * c0 + j) * taps + a + b) * c1 + m] +=
                            second[(i * c1 + m) * k2 + a] * first[(m * c0 + j) * k1 + b];
}

bool norma_claim_residual_layer(int64_t d, double gamma, const double *w, const double *h,
                                double *next)
{
    norma_claim_product(false, false, d, d, d, w, h, next);
    for (int64_t i = 0; i < d * d; i++)
        next[i] = h[i] + gamma * next[i];
    return norma_claim_normalize_rows(d, d, 1, next);
}

void norma_claim_traces(int64_t d, const double *m, double *cube, double *diagonal)
{
    double square[WIDTH * WIDTH] = {0};
    norma_claim_product(false, false, d, d, d, m, m, square);
    *cube = cblas_ddot((int)(d * d), square, 1, m, 1);
    *diagonal = 0;
    for (int64_t i = 0; i < d; i++)
        *diagonal += square[i * d + i] * square[i * d + i];
}

const int norma_claim_orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {2, 1, 0},
                                      {0, 2, 1}, {1, 2, 0}, {2, 0, 1}};

int64_t norma_claim_draw_shape(norma_claim_random *random, int64_t shape[5])
{
    int64_t n, taps;
    do {
        shape[0] = norma_claim_size(random, 1, 4, 6);
        shape[2] = norma_claim_size(random, 1, 4, 6);
        shape[4] = norma_claim_size(random, 1, 2, 3);
        shape[3] = norma_claim_size(random, 1, 3, 4);
        taps = shape[3] + shape[4] - 1;
        n = shape[0] * shape[2] * taps;
    } while (n > WIDTH || n < 2);
    shape[1] = n;
    return n;
}

double norma_claim_largest(int64_t n, const double *x)
{
    return fabs(x[cblas_idamax((int)n, x, 1)]);
}

bool norma_claim_regular(int64_t n, const double *a)
{
    double values[WIDTH];
    if (norma_claim_singular(n, n, a, values) != NORMA_OK)
        return false;
    return values[n - 1] > 1e-4 * values[0];
}
