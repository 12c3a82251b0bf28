#ifndef NORMA_MPI_LINALG_GRID_H
#define NORMA_MPI_LINALG_GRID_H
/*
 * Process grids for distributed matrices, on any communicator.
 *
 * LU wants no more process rows than columns and a shape not far from square, so a grid may leave
 * ranks idle on purpose (a prime number of them would force one long row). Idle ranks hold nothing
 * of a matrix but take part in every agreement.
 */
#include "src/base/status.h"

#include <mpi.h>
#include <stdint.h>

typedef struct norma_grid_shape {
    int n_rows, n_columns;
} norma_grid_shape;

/* The shape to use on n_ranks > 0 ranks for a matrix of n_row_blocks x n_column_blocks blocks: the
 * most ranks for which n_rows <= n_columns <= 4 n_rows can hold with every process row and column
 * owning a block. Local, pure. */
norma_grid_shape norma_grid_choose_local(int n_ranks, int64_t n_row_blocks,
                                         int64_t n_column_blocks);

typedef struct norma_grid {
    MPI_Comm comm;   /* all ranks, idle ones included; borrowed */
    MPI_Comm active; /* the grid's ranks; owned; MPI_COMM_NULL on idle ranks */
    norma_grid_shape shape;
    int row, column; /* of this rank; -1 on idle ranks */
    int n_idle;      /* the last ranks of comm */
    int context;     /* BLACS context; -1 on idle ranks and on a 1 x 1 grid, which needs none */
    int handle;      /* BLACS system handle of `active`; -1 likewise */
} norma_grid;

/* Makes the grid of `shape` from the first ranks of comm, row by row. Collective over comm. Caller
 * owns *out; comm must outlive it. NORMA_LIBRARY when BLACS does not give that grid. */
NORMA_MUST_USE norma_status norma_grid_create(MPI_Comm comm, norma_grid_shape shape,
                                              norma_grid **out);

/* Frees and nulls; NULL is allowed. Collective over the grid's communicator. */
void norma_grid_destroy(norma_grid **grid);

#endif
