#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_SAMPLES_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_SAMPLES_H
/* Checks of the samples that a network runs on. */
#include "experiments/reconstruct/setup.h"

/* Prints what would make results look right that are not: no labels, or samples that fill less than
 * 2% of the target's input range. The inputs have a data set and a target. Local; rank 0 prints. */
void norma_reconstruct_samples_warn(const norma_reconstruct_inputs *inputs);

#endif
