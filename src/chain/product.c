#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/chain/chain_state.h"
#include "src/chain/lapack.h"
#include "src/chain/single.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* Below this ratio of the smallest to the largest pivot, R is not taken from H^T H: its relative
 * error there is the rounding over the ratio's square. */
#define CHOLESKY_RATIO 0.03

/* The place for the panel of W that begins with row `first`. */
static double *get_panel(const norma_chain *chain, int64_t first)
{
    return chain->kept_weights ? chain->kept_weights + first * chain->spec.width : chain->panel;
}

/* Rows first .. first + count - 1 of z = alpha W h + beta h by the kernels of small matrices. */
static void multiply_small(norma_chain *chain, int64_t first, int64_t count, double alpha,
                           double beta)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t d = spec->width, n = spec->batch;
    const norma_lanes_operand b = {chain->h, n, 1};
    const double *skip = beta == 0 ? NULL : chain->h;
    for (int64_t end = first + count; first < end; first += chain->panel_rows) {
        int64_t rows = end - first < chain->panel_rows ? end - first : chain->panel_rows;
        int64_t at = first * n * chain->lanes;
        double *panel = get_panel(chain, first);
        const norma_lanes_operand a = {panel, d, 1};
        if (chain->lanes > 1)
            norma_chain_weights_lanes(spec, &chain->draw, first, rows, chain->lanes, panel);
        else
            norma_chain_weights_rows(spec, &chain->draw, first, rows, panel);
        chain->kernels->product(rows, n, d, a, b, alpha, skip ? skip + at : NULL, chain->z + at, 0);
    }
}

/* Rows first .. first + count - 1 of W, drawn a panel at a time, times h; y likewise for the frame.
 */
static void multiply_rows(norma_chain *chain, int64_t first, int64_t count, double alpha,
                          double beta)
{
    const norma_chain_spec *spec = &chain->spec;
    const int d = (int)spec->width, n = (int)spec->batch;
    norma_chain_frame *frame = chain->frame;
    if (spec->single) {
        norma_chain_single_multiply(chain, first, count, alpha, beta);
        return;
    }
    if (chain->kernels) {
        multiply_small(chain, first, count, alpha, beta);
        return;
    }
    for (int64_t end = first + count; first < end; first += chain->panel_rows) {
        int rows = (int)(end - first < chain->panel_rows ? end - first : chain->panel_rows);
        double *panel = get_panel(chain, first);
        norma_chain_weights_rows(spec, &chain->draw, first, rows, panel);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n, d, alpha, panel, d,
                    chain->h, n, beta, chain->z + first * n, n);
        if (frame)
            cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, rows, (int)frame->k, d, alpha,
                        panel, d, frame->q, d, beta, frame->y + first, d);
    }
}

/* A team's member takes whole panels, so that every product is the one of a chain alone. */
static int64_t rows_of_member(const norma_chain *chain, int member, int64_t *first)
{
    const int64_t d = chain->spec.width, rows = chain->panel_rows;
    int64_t n =
        norma_index_share(norma_index_ceil_divide(d, rows), chain->team->size, member, first);
    int64_t end = (*first + n) * rows;
    *first *= rows;
    return (end < d ? end : d) - *first;
}

static void multiply_panels(norma_chain *chain, double alpha, double beta)
{
    const norma_chain_team *team = chain->team;
    int64_t first = 0;
    if (!team) {
        multiply_rows(chain, 0, chain->spec.width, alpha, beta);
        return;
    }
    int64_t count = rows_of_member(chain, team->rank, &first);
    multiply_rows(chain, first, count, alpha, beta);
    for (int member = 0; member < team->size; member++) {
        count = rows_of_member(chain, member, &first);
        if (count > 0)
            team->broadcast(team->context, member, count * chain->spec.batch,
                            chain->z + first * chain->spec.batch);
    }
}

/* x[d][columns] (row-major) = W x for Haar W held as reflectors. */
static norma_status apply_reflectors(norma_chain *chain, int64_t count, int columns, double *x)
{
    int d = (int)chain->spec.width, k = (int)count, info = 0, lwork = (int)chain->n_lapack;
    for (int64_t i = 0; i < count; i++)
        cblas_dscal(columns, chain->sign[i], x + i * columns, 1);
    dormqr_("R", "T", &columns, &d, &k, chain->reflectors, &d, chain->tau, x, &columns,
            chain->lapack, &lwork, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "DORMQR returned %d", info);
    return NORMA_OK;
}

/* z = W h + beta z for Haar weights; y likewise. chain->columns holds the product. */
static norma_status multiply_haar(norma_chain *chain, double alpha, double beta)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch;
    norma_chain_frame *frame = chain->frame;
    double *x = chain->columns;
    norma_chain_weights_reflectors(&chain->draw, NORMA_CHAIN_TENSOR_WEIGHTS, d, d,
                                   chain->reflectors, chain->tau, chain->sign);
    memcpy(x, chain->h, (size_t)(d * n) * sizeof *x);
    NORMA_TRY(apply_reflectors(chain, d, (int)n, x));
    for (int64_t i = 0; i < d * n; i++)
        chain->z[i] = alpha * x[i] + (beta != 0 ? chain->z[i] : 0);
    if (!frame)
        return NORMA_OK;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < frame->k; j++)
            x[i * frame->k + j] = frame->q[i + j * d];
    NORMA_TRY(apply_reflectors(chain, d, (int)frame->k, x));
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < frame->k; j++)
            frame->y[i + j * d] =
                alpha * x[i * frame->k + j] + (beta != 0 ? frame->y[i + j * d] : 0);
    return NORMA_OK;
}

/* R of H = Q R by the Cholesky factor of H^T H; false when that is not accurate enough. */
static bool triangle_by_cholesky(norma_chain *chain)
{
    const int64_t n = chain->spec.batch;
    double *r = chain->triangle;
    double largest = 0;
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)n, (int)chain->spec.width, 1, chain->h,
                (int)n, 0, r, (int)n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            r[i * n + i] -= r[k * n + i] * r[k * n + i];
        double pivot = r[i * n + i] > 0 ? sqrt(r[i * n + i]) : 0;
        largest = fmax(largest, pivot);
        if (!(pivot > CHOLESKY_RATIO * largest))
            return false;
        r[i * n + i] = pivot;
        for (int64_t k = 0; k < i; k++)
            for (int64_t j = i + 1; j < n; j++)
                r[i * n + j] -= r[k * n + i] * r[k * n + j];
        for (int64_t j = i + 1; j < n; j++)
            r[i * n + j] /= pivot;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            r[i * n + j] = 0;
    return true;
}

/* The same by Householder's method, for any H; the diagonal made positive, as above. */
static norma_status triangle_by_qr(norma_chain *chain)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch;
    double *x = chain->columns, *r = chain->triangle;
    int rows = (int)d, columns = (int)n, info = 0, lwork = (int)chain->n_lapack;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            x[i + j * d] = chain->h[i * n + j];
    dgeqrf_(&rows, &columns, x, &rows, chain->tau, chain->lapack, &lwork, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "DGEQRF returned %d", info);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            r[i * n + j] = j < i ? 0 : x[i + i * d] < 0 ? -x[i + j * d] : x[i + j * d];
    return NORMA_OK;
}

/* A uniform frame of k columns, d x k, in place of W Q for Haar W. */
static norma_status draw_frame(norma_chain *chain, int64_t k, double *out)
{
    const int64_t d = chain->spec.width;
    norma_chain_weights_reflectors(&chain->draw, NORMA_CHAIN_TENSOR_EXACT, d, k, chain->reflectors,
                                   chain->tau, chain->sign);
    memset(out, 0, (size_t)(d * k) * sizeof *out);
    for (int64_t i = 0; i < k; i++)
        out[i * k + i] = 1;
    return apply_reflectors(chain, k, (int)k, out);
}

/* H = Q R for any orthonormal Q on whose span H lies: the frame's, with R = Q^T H, where there is
 * one, else that of a QR factorization. W Q is drawn afresh, z = W Q R + beta z. */
static norma_status multiply_exact(norma_chain *chain, double alpha, double beta)
{
    norma_chain_frame *frame = chain->frame;
    const int64_t d = chain->spec.width, n = chain->spec.batch, k = frame ? frame->k : n;
    const double *fresh = chain->panel;
    if (frame)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)k, (int)n, (int)d, 1, frame->q,
                    (int)d, chain->h, (int)n, 0, chain->triangle, (int)n);
    else if (!triangle_by_cholesky(chain))
        NORMA_TRY(triangle_by_qr(chain));
    if (norma_law_get(chain->spec.weights)->source == NORMA_LAW_HAAR)
        NORMA_TRY(draw_frame(chain, k, chain->panel));
    else
        norma_chain_weights_exact(&chain->draw, d, k, chain->panel);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d, (int)n, (int)k, alpha, fresh,
                (int)k, chain->triangle, (int)n, beta, chain->z, (int)n);
    for (int64_t j = 0; frame && j < k; j++)
        for (int64_t i = 0; i < d; i++)
            frame->y[i + j * d] = alpha * fresh[i * k + j] + (beta != 0 ? frame->y[i + j * d] : 0);
    return NORMA_OK;
}

norma_status norma_chain_product(norma_chain *chain)
{
    const norma_chain_spec *spec = &chain->spec;
    const bool skip = !isinf(spec->residual);
    const double alpha = norma_chain_weights_factor(spec) * (skip ? spec->residual : 1);
    const double beta = skip ? 1 : 0;
    if (skip && (!chain->kernels || spec->single)) {
        memcpy(chain->z, chain->h, (size_t)(spec->width * spec->batch) * sizeof *chain->z);
        if (chain->frame)
            memcpy(chain->frame->y, chain->frame->q,
                   (size_t)(spec->width * chain->frame->k) * sizeof *chain->frame->y);
    }
    if (spec->law == NORMA_CHAIN_LAW_EXACT)
        return multiply_exact(chain, alpha, beta);
    if (norma_law_get(spec->weights)->source == NORMA_LAW_HAAR)
        return multiply_haar(chain, alpha, beta);
    multiply_panels(chain, alpha, beta);
    return NORMA_OK;
}
