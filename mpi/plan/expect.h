#ifndef NORMA_MPI_PLAN_EXPECT_H
#define NORMA_MPI_PLAN_EXPECT_H
/*
 * How long a solve will take: the operations of its stages over the rates of this machine, times
 * the part of those rates that each stage reaches (a table in the .c, of what `norma bench`
 * measures as ratios), and for lu, mixed and krylov the messages of mpi/plan/traffic.h on its
 * network; panels travel while ranks multiply. For source weights of independent entries:
 * iterations of other ones differ.
 */
#include "mpi/layer/layer_solve.h"
#include "mpi/plan/rates.h"

/* Seconds. */
typedef struct norma_expected {
    double assembly;  /* of the matrix; 0 without one */
    double solution;  /* factors, solves, refinement; iterations */
    double condition; /* singular values, and the norm that the verdict needs */
    double total;
} norma_expected;

/* The solve of `problem` on n_ranks ranks, each at `rates`, placed (norma_rates_place_local). Local
 * and pure; returns what norma_layer_solve_estimate_local does. */
NORMA_MUST_USE norma_status norma_expect_solve_local(const norma_layer_problem *problem,
                                                     const norma_solver_options *options,
                                                     int n_ranks, const norma_rates *rates,
                                                     norma_expected *out);

/* Running source networks that take n_flops in all (norma_evaluate_cost_local), their targets and
 * the bounds. Local and pure. */
double norma_expect_evaluation_local(double n_flops, int n_ranks, const norma_rates *rates);

#endif
