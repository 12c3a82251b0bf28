#include "src/gradient/weights.h"

#include "src/base/cpu.h"
#include "src/base/mem_place.h"
#include "src/chain/lapack.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Bytes of a panel of W, and its least rows, as in src/chain. */
#define PANEL_BYTES ((int64_t)1 << 18)
#define PANEL_LEAST_ROWS 128

/* The norm of V H' goes through R from this ratio of d to N on. */
#define THIN_RATIO 8

double norma_gradient_weights_strength(const norma_chain_spec *spec)
{
    return isinf(spec->residual) ? 1 : spec->residual;
}

static void prepare(norma_gradient_weights *w, const norma_chain_spec *spec)
{
    const int64_t d = spec->width, n = spec->batch, longest = d > n ? d : n;
    const int64_t most =
        norma_cpu_isa() == NORMA_ISA_SCALAR ? NORMA_LANES_MAX_SIZE : NORMA_SOLO_MAX_SIZE;
    const int64_t rows = PANEL_BYTES / (d * (int64_t)sizeof(double)) / 4 * 4;
    w->spec = spec;
    w->exact = spec->law == NORMA_CHAIN_LAW_EXACT;
    w->haar = norma_law_get(spec->weights)->source == NORMA_LAW_HAAR;
    w->thin = THIN_RATIO * n <= d;
    w->kernels = longest <= most ? norma_lanes_get_solo() : NULL;
    w->panel_rows = rows < PANEL_LEAST_ROWS ? PANEL_LEAST_ROWS : rows;
    if (w->panel_rows > d)
        w->panel_rows = d;
    w->n_lapack = 128 * longest + 4160;
}

norma_status norma_gradient_weights_place(norma_gradient_weights *w, const norma_chain_spec *spec,
                                          double *bytes)
{
    const int64_t d = spec->width, n = spec->batch;
    prepare(w, spec);
    NORMA_TRY(NORMA_PLACE(w->panel, w->panel_rows * d, bytes));
    if (w->haar || w->exact || w->thin) {
        NORMA_TRY(NORMA_PLACE(w->tau, d, bytes));
        NORMA_TRY(NORMA_PLACE(w->lapack, w->n_lapack, bytes));
    }
    if (w->exact || w->thin) {
        NORMA_TRY(NORMA_PLACE(w->columns, d * n, bytes));
        NORMA_TRY(NORMA_PLACE(w->triangle, n * n, bytes));
    }
    if (w->haar || w->exact)
        NORMA_TRY(NORMA_PLACE(w->sign, d, bytes));
    if (w->haar)
        NORMA_TRY(NORMA_PLACE(w->reflectors, d * (w->exact ? n : d), bytes));
    if (!w->exact)
        return NORMA_OK;
    NORMA_TRY(NORMA_PLACE(w->q, d * n, bytes));
    NORMA_TRY(NORMA_PLACE(w->fresh, d * n, bytes));
    NORMA_TRY(NORMA_PLACE(w->image, d * n, bytes));
    if (w->haar)
        NORMA_TRY(NORMA_PLACE(w->complement, d * n, bytes));
    return NORMA_PLACE(w->small, n * n, bytes);
}

void norma_gradient_weights_clear(norma_gradient_weights *w)
{
    double **const arrays[] = {&w->panel,  &w->reflectors, &w->tau,        &w->sign,
                               &w->lapack, &w->columns,    &w->triangle,   &w->q,
                               &w->fresh,  &w->image,      &w->complement, &w->small};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        NORMA_FREE(*arrays[i]);
}

norma_status norma_gradient_qr(norma_gradient_weights *w, int64_t rows, int64_t columns, double *x)
{
    int m = (int)rows, n = (int)columns, info = 0, lwork = (int)w->n_lapack;
    dgeqrf_(&m, &n, x, &m, w->tau, w->lapack, &lwork, &info);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "DGEQRF returned %d", info);
}

norma_status norma_gradient_reflect(norma_gradient_weights *w, int64_t k, bool transposed,
                                    int64_t columns, double *x)
{
    int d = (int)w->spec->width, n = (int)columns, n_reflectors = (int)k, info = 0;
    int lwork = (int)w->n_lapack;
    for (int64_t i = 0; !transposed && i < k; i++)
        cblas_dscal(n, w->sign[i], x + i * columns, 1);
    dormqr_("R", transposed ? "N" : "T", &n, &d, &n_reflectors, w->reflectors, &d, w->tau, x, &n,
            w->lapack, &lwork, &info);
    for (int64_t i = 0; transposed && i < k; i++)
        cblas_dscal(n, w->sign[i], x + i * columns, 1);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "DORMQR returned %d", info);
}

/* out = alpha a v, plus v with a skip connection, for a panel of rows first .. first + rows - 1 of
 * W; transposed: a = W', and every panel adds its part. */
static void multiply_panel(const norma_gradient_weights *w, int64_t first, int64_t rows,
                           bool transposed, const double *v, double alpha, double *out)
{
    const norma_chain_spec *spec = w->spec;
    const int64_t d = spec->width, n = spec->batch;
    const bool skip = !isinf(spec->residual), adds = transposed && first > 0;
    const double *from = transposed ? v + first * n : v;
    double *to = transposed ? out : out + first * n;
    const int64_t m = transposed ? d : rows, k = transposed ? rows : d;
    if (w->kernels) {
        const norma_lanes_operand a = {w->panel, transposed ? 1 : d, transposed ? d : 1};
        const norma_lanes_operand b = {from, n, 1};
        const double *skipped = transposed ? v : v + first * n;
        w->kernels->product(m, n, k, a, b, alpha, adds ? to : skip ? skipped : NULL, to, 0);
        return;
    }
    if (!adds && skip)
        memcpy(to, transposed ? v : v + first * n, (size_t)(m * n) * sizeof *to);
    cblas_dgemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)m, (int)n,
                (int)k, alpha, w->panel, (int)d, from, (int)n, adds || skip ? 1 : 0, to, (int)n);
}

/* Haar weights, drawn whole. */
static norma_status multiply_haar(norma_gradient_weights *w, bool transposed, const double *v,
                                  double *out)
{
    const norma_chain_spec *spec = w->spec;
    const int64_t d = spec->width, n = spec->batch;
    const double alpha = norma_gradient_weights_strength(spec);
    norma_chain_weights_reflectors(&w->draw, NORMA_CHAIN_TENSOR_WEIGHTS, d, d, w->reflectors,
                                   w->tau, w->sign);
    memcpy(out, v, (size_t)(d * n) * sizeof *out);
    NORMA_TRY(norma_gradient_reflect(w, d, transposed, n, out));
    for (int64_t k = 0; !isinf(spec->residual) && k < d * n; k++)
        out[k] = alpha * out[k] + v[k];
    return NORMA_OK;
}

static norma_status multiply(norma_gradient_weights *w, bool transposed, const double *v,
                             double *out)
{
    const norma_chain_spec *spec = w->spec;
    const double alpha = norma_chain_weights_factor(spec) * norma_gradient_weights_strength(spec);
    if (w->haar)
        return multiply_haar(w, transposed, v, out);
    for (int64_t first = 0; first < spec->width; first += w->panel_rows) {
        int64_t left = spec->width - first;
        int64_t rows = left < w->panel_rows ? left : w->panel_rows;
        norma_chain_weights_rows(spec, &w->draw, first, rows, w->panel);
        multiply_panel(w, first, rows, transposed, v, alpha, out);
    }
    return NORMA_OK;
}

norma_status norma_gradient_weights_apply(norma_gradient_weights *w, const double *v, double *out)
{
    return multiply(w, false, v, out);
}

norma_status norma_gradient_weights_back(norma_gradient_weights *w, const double *h,
                                         const double *v, double *out)
{
    return w->exact ? norma_gradient_exact_back(w, h, v, out) : multiply(w, true, v, out);
}

/* Sum of squares of scale a b', rows of a at a time; a [rows_a][k], b [rows_b][k], k fast. */
static double product_square(norma_gradient_weights *w, int64_t rows_a, int64_t rows_b, int64_t k,
                             const double *a, const double *b, double scale)
{
    const int64_t most = w->panel_rows * w->spec->width / rows_b;
    const int64_t step = most < rows_a ? most : rows_a;
    double square = 0;
    for (int64_t first = 0; first < rows_a; first += step) {
        int64_t rows = rows_a - first < step ? rows_a - first : step, count = rows * rows_b;
        double part = 0;
        const double *from = a + first * k;
        if (w->kernels) {
            const norma_lanes_operand left = {from, k, 1}, right = {b, 1, k};
            w->kernels->product(rows, rows_b, k, left, right, scale, NULL, w->panel, 0);
            w->kernels->dot(count, w->panel, w->panel, &part);
        } else {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)rows_b, (int)k,
                        scale, from, (int)k, b, (int)k, 0, w->panel, (int)rows_b);
            for (int64_t i = 0; i < count; i++)
                part += w->panel[i] * w->panel[i];
        }
        square += part;
    }
    return square;
}

/* triangle[N][N], row-major = R of h = Q R. */
static norma_status make_triangle(norma_gradient_weights *w, const double *h)
{
    const int64_t d = w->spec->width, n = w->spec->batch;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            w->columns[i + j * d] = h[i * n + j];
    NORMA_TRY(norma_gradient_qr(w, d, n, w->columns));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            w->triangle[i * n + j] = j < i ? 0 : w->columns[i + j * d];
    return NORMA_OK;
}

norma_status norma_gradient_weights_norm(norma_gradient_weights *w, const double *v,
                                         const double *h, int shift, double *norm)
{
    const int64_t d = w->spec->width, n = w->spec->batch;
    const double scale = ldexp(1, shift);
    if (w->thin)
        NORMA_TRY(make_triangle(w, h));
    double square = product_square(w, d, w->thin ? n : d, n, v, w->thin ? w->triangle : h, scale);
    *norm = norma_gradient_weights_strength(w->spec) * sqrt(square);
    return NORMA_OK;
}
