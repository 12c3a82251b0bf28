#ifndef NORMA_FEATURES_KHATRI_RAO_H
#define NORMA_FEATURES_KHATRI_RAO_H
/*
 * The feature matrix KR and its structured products (CNN24 section 2.2).
 *
 *     KR[(i,j,k), J] = sum over p + q = k of W2[i,J,p] * W1[J,j,q]
 *
 * Rows (i, j, k): output channel, input channel, composite position, row-major, n = c2 c0 |K| of
 * them. Columns J: features. KR is never stored. With A[J][(i,p)] = W2[i,J,p] and B[J][(j,q)] =
 * W1[J,j,q], KR g is a scatter of the small product A' diag(g) B, and KR' r the row-wise inner
 * product of A R with B, R[(i,p)][(j,q)] = r[i,j,p+q]: matrix-matrix products throughout, 2 n
 * flops a feature where K1 = 1 or K2 = 1.
 */
#include "src/base/status.h"
#include "src/features/kernel.h"

#include <stdint.h>

typedef struct norma_khatri_rao_shape {
    norma_kernel kernel;
    int64_t n_channels_out; /* c2 */
    int64_t n_channels_in;  /* c0 */
} norma_khatri_rao_shape;

/* Checks that channels are positive and n fits 64 bits with room for products (n <= 2^40);
 * NORMA_CONFIG or NORMA_LIMIT otherwise. */
NORMA_MUST_USE norma_status norma_khatri_rao_check(const norma_khatri_rao_shape *shape);

/* n = c2 c0 |K|, the rows of KR. */
int64_t norma_khatri_rao_n_rows(const norma_khatri_rao_shape *shape);

/* Numbers a feature has in the first layer, c0 |K1|, and in the second, c2 |K2|. */
int64_t norma_khatri_rao_width_first(const norma_khatri_rao_shape *shape);
int64_t norma_khatri_rao_width_second(const norma_khatri_rao_shape *shape);

/* Flops of one product of KR, or of its transpose, with n_features columns. */
double norma_khatri_rao_flops(const norma_khatri_rao_shape *shape, int64_t n_features);

/* out[count] = entries start .. start + count - 1 of the c0 |K| ones (j, k) that column J has for
 * output channel i. `second` [c2][|K2|] and `first` [c0][|K1|] are the feature's weights. Sums
 * over p in increasing order, so that equal weights give equal bits whatever the range. Reentrant.
 */
void norma_khatri_rao_fill(const norma_khatri_rao_shape *shape, const double *second,
                           const double *first, int64_t i, int64_t start, int64_t count,
                           double *out);

typedef struct norma_khatri_rao norma_khatri_rao;

/* Room for n_features columns; the weights are undefined until the caller writes them through the
 * two functions below. Products run on as many threads as OpenMP offers now, and have the same bits
 * in every run on that many. Owns all it uses: no product allocates. Caller owns *out. */
NORMA_MUST_USE norma_status norma_khatri_rao_create(const norma_khatri_rao_shape *shape,
                                                    int64_t n_features, norma_khatri_rao **out);

/* Bytes that norma_khatri_rao_create allocates, with the threads of now. */
double norma_khatri_rao_bytes(const norma_khatri_rao_shape *shape, int64_t n_features);

/* The weights, to be written once: [n_features][c0 |K1|] and [n_features][c2 |K2|]. Borrowed. */
double *norma_khatri_rao_first(norma_khatri_rao *kr);
double *norma_khatri_rao_second(norma_khatri_rao *kr);

int64_t norma_khatri_rao_n_features(const norma_khatri_rao *kr);

/* y[n] = KR g, g[n_features]. */
void norma_khatri_rao_apply(norma_khatri_rao *kr, const double *g, double *y);

/* x[n_features] = KR' r, r[n]. */
void norma_khatri_rao_apply_transpose(norma_khatri_rao *kr, const double *r, double *x);

/* One pass over the features: x <- KR' r + shift + keep x, then y = KR x; x[n_features], r[n],
 * y[n]. With keep = 0 x is not read. r and y may be the same array. */
void norma_khatri_rao_apply_both(norma_khatri_rao *kr, const double *r, double shift, double keep,
                                 double *x, double *y);

/* Frees and nulls; NULL is allowed. */
void norma_khatri_rao_destroy(norma_khatri_rao **kr);

#endif
