#ifndef NORMA_CHAIN_SINGLE_H
#define NORMA_CHAIN_SINGLE_H
/*
 * Internal to src/chain: chains in single precision. H_l holds numbers of single precision (in h as
 * doubles, in h_single as they are); the entries of W are the double ones rounded; W H is a product
 * in single precision. The factor of W, the skip connection, normalization, activation and all
 * observables are computed in double, then H_(l+1) is rounded.
 */
#include "src/chain/chain_state.h"

/* z = alpha W h + beta z, rows first .. first + count - 1. */
void norma_chain_single_multiply(norma_chain *chain, int64_t first, int64_t count, double alpha,
                                 double beta);

/* Rounds x[d][N] and copies it to h_single; nothing for chains in double. NORMA_NUMERIC when its
 * largest element is not finite or leaves the range in which single precision keeps all digits. */
NORMA_MUST_USE norma_status norma_chain_single_round(norma_chain *chain, double *x);

/* h_single = h, which is rounded already; nothing for chains in double. */
void norma_chain_single_copy(norma_chain *chain);

/* NORMA_NUMERIC when weights GIVEN leave the range of single precision. */
NORMA_MUST_USE norma_status norma_chain_single_check_given(const norma_chain *chain);

/* Relative rounding of a product with d terms, with a margin: deviations below it mean nothing. */
double norma_chain_single_rounding(const norma_chain_spec *spec);

/* Least tolerance of numerical_rank, of the largest singular value. */
double norma_chain_single_rank_tolerance(const norma_chain_spec *spec);

#endif
