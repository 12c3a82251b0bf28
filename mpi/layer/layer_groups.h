#ifndef NORMA_MPI_LAYER_LAYER_GROUPS_H
#define NORMA_MPI_LAYER_LAYER_GROUPS_H
/*
 * A layer whose channels are in groups: one small system a group (of a depthwise convolution, one a
 * channel), none of which needs another. Each rank solves a share of them alone, without a message;
 * the answers are gathered once. So they have the same bits on any number of ranks.
 */
#include "mpi/layer/layer_solve.h"

/* Solves problems[n_groups], which have the same shapes, widths and numbers of features; a single
 * one is left to norma_layer_solve. *solution is that of all groups, one after the other: gamma1,
 * gamma2, kernel. Its counts (rows, features, rank) are sums, rmse, floor and rmse_single root mean
 * squares, iterations, condition numbers, errors and gradients those of the worst group, sigma_max
 * and sigma_min the extreme ones, times those of the slowest rank. Collective over comm; returns
 * what norma_layer_solve does, and names the group. The caller clears *solution. */
NORMA_MUST_USE norma_status norma_layer_groups_solve(MPI_Comm comm, int64_t n_groups,
                                                     const norma_layer_problem *problems,
                                                     const norma_solver_options *options,
                                                     norma_layer_solution *solution);

/* The estimate of n_groups such systems on n_ranks ranks; as norma_layer_solve_estimate_local. */
NORMA_MUST_USE norma_status norma_layer_groups_estimate_local(int64_t n_groups,
                                                              const norma_layer_problem *problem,
                                                              const norma_solver_options *options,
                                                              int n_ranks,
                                                              norma_layer_estimate *out);

/* Groups that the rank with most of them solves. */
int64_t norma_layer_groups_most_local(int64_t n_groups, int n_ranks);

#endif
