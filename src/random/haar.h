#ifndef NORMA_RANDOM_HAAR_H
#define NORMA_RANDOM_HAAR_H
/*
 * Haar-distributed orthogonal weights by feature: normals from the counters, made orthonormal by
 * src/random/cholqr.h. As a matrix (out, in), Q'Q = 1 when out >= in, QQ' = 1 otherwise.
 *
 * While the feature axis belongs to the longer side, only triangular factors of the shorter side's
 * size are kept and rows of X are made when asked; otherwise the whole tensor, no larger than the
 * square of the longer side, is kept.
 */
#include "src/base/rng.h"

typedef struct norma_haar norma_haar;

/* A feature is an array [n_columns][n_rows]: column i of its row p. Feature rows and columns form
 * the matrix [n_features * n_rows][n_columns] whose shorter side becomes orthonormal. Reads
 * elements 0 .. n_features * n_rows * n_columns - 1 of the stream, which the caller has checked.
 * Local; caller owns *out. NORMA_NUMERIC when the normals are singular to rounding. */
NORMA_MUST_USE norma_status norma_haar_create(uint64_t seed, const norma_rng_stream *stream,
                                              int64_t n_features, int64_t n_rows, int64_t n_columns,
                                              norma_haar **out);

/* out[count][n_columns][n_rows] = features first .. first + count - 1. Reentrant. */
void norma_haar_fill(const norma_haar *haar, int64_t first, int64_t count, double *out);

/* Frees and nulls; NULL is allowed. */
void norma_haar_destroy(norma_haar **haar);

#endif
