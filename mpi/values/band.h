#ifndef NORMA_MPI_VALUES_BAND_H
#define NORMA_MPI_VALUES_BAND_H
/*
 * Reduction of a block-cyclic matrix to a band of the same singular values, the first of the two
 * stages that find them.
 *
 *     A = Q B P',   B upper triangular with as many diagonals above its main one as a block has
 *                   columns (fewer rows than columns: A' instead of A)
 *
 * A block column is factored by Householder reflectors, then the block row beside it, and both
 * together change the rest in one product of matrices of twice a block's inner size. All the work
 * but that on the panels runs at the speed of such products.
 */
#include "mpi/linalg/dmat.h"
#include "src/base/status.h"

#include <stdint.h>

/* Overwrites `matrix` and gathers the band on rank 0 of its grid's communicator:
 * band[c * (block + 1) + block - d] is entry (c - d, c), d = 0 .. block; entries that fall outside
 * are zero. band [smaller extent][block + 1] on rank 0, else not touched. Collective over
 * matrix->grid->comm. Squares of the entries, summed, must stay within the range of doubles. */
NORMA_MUST_USE norma_status norma_band_reduce(norma_dmat *matrix, double *band);

/* Bytes that it allocates on the rank that holds most. Local, pure. */
double norma_band_bytes_local(int64_t n_rows, int64_t n_columns, int64_t block,
                              norma_grid_shape grid);

#endif
