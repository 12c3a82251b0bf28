#ifndef NORMA_MPI_VALUES_SINGULAR_H
#define NORMA_MPI_VALUES_SINGULAR_H
/*
 * All singular values of a block-cyclic matrix, without vectors.
 *
 * Two ways lead there. The library reduces the matrix to a bidiagonal one directly (LAPACK's DGESDD
 * on one rank, PDGESVD on several), half of which is products of a matrix and a vector. Two stages
 * go over a band (mpi/values/band, mpi/values/chase): nearly all of the work is products of
 * matrices. Both end with the differential quotient-difference algorithm (DLASQ1), and neither
 * squares the matrix, which would lose half of the digits of the smallest values.
 */
#include "mpi/linalg/dmat.h"
#include "src/base/status.h"

#include <stdint.h>

typedef enum norma_singular_method {
    NORMA_SINGULAR_AUTO, /* two stages for large matrices */
    NORMA_SINGULAR_LIBRARY,
    NORMA_SINGULAR_TWO_STAGE,
    NORMA_N_SINGULAR_METHODS
} norma_singular_method;

/* The method that AUTO stands for with this matrix; others stand for themselves. Local, pure. */
norma_singular_method norma_singular_choose_local(norma_singular_method method, int64_t n_rows,
                                                  int64_t n_columns);

/* The block size of the layout, and the grid for n_ranks ranks, that suit the method. Local, pure.
 */
int64_t norma_singular_block_local(norma_singular_method method, int64_t n_rows, int64_t n_columns);
norma_grid_shape norma_singular_grid_local(norma_singular_method method, int64_t n_rows,
                                           int64_t n_columns, int n_ranks);

/* NORMA_LIMIT, naming the number of ranks that fits, where matrix or workspace would leave 32 bits
 * on n_ranks ranks. Local, pure. */
NORMA_MUST_USE norma_status norma_singular_check_local(norma_singular_method method, int64_t n_rows,
                                                       int64_t n_columns, int n_ranks);

/* sigma[smaller extent], largest first, on all ranks of matrix->grid->comm, idle ones included. The
 * matrix is overwritten; its grid and block are those of the functions above. Collective over
 * matrix->grid->comm; the first stage is distributed, the second runs on rank 0. NORMA_NUMERIC,
 * naming the cause, for entries that are not finite or values that do not converge. */
NORMA_MUST_USE norma_status norma_singular_compute(norma_singular_method method, norma_dmat *matrix,
                                                   double *sigma);

/* Bytes of the matrix and of all that norma_singular_compute allocates, on the rank that holds
 * most, with n_threads threads. Local, pure. */
double norma_singular_bytes_local(norma_singular_method method, int64_t n_rows, int64_t n_columns,
                                  norma_grid_shape grid, int n_threads);

/* Flops of the reduction, to a band or to a bidiagonal matrix. Local, pure. */
double norma_singular_flops_local(int64_t n_rows, int64_t n_columns);

#endif
