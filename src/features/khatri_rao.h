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

#include <stdbool.h>
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

/* Where the weights of a range of features come from. */
typedef struct norma_khatri_rao_source {
    /* first[count][c0 |K1|] and second[count][c2 |K2|] = weights of features start .. start +
     * count - 1; the same numbers whenever asked. Reentrant: called by several threads at once. */
    void (*fill)(const void *context, int64_t start, int64_t count, double *first, double *second);
    const void *context; /* borrowed; must outlive what is made from it */
} norma_khatri_rao_source;

/* How products are computed. Zeros are the defaults. */
typedef struct norma_khatri_rao_mode {
    bool single;      /* weights and products in single precision, vectors in double all the same */
    bool regenerated; /* weights are asked for again in every product, and not stored */
    /* Powers of two that the weights of a layer are divided by in single precision, so that their
     * largest is near 1 (0: 1). Nothing of it is seen in results. */
    double unit_first, unit_second;
} norma_khatri_rao_mode;

typedef struct norma_khatri_rao norma_khatri_rao;

/* The n_features columns that `source` gives. Products run on as many threads as OpenMP offers now,
 * with the instruction set in use now (src/base/cpu.h), and have the same bits in every run with
 * those, weights stored or regenerated. Owns all it uses: no product allocates. Caller owns *out.
 */
NORMA_MUST_USE norma_status norma_khatri_rao_create(const norma_khatri_rao_shape *shape,
                                                    int64_t n_features,
                                                    const norma_khatri_rao_source *source,
                                                    const norma_khatri_rao_mode *mode,
                                                    norma_khatri_rao **out);

/* Bytes that norma_khatri_rao_create allocates, with the threads and instruction set of now. */
double norma_khatri_rao_bytes(const norma_khatri_rao_shape *shape, int64_t n_features,
                              const norma_khatri_rao_mode *mode);

/* Weights of features start .. start + count - 1, stored ones from the store: as
 * norma_khatri_rao_source.fill, with the norma_khatri_rao as context. Of single precision: rounded
 * and divided by the units. */
void norma_khatri_rao_read(const void *context, int64_t start, int64_t count, double *first,
                           double *second);

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
