#ifndef NORMA_EXPERIMENTS_CHAIN_RUN_H
#define NORMA_EXPERIMENTS_CHAIN_RUN_H
/* Computing the blocks of a chain run on this rank, with checkpoints. */
#include "experiments/chain/output.h"
#include "experiments/job/job.h"
#include "mpi/runtime/progress.h"
#include "mpi/runtime/replicas.h"
#include "mpi/runtime/team.h"

typedef struct norma_chain_run {
    const norma_chain_setup *setup; /* borrowed, as are the next two */
    norma_chain_output *output;
    norma_checkpoint *checkpoint;
    norma_replicas *replicas; /* owned */
    norma_team team;          /* this rank's group */
    unsigned char *done;      /* [n_tasks]: finished in an earlier go; owned */
    norma_chain_block *block; /* of the last cell; owned */
    double save_interval;     /* seconds */
    norma_progress progress;
    int64_t work_before; /* of tasks finished in earlier goes */
    double started;
    bool warned;
} norma_chain_run;

/* Forms the groups of ranks, finds the tasks that are done and writes their results. Collective. */
NORMA_MUST_USE norma_status norma_chain_run_open(norma_chain_run *run, const norma_job_context *job,
                                                 const norma_chain_setup *setup,
                                                 norma_chain_output *output);

/* Computes all others, or stops with their states saved (NORMA_STOPPED). Collective. */
NORMA_MUST_USE norma_status norma_chain_run_all(norma_chain_run *run);

/* Collective. */
void norma_chain_run_clear(norma_chain_run *run);

#endif
