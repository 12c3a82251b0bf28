#ifndef NORMA_MPI_LAYER_LAYER_CHOICE_H
#define NORMA_MPI_LAYER_LAYER_CHOICE_H
/*
 * How a layer will be solved, from its sizes alone: solver, features in use, grid, memory, flops.
 * The same arithmetic serves the solve, the plan and the refusal of what cannot fit.
 */
#include "mpi/krylov/product.h"
#include "mpi/layer/layer_solve.h"
#include "mpi/linalg/grid.h"

typedef struct norma_layer_choice {
    norma_solver solver; /* never AUTO */
    char reason[160];    /* why, where it was chosen */
    int64_t n_system;    /* equations, closing row included */
    int64_t n_rows;      /* of M */
    int64_t n_minimum;   /* features that the rule asks for: n_system */
    int64_t n_used;      /* features that take part */
    int64_t block_size;
    int64_t max_iterations;
    int64_t measure_steps; /* of what measures singular values without a matrix, at most */
    int64_t history;       /* of L-BFGS */
    int64_t iterations;    /* expected */
    norma_grid_shape grid;
    norma_product_mode mode; /* of the weights */
    double bytes;            /* allocated by the solve on the rank that holds most */
    double flops;            /* expected, over all ranks */
} norma_layer_choice;

/* Local and pure; problem->w1, w2 are not used and target may be NULL (every output channel
 * counts). NORMA_CONFIG: sizes that make no sense, too few features for lu; NORMA_LIMIT: a matrix
 * that leaves a rank too many elements, naming the ranks needed. */
NORMA_MUST_USE norma_status norma_layer_choice_make_local(const norma_layer_problem *problem,
                                                          const norma_solver_options *options,
                                                          int n_ranks, norma_layer_choice *out);

#endif
