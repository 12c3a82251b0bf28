#ifndef NORMA_EXPERIMENTS_LAYERS_INPUTS_H
#define NORMA_EXPERIMENTS_LAYERS_INPUTS_H
/*
 * The inputs of a run of chains: weights /W [L, d, d] and the batch, /H0 [d, N] of an HDF5 file or
 * the first images of a data set, one a column.
 */
#include "mpi/runtime/runtime.h"
#include "src/base/text.h"
#include "src/chain/chain.h"
#include "src/config/config.h"

#include <stdbool.h>

typedef struct norma_layer_inputs {
    const norma_config *config; /* borrowed */
    int64_t n_cells;
    const char *source;   /* the run's file or data set, of the configuration; NULL without */
    double *weights, *h0; /* given ones, owned; NULL */
    int64_t weights_extents[3], h0_extents[2];
    int32_t *labels;  /* [h0_extents[1]] of the data set's images, owned; NULL without */
    bool from_images; /* h0 comes from a data set */
} norma_layer_inputs;

/* Reads the configuration's files. A run takes one input file or data set; of a data set as many
 * images as the largest batch, which is the number of pixels where --batch is not given.
 * Collective; *inputs is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_layer_inputs_read(const norma_runtime *runtime,
                                                    const norma_config *config,
                                                    norma_layer_inputs *inputs);

/* Width and batch of a cell, from the files and the options; NORMA_USAGE or NORMA_CONFIG where they
 * disagree. Local. */
NORMA_MUST_USE norma_status norma_layer_inputs_settle_sizes(const norma_layer_inputs *inputs,
                                                            int64_t cell, int64_t *width,
                                                            int64_t *batch);

/* The batch of a cell, for its finished spec. Local. */
NORMA_MUST_USE norma_status norma_layer_inputs_make(const norma_layer_inputs *inputs, int64_t cell,
                                                    const norma_chain_spec *spec,
                                                    norma_chain_input *out);

/* NORMA_USAGE or NORMA_CONFIG when given weights end before `depth` layers. Local. */
NORMA_MUST_USE norma_status norma_layer_inputs_check_depth(const norma_layer_inputs *inputs,
                                                           int64_t depth);

/* Adds lines "  key: value" to a configuration that identify the content of given files. Local. */
void norma_layer_inputs_fingerprint(const norma_layer_inputs *inputs, norma_text *text);

void norma_layer_inputs_clear(norma_layer_inputs *inputs);

#endif
