#ifndef NORMA_MPI_LINALG_DMAT_H
#define NORMA_MPI_LINALG_DMAT_H
/*
 * Dense block-cyclic matrices: the local block of a rank and its ScaLAPACK descriptor.
 */
#include "mpi/linalg/grid.h"
#include "mpi/linalg/layout.h"
#include "src/base/status.h"

#include <stdint.h>

/* Most elements of a rank: ScaLAPACK counts local elements in 32 bits, and lies beyond them. */
#define NORMA_DMAT_MAX_LOCAL ((int64_t)2147483647)

typedef struct norma_dmat {
    const norma_grid *grid;     /* borrowed */
    norma_layout rows, columns; /* square blocks */
    int64_t n_local_rows;       /* 0 on idle ranks */
    int64_t n_local_columns;    /* 0 on idle ranks */
    int64_t leading;            /* max(1, n_local_rows): distance of columns */
    double *data;               /* [n_local_columns][leading], column-major; owned; or NULL, and */
    float *single;              /* the same in single precision; owned; NULL otherwise */
    int descriptor[9];          /* of ScaLAPACK */
} norma_dmat;

/* The elements of the largest local block of an n x n matrix on a grid. Local, pure. */
int64_t norma_dmat_largest_local(int64_t n, int64_t block, norma_grid_shape shape);

/* The same of an n_rows x n_columns matrix. Local, pure. */
int64_t norma_dmat_largest_share_local(int64_t n_rows, int64_t n_columns, int64_t block,
                                       norma_grid_shape shape);

/* The smallest number of ranks whose grid (norma_grid_choose_local) keeps every local block of an
 * n x n matrix within NORMA_DMAT_MAX_LOCAL; INT_MAX where that is more than 2^30. Local, pure. */
int norma_dmat_ranks_needed_local(int64_t n, int64_t block);

/* NORMA_LIMIT, naming the number of ranks that fits, when an n x n matrix on this grid would leave
 * a rank more than NORMA_DMAT_MAX_LOCAL elements, or when n itself leaves 32 bits. Local, pure. */
NORMA_MUST_USE norma_status norma_dmat_check_local(int64_t n, int64_t block,
                                                   norma_grid_shape shape);

/* An n x n matrix with undefined entries. Collective over grid->comm. Caller owns *out; the grid
 * must outlive it. */
NORMA_MUST_USE norma_status norma_dmat_create(const norma_grid *grid, int64_t n, int64_t block,
                                              norma_dmat **out);

/* The same with n_rows x n_columns; NORMA_LIMIT likewise. */
NORMA_MUST_USE norma_status norma_dmat_create_rectangle(const norma_grid *grid, int64_t n_rows,
                                                        int64_t n_columns, int64_t block,
                                                        norma_dmat **out);

/* A square one in single precision. */
NORMA_MUST_USE norma_status norma_dmat_create_single(const norma_grid *grid, int64_t n,
                                                     int64_t block, norma_dmat **out);

/* Frees and nulls; NULL is allowed. Local. */
void norma_dmat_destroy_local(norma_dmat **matrix);

#endif
