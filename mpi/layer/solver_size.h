#ifndef NORMA_MPI_LAYER_SOLVER_SIZE_H
#define NORMA_MPI_LAYER_SOLVER_SIZE_H
/*
 * The size of a solve: process grid, expected iterations, operations and memory. Solvers that hold
 * the same things share a function; the table of mpi/layer/solver.c names that of each.
 */
#include "mpi/krylov/product.h"
#include "mpi/linalg/grid.h"
#include "mpi/system/problem.h"
#include "src/base/status.h"

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

/* Fills grid, iterations, flops and, where needed, block_size, and adds to bytes what the solver
 * itself allocates; sizes, max_iterations, measure_steps and history are set before. NORMA_LIMIT: a
 * matrix that leaves a rank too many elements, naming the ranks needed. Local and pure. */
typedef norma_status norma_solver_size(const norma_layer_problem *problem,
                                       const norma_solver_options *options, int n_ranks,
                                       norma_layer_choice *choice);

norma_solver_size norma_solver_size_lu;        /* a square matrix and its FP64 factors */
norma_solver_size norma_solver_size_mixed;     /* the same with FP32 factors, and GMRES */
norma_solver_size norma_solver_size_krylov;    /* vectors of conjugate gradients */
norma_solver_size norma_solver_size_chebyshev; /* vectors of the semi-iteration */
norma_solver_size norma_solver_size_qr;        /* any matrix and its QR factors */
norma_solver_size norma_solver_size_svd;       /* any matrix with its singular vectors */
norma_solver_size norma_solver_size_lbfgs;     /* vectors and history of L-BFGS */
norma_solver_size norma_solver_size_lbfgs_svd; /* history of L-BFGS, any matrix with vectors */

/* The iterations that krylov expects: to the floor, for weights of independent entries. Local. */
int64_t norma_solver_size_iterations_local(int64_t n_features, int64_t n_system);

#endif
