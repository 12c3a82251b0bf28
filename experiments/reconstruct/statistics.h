#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_STATISTICS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_STATISTICS_H
/*
 * Running statistics of the source's batch norms (--bn-statistics): unit ones, those that the data
 * set gives, or those of the source file. They change how a result names its affine maps, not what
 * the source network computes.
 */
#include "experiments/reconstruct/setup.h"

/* The names of the choices, in the order of norma_statistics. */
extern const char *const norma_reconstruct_statistics_names[];

/* Refuses statistics that have no source, or that nothing stores. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_statistics_check_options(const norma_config *config);

/* Those of the source file, if that is where they come from. Local. */
void norma_reconstruct_statistics_use_given(norma_reconstruct_cell *cell,
                                            const norma_reconstruct_inputs *inputs, int64_t number);

/* The statistics of a layer whose pair, maps and solution are those of the current replica.
 * NORMA_CONFIG when a variance and eps are both 0. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_statistics_fill(
    MPI_Comm comm, norma_reconstruct_cell *cell, const norma_reconstruct_inputs *inputs,
    norma_evaluate *evaluate, int64_t number, const norma_layer_solution *solution);

#endif
