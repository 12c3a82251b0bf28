#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_LAYERS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_LAYERS_H
/* Which layers of a target are reconstructed: those of --layers, or all that a source pair can
 * stand for. */
#include "experiments/reconstruct/setup.h"

/* Is layer `number` reconstructed? network NULL: every layer can be. Local. */
bool norma_reconstruct_layers_take(const norma_config *config, const norma_network *network,
                                   int64_t number);

/* How many are; network NULL: of a single layer. Local. */
int64_t norma_reconstruct_layers_count(const norma_config *config, const norma_network *network);

/* Refuses numbers in --layers that the network does not have or that no pair can stand for, with
 * the reason, and a network without any layer to reconstruct. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_layers_check(const norma_config *config,
                                                           const norma_network *network);

/* Refuses a target that is no chain where --construction or --align needs one. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_layers_check_chain(const norma_config *config,
                                                                 const norma_network *network);

/* Prints how many layers stay the target's own, and of a network that is no chain which ones, by
 * their types. Local. */
void norma_reconstruct_layers_print(const norma_config *config, const norma_network *network);

#endif
