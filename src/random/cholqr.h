#ifndef NORMA_RANDOM_CHOLQR_H
#define NORMA_RANDOM_CHOLQR_H
/*
 * Reproducible Cholesky QR of a tall matrix that nobody stores.
 *
 * A [n_items * n_per_item][n] comes from a source, item by item, as often as asked. X = A R^-1 with
 * R'R = A'A has orthonormal columns up to the condition of A; the same once more on X makes them
 * orthonormal to rounding (CholeskyQR2; Yamamoto et al. 2015). Should A be so near to singular that
 * a pivot drowns in rounding, the Gram matrix is shifted and further passes follow (shifted
 * CholeskyQR3; Fukaya et al. 2020). The diagonal of R is positive, so that X of a Gaussian A is
 * Haar distributed.
 *
 * Gram matrices are summed over blocks of 64 rows, 64 blocks to a group, groups in order; the
 * factor is made by plain scalar code. The result therefore depends on A alone: any rank that holds
 * the factors makes any rows of X with the same bits.
 */
#include "src/base/status.h"

#include <stdint.h>

/* Writes items first .. first + count - 1 of A as out[count][n][n_per_item]: entry [i][p] of an
 * item is column i of its row p. */
typedef void (*norma_cholqr_source)(const void *context, int64_t first, int64_t count, double *out);

typedef struct norma_cholqr norma_cholqr;

/* Makes the triangular factors of A; n_items * n_per_item >= n >= 1. Reads the source two times
 * (or a few more, see above). NORMA_NUMERIC when A has no full column rank or is not finite.
 * Caller owns *out. */
NORMA_MUST_USE norma_status norma_cholqr_create(int64_t n_items, int64_t n_per_item, int64_t n,
                                                norma_cholqr_source source, const void *context,
                                                norma_cholqr **out);

/* Turns an item of A, x[n][n_per_item], into the item of X, in place. Reentrant. */
void norma_cholqr_apply(const norma_cholqr *cholqr, double *x);

/* Triangular factors held: 2 unless A is close to singular. */
int norma_cholqr_n_factors(const norma_cholqr *cholqr);

/* Frees and nulls; NULL is allowed. */
void norma_cholqr_destroy(norma_cholqr **cholqr);

#endif
