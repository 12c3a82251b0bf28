#include "src/gradient/weights.h"

#include "src/base/cpu.h"
#include "src/base/index.h"
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
                                          const norma_gradient_share *share, double *bytes)
{
    const int64_t d = spec->width, n = spec->batch;
    prepare(w, spec);
    w->share = share;
    NORMA_TRY(NORMA_PLACE(w->panel, w->panel_rows * d, bytes));
    NORMA_TRY(NORMA_PLACE(w->parts, norma_index_ceil_divide(d, w->panel_rows), bytes));
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
    double **const arrays[] = {&w->panel,  &w->parts,      &w->reflectors, &w->tau, &w->sign,
                               &w->lapack, &w->columns,    &w->triangle,   &w->q,   &w->fresh,
                               &w->image,  &w->complement, &w->small};
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

/* out = alpha a v, plus v with a skip connection, for a block of W, `entries`: a = its whole rows;
 * transposed: a = W', some columns of W, and every block of rows adds its part. */
static void multiply_block(const norma_gradient_weights *w,
                           const norma_chain_block_of_weights *block, const double *entries,
                           bool transposed, const double *v, double alpha, double *out)
{
    const norma_chain_spec *spec = w->spec;
    const int64_t n = spec->batch, length = block->n_columns;
    const bool skip = !isinf(spec->residual), adds = transposed && block->row > 0;
    const int64_t first = transposed ? block->column : block->row;
    const double *from = transposed ? v + block->row * n : v, *skipped = v + first * n;
    const int64_t m = transposed ? length : block->n_rows, k = transposed ? block->n_rows : length;
    double *to = out + first * n;
    if (w->kernels) {
        const norma_lanes_operand a = {entries, transposed ? 1 : length, transposed ? length : 1};
        const norma_lanes_operand b = {from, n, 1};
        w->kernels->product(m, n, k, a, b, alpha, adds ? to : skip ? skipped : NULL, to, 0);
        return;
    }
    if (!adds && skip)
        memcpy(to, skipped, (size_t)(m * n) * sizeof *to);
    cblas_dgemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)m, (int)n,
                (int)k, alpha, entries, (int)length, from, (int)n, adds || skip ? 1 : 0, to,
                (int)n);
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

/* A member of a team takes whole panels of rows; transposed, some columns of all panels. */
static norma_status multiply(norma_gradient_weights *w, bool transposed, const double *v,
                             double *out)
{
    const norma_chain_spec *spec = w->spec;
    const int64_t d = spec->width, unit = transposed ? NORMA_GRADIENT_SHARE_UNIT : w->panel_rows;
    const double alpha = norma_chain_weights_factor(spec) * norma_gradient_weights_strength(spec);
    norma_chain_block_of_weights block = {.n_columns = d};
    int64_t first = 0;
    if (w->haar)
        return multiply_haar(w, transposed, v, out);
    const int64_t count = norma_gradient_share_part(w->share, d, unit, &first);
    const int64_t end = transposed ? d : first + count;
    block.row = transposed ? 0 : first;
    if (transposed) {
        block.column = first;
        block.n_columns = count;
    }
    for (; block.row < end && count > 0; block.row += w->panel_rows) {
        block.n_rows = end - block.row < w->panel_rows ? end - block.row : w->panel_rows;
        if (!w->kept)
            norma_chain_weights_block(spec, &w->draw, &block, w->panel);
        multiply_block(w, &block, w->kept ? w->kept + block.row * d : w->panel, transposed, v,
                       alpha, out);
    }
    norma_gradient_share_collect(w->share, d, unit, spec->batch, out);
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

/* Sum of squares of scale a b'; a [rows_a][k], b [rows_b][k], k fast. */
static double panel_square(norma_gradient_weights *w, int64_t rows_a, int64_t rows_b, int64_t k,
                           const double *a, const double *b, double scale)
{
    const int64_t count = rows_a * rows_b;
    double square = 0;
    if (w->kernels) {
        const norma_lanes_operand left = {a, k, 1}, right = {b, 1, k};
        w->kernels->product(rows_a, rows_b, k, left, right, scale, NULL, w->panel, 0);
        w->kernels->dot(count, w->panel, w->panel, &square);
        return square;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows_a, (int)rows_b, (int)k, scale, a,
                (int)k, b, (int)k, 0, w->panel, (int)rows_b);
    for (int64_t i = 0; i < count; i++)
        square += w->panel[i] * w->panel[i];
    return square;
}

/* The same in panels of rows of a, which a team deals out; their sums are added in one order. */
static double product_square(norma_gradient_weights *w, int64_t rows_a, int64_t rows_b, int64_t k,
                             const double *a, const double *b, double scale)
{
    const int64_t most = w->panel_rows * w->spec->width / rows_b;
    const int64_t step = most < rows_a ? most : rows_a;
    const int64_t n_panels = norma_index_ceil_divide(rows_a, step);
    int64_t begin = 0;
    const int64_t n_mine = norma_gradient_share_part(w->share, n_panels, 1, &begin);
    double square = 0;
    for (int64_t p = begin; p < begin + n_mine; p++) {
        int64_t first = p * step, rows = rows_a - first < step ? rows_a - first : step;
        w->parts[p] = panel_square(w, rows, rows_b, k, a + first * k, b, scale);
    }
    norma_gradient_share_collect(w->share, n_panels, 1, 1, w->parts);
    for (int64_t p = 0; p < n_panels; p++)
        square += w->parts[p];
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
        NORMA_TRY(norma_gradient_share_agree(w->share, make_triangle(w, h)));
    double square = product_square(w, d, w->thin ? n : d, n, v, w->thin ? w->triangle : h, scale);
    *norm = norma_gradient_weights_strength(w->spec) * sqrt(square);
    return NORMA_OK;
}
