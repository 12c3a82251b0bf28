#ifndef NORMA_MPI_LAYER_LAYER_CHOICE_H
#define NORMA_MPI_LAYER_LAYER_CHOICE_H
/*
 * How a layer will be solved, from its sizes alone: solver, features in use, grid, memory, flops.
 * The same arithmetic serves the solve, the plan and the refusal of what cannot fit.
 */
#include "mpi/layer/layer_solve.h"
#include "mpi/layer/solver_size.h"

/* Local and pure; problem->w1, w2 are not used and target may be NULL (every output channel
 * counts). NORMA_CONFIG: sizes that make no sense, too few features for lu; NORMA_LIMIT: a matrix
 * that leaves a rank too many elements, naming the ranks needed. */
NORMA_MUST_USE norma_status norma_layer_choice_make_local(const norma_layer_problem *problem,
                                                          const norma_solver_options *options,
                                                          int n_ranks, norma_layer_choice *out);

#endif
