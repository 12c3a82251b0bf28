#ifndef NORMA_MPI_LINALG_REPLICATED_H
#define NORMA_MPI_LINALG_REPLICATED_H
/*
 * Vectors that all ranks hold alike, such as those over equations. Sums run in an order that
 * depends on nothing but the length, so that equal vectors give equal bits on every rank (BLAS
 * promises that only for equal thread counts and processors) and branches on them never part the
 * ranks. All functions are local.
 */
#include <stdint.h>

/* a' b over n numbers. */
double norma_replicated_dot_local(const double *a, const double *b, int64_t n);

/* The Euclidean norm of a over n numbers, whose squares must stay within the range of doubles. */
double norma_replicated_norm_local(const double *a, int64_t n);

/* to += factor from, over n numbers. */
void norma_replicated_add_local(double factor, const double *from, double *to, int64_t n);

/* to *= factor, over n numbers. */
void norma_replicated_scale_local(double factor, double *to, int64_t n);

#endif
