#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_LAYER_VALUES_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_LAYER_VALUES_H
/* All singular values of a layer's matrix M, for --save spectrum: those of the values that
 * condition numbers come from, without the closing row (mpi/spectrum/spectrum.h). */
#include "experiments/reconstruct/setup.h"
#include "mpi/runtime/team.h"

/* Are they asked for? Local. */
bool norma_reconstruct_values_wanted(const norma_config *config);

/* Refuses --save spectrum beside skip connections, which change M. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_values_check_options(const norma_config *config);

/* Singular values of M at most: the fewer of its rows and features. With the min rule output
 * channels without weights leave fewer. Local. */
int64_t norma_reconstruct_values_count(const norma_reconstruct_cell *cell, int64_t number);

/* Bytes on the rank that holds most while they are computed by n_ranks ranks. NORMA_LIMIT. Local.
 */
NORMA_MUST_USE norma_status norma_reconstruct_values_bytes(const norma_reconstruct_cell *cell,
                                                           int64_t number, int n_ranks,
                                                           int n_threads, double *bytes);

/* Computes them for the drawn layer of a cell into layer->values, largest first. Collective over
 * the team. */
NORMA_MUST_USE norma_status norma_reconstruct_values_measure(const norma_team *team,
                                                             norma_reconstruct_cell *cell,
                                                             int64_t number);

#endif
