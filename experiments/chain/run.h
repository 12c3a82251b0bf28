#ifndef NORMA_EXPERIMENTS_CHAIN_RUN_H
#define NORMA_EXPERIMENTS_CHAIN_RUN_H
/* Computing the blocks of a chain run, with checkpoints. */
#include "experiments/chain/coverage.h"
#include "experiments/chain/output.h"
#include "experiments/chain/partition.h"
#include "experiments/job/queue.h"

typedef struct norma_chain_run {
    const norma_chain_setup *setup; /* borrowed, as is the next */
    norma_chain_output *output;
    norma_queue *queue; /* owned */
    norma_chain_partition partition;
    norma_chain_coverage coverage; /* what the journals of earlier runs hold */
    int64_t *order;                /* [n_tasks]: the first replica of each block; owned */
    int64_t *block_at;             /* [n_tasks]: the block of a first replica; owned */
    norma_chain_block *block;      /* of the last cell and size; owned */
    bool saved;                    /* the block under way has a state */
    bool keeps_state;              /* blocks that are finished keep theirs */
} norma_chain_run;

/* Computes all blocks that the journal of the job does not hold, or stops with their states saved
 * (NORMA_STOPPED). Collective; *run is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_chain_run_all(norma_chain_run *run, const norma_job_context *job,
                                                const norma_chain_setup *setup,
                                                norma_chain_output *output);

/* Collective. */
void norma_chain_run_clear(norma_chain_run *run);

#endif
