#ifndef NORMA_CHAIN_FRAME_H
#define NORMA_CHAIN_FRAME_H
/*
 * Internal to src/chain: an orthonormal frame Q (d x k) carried through a linear chain,
 *
 *     D_l (W_l or I + g W_l) Q_l = Q_(l+1) R_(l+1),      H_l = Q_l T_l,  T_l = R_l .. R_1 R_0,
 *
 * D_l the row factors of the normalization. The logarithms of R's diagonal add up to Lyapunov
 * exponents; X_l = T_l^(-1), kept with its scale aside, gives log sigma_min(H_l) = -log ||X_l||_2
 * however far it lies below the rounding of H. Centred chains act on the complement of the vector
 * of ones: k = N - 1 there and H_0 is taken on a basis of it.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_chain_frame {
    int64_t d, n, k;
    bool centered;
    double *q;        /* column-major [d, k] */
    double *y;        /* column-major [d, k]: what the product makes of q */
    double *inverse;  /* X, column-major [k, k] */
    double *log_sums; /* [k] of log R_jj */
    int64_t n_layers; /* in the sums */
    double log_scale; /* log of the factor taken out of X */
    bool singular;    /* H_0 had no full rank */
    double *tau, *copy, *singular_values, *work;
    int64_t n_work;
} norma_chain_frame;

/* Caller owns *out. */
NORMA_MUST_USE norma_status norma_chain_frame_create(int64_t d, int64_t n, bool centered,
                                                     norma_chain_frame **out);
void norma_chain_frame_destroy(norma_chain_frame **frame);

/* Adds the bytes that such a frame allocates to *bytes; *state_count = numbers of its state.
 * Allocates nothing. */
NORMA_MUST_USE norma_status norma_chain_frame_measure(int64_t d, int64_t n, bool centered,
                                                      double *bytes, int64_t *state_count);

/* Q_0, R_0 and X_0 from H_0 = h 2^exponent, h row-major [d][n]. */
NORMA_MUST_USE norma_status norma_chain_frame_start(norma_chain_frame *frame, const double *h,
                                                    int64_t exponent);

/* From y to the next frame: rows are scaled by factor[d] 2^exponent, Q and R made anew.
 * NORMA_NUMERIC when a column vanishes. */
NORMA_MUST_USE norma_status norma_chain_frame_advance(norma_chain_frame *frame,
                                                      const double *factor, int64_t exponent);

/* log sigma_min of H; -inf when H_0 was singular. */
NORMA_MUST_USE norma_status norma_chain_frame_log_sigma_min(norma_chain_frame *frame, double *out);

/* Numbers of the state: q, inverse, log_sums and the scalars, as doubles. */
int64_t norma_chain_frame_state_count(const norma_chain_frame *frame);
void norma_chain_frame_get_state(const norma_chain_frame *frame, double *out);
void norma_chain_frame_set_state(norma_chain_frame *frame, const double *state);

#endif
