#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_SYSTEMS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_SYSTEMS_H
/*
 * The linear systems of a layer: one, or one a group of its channels (mpi/layer/layer_groups.h).
 * The random numbers of a layer's first group, or only one, are those of its number among the
 * layers; further groups are numbered behind all layers of the network, in the order of the layers.
 */
#include "experiments/reconstruct/setup.h"
#include "mpi/plan/expect.h"

/* Refuses what is not there for channels in groups, of a wanted layer whose shapes are set. Local.
 */
NORMA_MUST_USE norma_status norma_reconstruct_systems_check(const norma_config *config,
                                                            const norma_reconstruct_cell *cell,
                                                            int64_t number);

/* The number of a group's weights among the tensors of the network. Local. */
int64_t norma_reconstruct_system_number(const norma_network *network, int64_t layer, int64_t group);

/* The system of a group, ready to be solved or estimated; borrows from the cell. Local. */
norma_layer_problem norma_reconstruct_system(const norma_reconstruct_cell *cell, int64_t number,
                                             int64_t group);

/* The first group's system, for what depends on shapes alone. Local. */
norma_layer_problem norma_reconstruct_problem(const norma_reconstruct_cell *cell, int64_t number);

/* Solves all systems of a layer. Collective over comm. */
NORMA_MUST_USE norma_status norma_reconstruct_systems_solve(MPI_Comm comm,
                                                            const norma_reconstruct_cell *cell,
                                                            int64_t number,
                                                            const norma_solver_options *options,
                                                            norma_layer_solution *solution);

/* The estimate of all systems of a layer on n_ranks ranks, and the time they take. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_systems_estimate(const norma_reconstruct_cell *cell,
                                                               int64_t number,
                                                               const norma_solver_options *options,
                                                               int n_ranks,
                                                               norma_layer_estimate *out);
NORMA_MUST_USE norma_status norma_reconstruct_systems_expect(int64_t n_groups,
                                                             const norma_layer_problem *problem,
                                                             const norma_solver_options *options,
                                                             int n_ranks, const norma_rates *rates,
                                                             norma_expected *out);

#endif
