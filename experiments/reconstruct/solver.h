#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_SOLVER_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_SOLVER_H
/* How the layers of a cell are to be solved: --solver and the options that only some solvers have.
 */
#include "experiments/reconstruct/setup.h"

/* Refuses options that a cell's solver does not have. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_solver_check_options(const norma_config *config);

/* Fills what a cell says of its solver but --store-weights. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_solver_init(const norma_config *config,
                                                          norma_reconstruct_cell *cell);

/* The options of every solve of the cell; memory_per_rank 0: no bound. */
norma_solver_options norma_reconstruct_solver_options(const norma_reconstruct_cell *cell,
                                                      double memory_per_rank);

#endif
