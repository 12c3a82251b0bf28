#ifndef NORMA_EXPERIMENTS_CHAIN_INPUT_H
#define NORMA_EXPERIMENTS_CHAIN_INPUT_H
/*
 * The inputs of a chain run: weights /W [L, d, d] and the batch, /H0 [d, N] of an HDF5 file or the
 * first images of a data set, one a column.
 */
#include "experiments/chain/setup.h"

/* Reads setup->config's files into setup->weights, h0, their extents and from_images. A run takes
 * one input file or data set; of a data set as many images as the largest batch, which is the
 * number of pixels where --batch is not given. Collective. */
NORMA_MUST_USE norma_status norma_chain_input_read(const norma_runtime *runtime,
                                                   norma_chain_setup *setup);

/* Width and batch of a cell, from the files and the options; NORMA_USAGE or NORMA_CONFIG where they
 * disagree. Local. */
NORMA_MUST_USE norma_status norma_chain_input_settle_sizes(const norma_chain_setup *setup,
                                                           int64_t cell, int64_t *width,
                                                           int64_t *batch);

/* The batch of a cell, for its finished spec. Local. */
NORMA_MUST_USE norma_status norma_chain_input_make(const norma_chain_setup *setup,
                                                   norma_chain_cell *cell);

#endif
