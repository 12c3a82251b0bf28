#ifndef NORMA_EXPERIMENTS_GRADIENT_POOL_H
#define NORMA_EXPERIMENTS_GRADIENT_POOL_H
/* Statistics over the replicas of each cell, and the table on the terminal. */
#include "experiments/gradient/output.h"

/* When all tasks are done: writes them and prints the table. Equal bits for any number of ranks.
 * Collective. */
NORMA_MUST_USE norma_status norma_gradient_pool(norma_gradient_output *output);

#endif
