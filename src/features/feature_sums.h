#ifndef NORMA_FEATURES_FEATURE_SUMS_H
#define NORMA_FEATURES_FEATURE_SUMS_H
/*
 * Sums of even powers of the singular values of M, exact but for rounding and without any
 * eigenvalue: the check of all methods that find singular values.
 *
 *     sum s^2 = tr M'M,   sum s^4 = ||M'M||_F^2
 *
 * M'M comes from the source layers: with A_d = sum_p W2_p' W2_(p+d) and B_d = sum_q W1_q W1_(q+d)'
 * it is the sum over d of A_d o B_(-d), o entry by entry (one term where K1 = 1 or K2 = 1). The min
 * rule adds sum_i (R_i p_i p_i' - p_i v_i' - v_i p_i'), p_i the pivot's row of KR, v_i = sum_I r_I
 * KR_I, R_i = sum_I r_I^2, over the entries I of output channel i, its pivot included.
 */
#include "src/base/status.h"
#include "src/features/width_rule.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_feature_sums {
    double squares; /* of the singular values */
    double fourths; /* their fourth powers; 0 unless asked for */
} norma_feature_sums;

/* Flops of the fourth powers, in all parts together. */
double norma_feature_sums_flops(const norma_khatri_rao_shape *shape, int64_t n_features);

/* Part `part` of n_parts of both sums over n_features features, whose weights `source` gives: the
 * parts' results add up to the sums. Uses the threads of BLAS. */
NORMA_MUST_USE norma_status norma_feature_sums_compute(const norma_width_rule *rule,
                                                       const norma_khatri_rao_source *source,
                                                       int64_t n_features, bool fourths, int part,
                                                       int n_parts, norma_feature_sums *out);

/* Bytes that it allocates. */
double norma_feature_sums_bytes(const norma_khatri_rao_shape *shape);

#endif
