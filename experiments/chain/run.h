#ifndef NORMA_EXPERIMENTS_CHAIN_RUN_H
#define NORMA_EXPERIMENTS_CHAIN_RUN_H
/* Computing the blocks of a chain run on this rank, with checkpoints. */
#include "experiments/chain/output.h"
#include "io/checkpoint/checkpoint.h"
#include "mpi/runtime/progress.h"
#include "mpi/runtime/replicas.h"
#include "mpi/runtime/team.h"

typedef struct norma_chain_run {
    const norma_chain_setup *setup; /* borrowed, as are the next three */
    norma_chain_output *output;
    norma_checkpoint *checkpoint;
    norma_replicas *replicas;
    norma_team team;          /* this rank's group */
    unsigned char *done;      /* [n_tasks]: finished in an earlier go; owned */
    norma_chain_block *block; /* of the last cell; owned */
    double save_interval;     /* seconds */
    norma_progress progress;
    int64_t work_before; /* of tasks finished in earlier goes */
    double started;
    bool warned;
} norma_chain_run;

/* Which tasks are done, and their results into the file. Collective. */
NORMA_MUST_USE norma_status norma_chain_run_replay(norma_chain_run *run);

/* Computes all others, or stops with their states saved (NORMA_STOPPED). Collective. */
NORMA_MUST_USE norma_status norma_chain_run_all(norma_chain_run *run);

void norma_chain_run_clear(norma_chain_run *run);

#endif
