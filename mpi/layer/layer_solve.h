#ifndef NORMA_MPI_LAYER_LAYER_SOLVE_H
#define NORMA_MPI_LAYER_LAYER_SOLVE_H
/*
 * One target layer: gamma1 and gamma2 that make the frozen source pair W1, W2 compute it.
 *
 *     diag(gamma2) KR gamma1 = vec(Wt)          (CNN24 Theorems 2.2 and 2.3)
 *
 * or, beside a frozen skip connection, diag(gamma2) KR gamma1 + Ws or diag(gamma2) (KR gamma1 +
 * Ws).
 *
 * See src/features/width_rule.h for the linear system and src/features/khatri_rao.h for KR. Every
 * answer is judged: it must reach the floor of floating-point arithmetic,
 *
 *     rmse <= 10 u (||diag(gamma2) KR||_2 ||gamma1|| + ||Ws||) / sqrt(n),          u = 2^-53,
 *
 * (Ws with its rows multiplied by gamma2 where that multiplies the skip), and one that misses it by
 * more than 100 is NORMA_NUMERIC, but for those of L-BFGS, which are stated as they are, with a
 * warning. Fewer features than the rule's minimum are a least-squares
 * problem, whose answer must be stationary instead.
 */
#include "mpi/layer/solver.h"
#include "mpi/system/problem.h"
#include "src/base/status.h"

#include <mpi.h>
#include <stdint.h>

/* Solves the layer. Collective over comm; problem and options must be equal on all ranks. On
 * success *solution is filled and must be given to norma_layer_solution_clear; otherwise it holds
 * nothing. NORMA_CONFIG: inconsistent shapes, values that are not finite, too few features for
 * lu or mixed. NORMA_LIMIT: over a limit of the library, naming the rank count that fits.
 * NORMA_NUMERIC: singular system, stagnation, an answer off the floor. */
NORMA_MUST_USE norma_status norma_layer_solve(MPI_Comm comm, const norma_layer_problem *problem,
                                              const norma_solver_options *options,
                                              norma_layer_solution *solution);

/* Frees what the solution owns; zeroes it. */
void norma_layer_solution_clear(norma_layer_solution *solution);

/* The predicted cost of a solve. */
typedef struct norma_layer_estimate {
    norma_solver solver; /* that would be used: never AUTO */
    int64_t n_rows;      /* rows of M */
    int64_t n_minimum;   /* features that the rule asks for */
    int grid_rows, grid_columns, n_idle;
    double bytes;       /* allocated by the solve on the rank that holds most */
    double flops;       /* of factors and solves, or of the expected iterations, over all ranks */
    int64_t iterations; /* expected: refinement steps (lu, mixed: and of GMRES), iterations
                           (matrix-free) */
} norma_layer_estimate;

/* Estimates the solve of `problem` on n_ranks ranks. Local and pure: no allocation beyond a few
 * bytes, no communication, tensors not used (NULL is allowed); target NULL counts every output
 * channel. Returns what norma_layer_solve would refuse for its shape or a limit. */
NORMA_MUST_USE norma_status norma_layer_solve_estimate_local(const norma_layer_problem *problem,
                                                             const norma_solver_options *options,
                                                             int n_ranks,
                                                             norma_layer_estimate *out);

#endif
