#ifndef NORMA_MPI_LINALG_FACTOR_H
#define NORMA_MPI_LINALG_FACTOR_H
/*
 * LU factors with partial pivoting of a block-cyclic matrix, in double or single precision, and
 * triangular solves with them.
 *
 *     P A = L U,     L unit lower triangular, U upper triangular, in A's place
 *
 * Right-looking in block columns. A block column (panel) is factored recursively by the process
 * column that holds it, in a buffer of its own that then travels along the process rows
 * (mpi/linalg/ring.h). Look-ahead: whoever holds the next panel brings that up to date and factors
 * it before the rest of its columns, and the message is on its way while all ranks multiply. The
 * rows that a panel's pivots exchange move in one message between any two process rows. One rank
 * leaves all of it to LAPACK. Pivots are those of LAPACK: the first of the largest entries.
 */
#include "mpi/linalg/dmat.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_factor norma_factor;

/* Overwrites `matrix` with its factors. Collective over matrix->grid->comm; the matrix is borrowed
 * and must outlive *out, which the caller owns. *first_bad, equal on all ranks, is the first column
 * whose pivot is zero or not finite, -1 if there is none: with one the factors are of no use. */
NORMA_MUST_USE norma_status norma_factor_create(norma_dmat *matrix, int64_t *first_bad,
                                                norma_factor **out);

/* Bytes that the factorization and the solves take beside the matrix on the rank that holds most.
 * Local, pure. */
double norma_factor_bytes_local(int64_t n, int64_t block, norma_grid_shape grid, bool single);

/* x[n] <- A^-1 x, or A^-T x; x replicated, and equal in every bit on all ranks afterwards. Sums are
 * double whatever the factors are. Collective. */
void norma_factor_solve(norma_factor *factor, bool transpose, double *x);

/* pivots[n]: row i was exchanged with row pivots[i] >= i, one after the other. On idle ranks NULL.
 * Borrowed. Local. */
const int *norma_factor_pivots_local(const norma_factor *factor);

/* Frees and nulls; NULL is allowed. Collective. */
void norma_factor_destroy(norma_factor **factor);

#endif
