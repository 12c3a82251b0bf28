#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_STATISTICS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_STATISTICS_H
/*
 * Running statistics of the source's batch norms (--bn-statistics): mean 0 and variance 1, measured
 * on the data set, or read from the source file. The affine maps are written for these statistics;
 * the function that the source network computes is the same with each of them.
 */
#include "experiments/reconstruct/setup.h"

/* The names of the choices, in the order of norma_statistics. */
extern const char *const norma_reconstruct_statistics_names[];

/* Refuses `dataset` without --dataset, `file` without --source, and statistics that the run would
 * not write. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_statistics_check_options(const norma_config *config);

/* Takes the statistics of layer `number` from the source file, where --bn-statistics is `file`.
 * Local. */
void norma_reconstruct_statistics_use_given(norma_reconstruct_cell *cell,
                                            const norma_reconstruct_inputs *inputs, int64_t number);

/* Sets the statistics of layer `number`, whose pair, maps and solution belong to the current
 * replica. NORMA_CONFIG when a variance and eps are both 0. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_statistics_fill(
    MPI_Comm comm, norma_reconstruct_cell *cell, const norma_reconstruct_inputs *inputs,
    norma_evaluate *evaluate, int64_t number, const norma_layer_solution *solution);

#endif
