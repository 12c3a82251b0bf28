#include "src/chain/frame.h"

#include "src/base/index.h"
#include "src/base/mem_place.h"
#include "src/chain/lapack.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define LN2 0.69314718055994530942

static norma_chain_frame shape_of(int64_t d, int64_t n, bool centered)
{
    const int64_t k = centered ? n - 1 : n;
    return (norma_chain_frame){
        .d = d, .n = n, .k = k, .centered = centered, .n_work = 64 * (k + 1) + d};
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_chain_frame *frame, double *bytes)
{
    const int64_t d = frame->d, k = frame->k;
    NORMA_TRY(NORMA_PLACE(frame->q, d * k, bytes));
    NORMA_TRY(NORMA_PLACE(frame->y, d * k, bytes));
    NORMA_TRY(NORMA_PLACE(frame->inverse, k * k, bytes));
    NORMA_TRY(NORMA_PLACE(frame->log_sums, k, bytes));
    NORMA_TRY(NORMA_PLACE(frame->tau, k, bytes));
    NORMA_TRY(NORMA_PLACE(frame->copy, k * k, bytes));
    NORMA_TRY(NORMA_PLACE(frame->singular_values, k, bytes));
    return NORMA_PLACE(frame->work, frame->n_work, bytes);
}

norma_status norma_chain_frame_measure(int64_t d, int64_t n, bool centered, double *bytes,
                                       int64_t *state_count)
{
    norma_chain_frame frame = shape_of(d, n, centered);
    *state_count = norma_chain_frame_state_count(&frame);
    return place(&frame, bytes);
}

norma_status norma_chain_frame_create(int64_t d, int64_t n, bool centered, norma_chain_frame **out)
{
    norma_status status = NORMA_OK;
    norma_chain_frame *frame = NULL;
    NORMA_GOTO(status, NORMA_CALLOC(frame, 1));
    *frame = shape_of(d, n, centered);
    NORMA_GOTO(status, place(frame, NULL));
    *out = frame;
    return NORMA_OK;
done:
    norma_chain_frame_destroy(&frame);
    return status;
}

void norma_chain_frame_destroy(norma_chain_frame **frame)
{
    if (*frame) {
        NORMA_FREE((*frame)->q);
        NORMA_FREE((*frame)->y);
        NORMA_FREE((*frame)->inverse);
        NORMA_FREE((*frame)->log_sums);
        NORMA_FREE((*frame)->tau);
        NORMA_FREE((*frame)->copy);
        NORMA_FREE((*frame)->singular_values);
        NORMA_FREE((*frame)->work);
        NORMA_FREE(*frame);
    }
}

/* y = Q R: q = Q, and copy = R (upper, column-major) with a positive diagonal. */
static norma_status factor(norma_chain_frame *frame)
{
    const int64_t d = frame->d, k = frame->k;
    int rows = (int)d, columns = (int)k, info = 0, lwork = 0;
    NORMA_TRY(norma_index_to_int(frame->n_work, "QR workspace", &lwork));
    memcpy(frame->q, frame->y, (size_t)(d * k) * sizeof *frame->q);
    dgeqrf_(&rows, &columns, frame->q, &rows, frame->tau, frame->work, &lwork, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "DGEQRF returned %d", info);
    memset(frame->copy, 0, (size_t)(k * k) * sizeof *frame->copy);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i <= j; i++)
            frame->copy[i + j * k] =
                frame->q[i + i * d] < 0 ? -frame->q[i + j * d] : frame->q[i + j * d];
    for (int64_t j = 0; j < k;
         j++) /* signs of the columns of Q, read before they are overwritten */
        frame->singular_values[j] = frame->q[j + j * d] < 0 ? -1 : 1;
    dorgqr_(&rows, &columns, &columns, frame->q, &rows, frame->tau, frame->work, &lwork, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "DORGQR returned %d", info);
    for (int64_t j = 0; j < k; j++)
        if (frame->singular_values[j] < 0)
            cblas_dscal(rows, -1, frame->q + j * d, 1);
    return NORMA_OK;
}

/* X = X R^(-1), its largest element brought near 1 by a power of two. */
static void divide_inverse(norma_chain_frame *frame)
{
    const int k = (int)frame->k;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, k, k, 1,
                frame->copy, k, frame->inverse, k);
    double largest = 0;
    for (int64_t i = 0; i < frame->k * frame->k; i++)
        largest = fmax(largest, fabs(frame->inverse[i]));
    if (largest > 0 && isfinite(largest) && (largest > 0x1p64 || largest < 0x1p-64)) {
        int shift = ilogb(largest);
        cblas_dscal(k * k, ldexp(1, -shift), frame->inverse, 1);
        frame->log_scale += shift * LN2;
    }
}

/* y = H_0 on its own columns, or on Helmert's basis of the complement of the ones. */
static void take_columns(norma_chain_frame *frame, const double *h)
{
    const int64_t d = frame->d, n = frame->n;
    for (int64_t i = 0; i < d; i++) {
        double sum = 0;
        for (int64_t j = 0; j < frame->k; j++) {
            double value = h[i * n + j];
            if (frame->centered) {
                sum += h[i * n + j];
                double m = (double)(j + 1);
                value = (sum - m * h[i * n + j + 1]) / sqrt(m * (m + 1));
            }
            frame->y[i + j * d] = value;
        }
    }
}

norma_status norma_chain_frame_start(norma_chain_frame *frame, const double *h, int64_t exponent)
{
    const int64_t k = frame->k;
    take_columns(frame, h);
    NORMA_TRY(factor(frame));
    memset(frame->inverse, 0, (size_t)(k * k) * sizeof *frame->inverse);
    memset(frame->log_sums, 0, (size_t)k * sizeof *frame->log_sums);
    frame->n_layers = 0;
    frame->log_scale = -(double)exponent * LN2;
    frame->singular = false;
    double largest = 0;
    for (int64_t j = 0; j < k; j++)
        largest = fmax(largest, frame->copy[j + j * k]);
    for (int64_t j = 0; j < k; j++) {
        frame->inverse[j + j * k] = 1;
        if (!(frame->copy[j + j * k] > (double)frame->d * DBL_EPSILON * largest))
            frame->singular = true;
    }
    if (!frame->singular)
        divide_inverse(frame);
    return NORMA_OK;
}

norma_status norma_chain_frame_advance(norma_chain_frame *frame, const double *row_factor,
                                       int64_t exponent)
{
    const int64_t d = frame->d, k = frame->k;
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < d; i++)
            frame->y[i + j * d] *= row_factor[i];
    NORMA_TRY(factor(frame));
    for (int64_t j = 0; j < k; j++) {
        double r = frame->copy[j + j * k];
        if (!(r > 0) || !isfinite(r))
            return NORMA_FAIL(NORMA_NUMERIC, "the frame of Lyapunov exponents lost column %lld",
                              (long long)j);
        frame->log_sums[j] += log(r) + (double)exponent * LN2;
    }
    frame->n_layers++;
    frame->log_scale -= (double)exponent * LN2;
    if (!frame->singular)
        divide_inverse(frame);
    return NORMA_OK;
}

norma_status norma_chain_frame_log_sigma_min(norma_chain_frame *frame, double *out)
{
    int k = (int)frame->k, info = 0, one = 1, lwork = (int)frame->n_work;
    double unused = 0;
    *out = -INFINITY;
    if (frame->singular)
        return NORMA_OK;
    memcpy(frame->copy, frame->inverse, (size_t)(frame->k * frame->k) * sizeof *frame->copy);
    dgesvd_("N", "N", &k, &k, frame->copy, &k, frame->singular_values, &unused, &one, &unused, &one,
            frame->work, &lwork, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "DGESVD returned %d for log_sigma_min", info);
    *out = -(log(frame->singular_values[0]) + frame->log_scale);
    return NORMA_OK;
}

int64_t norma_chain_frame_state_count(const norma_chain_frame *frame)
{
    return frame->d * frame->k + frame->k * frame->k + frame->k + 3;
}

void norma_chain_frame_get_state(const norma_chain_frame *frame, double *out)
{
    int64_t n_q = frame->d * frame->k, n_x = frame->k * frame->k;
    memcpy(out, frame->q, (size_t)n_q * sizeof *out);
    memcpy(out + n_q, frame->inverse, (size_t)n_x * sizeof *out);
    memcpy(out + n_q + n_x, frame->log_sums, (size_t)frame->k * sizeof *out);
    out += n_q + n_x + frame->k;
    out[0] = (double)frame->n_layers;
    out[1] = frame->log_scale;
    out[2] = frame->singular ? 1 : 0;
}

void norma_chain_frame_set_state(norma_chain_frame *frame, const double *state)
{
    int64_t n_q = frame->d * frame->k, n_x = frame->k * frame->k;
    memcpy(frame->q, state, (size_t)n_q * sizeof *state);
    memcpy(frame->inverse, state + n_q, (size_t)n_x * sizeof *state);
    memcpy(frame->log_sums, state + n_q + n_x, (size_t)frame->k * sizeof *state);
    state += n_q + n_x + frame->k;
    frame->n_layers = (int64_t)state[0];
    frame->log_scale = state[1];
    frame->singular = state[2] != 0;
}
