#ifndef NORMA_EXPERIMENTS_CHAIN_GROW_H
#define NORMA_EXPERIMENTS_CHAIN_GROW_H
/*
 * A chain run that extends another (experiments/job/grow.h). Finished replicas of a run of the same
 * depth are taken over. In a deeper run they go on from their states at their last layer, which
 * --save state keeps; those without one begin anew.
 */
#include "experiments/chain/setup.h"
#include "experiments/job/job.h"

typedef struct norma_chain_grow {
    const norma_grow *grow; /* borrowed, as is the next */
    const norma_chain_setup *setup;
    norma_chain_schedule before[NORMA_N_OBSERVABLES]; /* recorded layers of the run before; owned */
} norma_chain_grow;

/* Fills job->growth, whose functions borrow *grow. NORMA_CONFIG for what a deeper run cannot take
 * over. Local; *grow is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_chain_grow_init(norma_job_context *job,
                                                  const norma_chain_setup *setup,
                                                  norma_chain_grow *grow);

void norma_chain_grow_clear(norma_chain_grow *grow);

#endif
