#ifndef NORMA_MPI_VALUES_CHASE_H
#define NORMA_MPI_VALUES_CHASE_H
/*
 * Reduction of an upper triangular band to a bidiagonal matrix of the same singular values, the
 * second of the two stages that find them: bulge chasing by small reflectors.
 *
 * A sweep takes one row to bidiagonal form and chases what that fills in down the band, a block at
 * a time. Several sweeps follow each other closely, so that they share a cache, and threads take
 * such groups of sweeps in turn. A sweep never overtakes the one before it: the bits do not depend
 * on the number of threads.
 */
#include "src/base/status.h"

#include <stdint.h>

/* diagonal[n] and beside[n - 1] = the bidiagonal matrix of the n x n band with `width` diagonals
 * above its main one: band[c * (width + 1) + width - d] is entry (c - d, c). width > 0. Uses
 * OpenMP. Squares of the entries, summed, must stay within the range of doubles. Local. */
NORMA_MUST_USE norma_status norma_chase_bidiagonal_local(int64_t n, int64_t width,
                                                         const double *band, double *diagonal,
                                                         double *beside);

/* Bytes that it allocates with n_threads threads. Local, pure. */
double norma_chase_bytes_local(int64_t n, int64_t width, int n_threads);

#endif
