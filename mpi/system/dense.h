#ifndef NORMA_MPI_SYSTEM_DENSE_H
#define NORMA_MPI_SYSTEM_DENSE_H
/*
 * Shared by the dense solvers of rectangular systems (mpi/layer/solve_qr.c,
 * mpi/layer/solve_svd.c): the limits of ScaLAPACK in 64-bit arithmetic, the grid, and refinement
 * with the structured residual.
 *
 * Numbers of elements and of workspace are 32-bit integers inside ScaLAPACK, which wraps silently
 * beyond them; its SVD needs a workspace of about 2 n^2 / P numbers on each of P ranks. One rank
 * runs LAPACK itself: by divide and conquer with 3 n^2 numbers, or by QR iteration.
 */
#include "mpi/linalg/grid.h"
#include "mpi/system/system.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_dense_size {
    int64_t n_rows, n_columns;
    int64_t block;
    bool vectors;           /* singular value decomposition, with its vectors; false: QR */
    double memory_per_rank; /* bytes that a rank may use; 0: no bound */
} norma_dense_size;

/* The grid for such a matrix; one rank for a single row or column. The decomposition with vectors
 * stays on one rank, where divide and conquer (mpi/system/divide.h) is faster than ScaLAPACK's QR
 * iteration on tens of ranks, while memory and 32-bit counts allow it. Local, pure. */
norma_grid_shape norma_dense_grid_local(const norma_dense_size *size, int n_ranks);

/* Numbers of workspace that a rank needs for the decomposition on a grid. Local, pure. */
int64_t norma_dense_workspace_local(const norma_dense_size *size, norma_grid_shape grid);

/* Bytes of matrix, singular vectors, workspace and refinement on the rank that holds most, on a
 * grid. Local, pure. */
double norma_dense_bytes_local(const norma_dense_size *size, norma_grid_shape grid);

/* NORMA_LIMIT, naming the smallest number of ranks that fits, when matrix or workspace would leave
 * 32 bits on n_ranks ranks. Local, pure. */
NORMA_MUST_USE norma_status norma_dense_check_local(const norma_dense_size *size, int n_ranks);

/* Flops of the decomposition of an m x n matrix with its vectors, or of its QR factors. */
double norma_dense_flops_local(int64_t m, int64_t n, bool vectors);

/* x[n_features] = (pseudo-)inverse times b[n_system], both on all ranks. Collective. */
typedef void (*norma_dense_inverse)(void *context, const double *b, double *x);

typedef struct norma_dense_answer {
    double residual; /* ||rhs - S x|| */
    double gradient; /* ||S' (rhs - S x)||; 0 when an exact answer was asked for */
    bool exact;      /* the residual is what rounding x leaves */
} norma_dense_answer;

/* x = inverse of the system's right-hand side, refined with the structured residual while that
 * (exact wanted: the residual, else the gradient) is at least halved and more than rounding is
 * left; the steps taken are in *steps. NORMA_NUMERIC for an answer that is neither exact nor,
 * unless `exact` is wanted, stationary. Collective over system->comm. */
NORMA_MUST_USE norma_status norma_dense_refine(const norma_system *system,
                                               norma_dense_inverse inverse, void *context,
                                               bool exact, double sigma_max, double *x,
                                               int64_t *steps, norma_dense_answer *answer);

#endif
