#ifndef NORMA_EXPERIMENTS_LAYERS_OPTIONS_H
#define NORMA_EXPERIMENTS_LAYERS_OPTIONS_H
/* The options of a layer and of the batch that goes through it, for subcommands of chains. */
#include "experiments/layers/inputs.h"
#include "src/config/config_option.h"

extern const norma_option norma_layer_options[];       /* --preset .. --law */
extern const norma_option norma_layer_input_options[]; /* --input .. */
extern const norma_option norma_layer_group_options[]; /* --group-size */

/* Refuses options that contradict each other. Local. */
NORMA_MUST_USE norma_status norma_layer_options_check(const norma_config *config);

/* Refuses a group of ranks that cannot share a chain: above `most` ranks, or for the reason
 * not_shared (NULL: none). Local. */
NORMA_MUST_USE norma_status norma_layer_group_check(const norma_config *config,
                                                    const char *not_shared, int64_t most);

/* *spec = the preset's layer of a cell with what the options change, not finished. Errors as the
 * parsers of names. Local. */
NORMA_MUST_USE norma_status norma_layer_spec_read(const norma_layer_inputs *inputs, int64_t cell,
                                                  norma_chain_spec *spec);

#endif
