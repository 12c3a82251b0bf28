#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_SKIP_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_SKIP_H
/* Skip connections of a reconstruction: from --residual, --skip, --skip-kernel to weights. */
#include "experiments/reconstruct/setup.h"

/* Does any cell have skip connections? */
bool norma_reconstruct_skip_is_used(const norma_config *config);

/* Refuses options about skips that nothing uses, or that a file decides. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_skip_check_options(const norma_config *config);

/* Reads the skips of the layers of `network` that are needed[l] where a file has them. Collective.
 */
NORMA_MUST_USE norma_status norma_reconstruct_skip_read(const norma_runtime *runtime,
                                                        const norma_config *config,
                                                        const norma_network *network,
                                                        const bool *needed,
                                                        norma_reconstruct_inputs *inputs);

/* Where the skips of a cell come from; cell->number, seed and streams are set. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_skip_init(const norma_config *config,
                                                        const norma_reconstruct_inputs *inputs,
                                                        norma_reconstruct_cell *cell);

/* Checks a layer's skip against its channels and activation, and makes room unless shapes_only. The
 * layer's shapes are set. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_skip_init_layer(norma_reconstruct_cell *cell,
                                                              int64_t number, bool shapes_only);

/* The weights of a layer's skip for a replica. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_skip_fill(norma_reconstruct_cell *cell,
                                                        const norma_reconstruct_inputs *inputs,
                                                        int64_t number, int64_t replica);

#endif
