#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_ALIGNMENT_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_ALIGNMENT_H
/*
 * --align: the output channels of a target layer whose width c1 lies below n are put in the order
 * that the features of its pair reproduce best (src/align), and the input channels of the next
 * layer follow, so that the target computes the same. The last layer keeps its order. The order of
 * a layer depends on those before it; one rank finds all of a replica.
 *
 * A replica's orders are numbers[norma_reconstruct_alignment_length]: for each layer the RMSE that
 * the given order leaves (NaN where nothing is searched for), then 1 + the target row that each
 * output channel takes, 0 where that is not known yet.
 */
#include "experiments/reconstruct/setup.h"

/* Is --align given? Local. */
bool norma_reconstruct_alignment_wanted(const norma_config *config);

/* Refuses options that contradict --align, or that nothing uses without it. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_alignment_check_options(const norma_config *config);

/* Marks the layers of a cell that are aligned, with a copy of the network unless shapes_only.
 * Refuses layers whose next one is left out, searches that do not take a layer, and cells without a
 * layer that may be aligned. After its layers are set. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_alignment_init(const norma_config *config,
                                                             bool shapes_only,
                                                             norma_reconstruct_cell *cell);

/* Numbers of a replica. Local. */
int64_t norma_reconstruct_alignment_length(const norma_network *network);

/* Finds the orders of a replica that numbers[] lacks. Local; the cell's pairs and its network are
 * those of the search afterwards. NORMA_MEMORY; NORMA_LIMIT; NORMA_LIBRARY. */
NORMA_MUST_USE norma_status norma_reconstruct_alignment_search_local(
    norma_reconstruct_cell *cell, const norma_reconstruct_inputs *inputs, int64_t replica,
    double *numbers);

/* Gives the cell's network and its layers the orders of a replica. NORMA_CONFIG for numbers that
 * are none. Local. The pairs that stand for the layers then run without them: the orders are in
 * their scales and shifts. */
NORMA_MUST_USE norma_status norma_reconstruct_alignment_use(norma_reconstruct_cell *cell,
                                                            const double *numbers);

/* Bytes of a rank that searches, at its peak; *kept of them stay. Operations of the factorizations
 * of a replica. Local; 0 without --align. */
double norma_reconstruct_alignment_bytes(const norma_reconstruct_cell *cell, double *kept);
double norma_reconstruct_alignment_flops(const norma_reconstruct_cell *cell);

void norma_reconstruct_alignment_clear(norma_reconstruct_cell *cell);

#endif
