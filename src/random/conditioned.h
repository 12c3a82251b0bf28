#ifndef NORMA_RANDOM_CONDITIONED_H
#define NORMA_RANDOM_CONDITIONED_H
/*
 * The well-conditioned features of RF section 3, for any kernel split: feature J belongs to one
 * weight I = (i, j, k) of the composite kernel (output channel, input channel, position;
 * row-major), and the pair's taps p + q = k are the largest p that W2 has and the rest.
 *
 *     id-cond       W1[J, j, q] = W2[i, J, p] = 1, else 0: the feature matrix is the identity
 *     id-cond-min   one feature for the first weights (i, 0, 0) of all outputs together, the others
 *                   as above: n - c2 + 1 features, for the min rule
 *     ortho-cond    W1[J, ., q] = row j of U1, W2[., J, p] = column i of U2, Haar matrices of order
 *                   c0 and c2: the feature matrix is orthogonal
 */
#include "src/random/tensor_spec.h"

typedef struct norma_conditioned norma_conditioned;

/* NORMA_CONFIG when the spec has no pair, or more features than the law. */
NORMA_MUST_USE norma_status norma_conditioned_check(const norma_tensor_spec *spec);

/* For a spec that was checked, which is borrowed. Caller owns *out. */
NORMA_MUST_USE norma_status norma_conditioned_create(const norma_tensor_spec *spec,
                                                     norma_conditioned **out);

/* out[count][n_channels * n_taps] = rows first .. first + count - 1. Reentrant. */
void norma_conditioned_fill(const norma_conditioned *law, int64_t first, int64_t count,
                            double *out);

/* Frees and nulls; NULL is allowed. */
void norma_conditioned_destroy(norma_conditioned **law);

#endif
