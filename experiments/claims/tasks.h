#ifndef NORMA_EXPERIMENTS_CLAIMS_TASKS_H
#define NORMA_EXPERIMENTS_CLAIMS_TASKS_H
/* The blocks of all claims, each examined by one rank, taken from a queue; a finished one is kept
 * in the checkpoint. */
#include "experiments/claims/options.h"
#include "experiments/job/queue.h"

typedef struct norma_claims_run {
    int64_t n_claims;
    int64_t *claims;             /* [n_claims], numbers of norma_claim_names; owned */
    norma_claim_budget *budgets; /* [n_claims]; no blocks: not examined; owned */
    int64_t *first;              /* [n_claims + 1]: the first task of each; owned */
    double *heads;          /* [n_tasks][NORMA_CLAIM_HEAD], of this rank until the end; owned */
    double *record;         /* of the task under way; owned */
    double *merged;         /* [n_claims][NORMA_CLAIM_HEAD]; owned */
    norma_job_context *job; /* borrowed */
    norma_queue *queue;
} norma_claims_run;

/* Reads which claims, and how much for each. Local; the caller clears. */
NORMA_MUST_USE norma_status norma_claims_prepare(const norma_config *config, norma_claims_run *run);

/* Examines what the checkpoint does not have yet, into the open output; then run->merged is
 * complete on all ranks. NORMA_STOPPED as norma_queue_run. Collective. */
NORMA_MUST_USE norma_status norma_claims_tasks_run(norma_job_context *job, norma_claims_run *run);

/* Collective. */
void norma_claims_clear(norma_claims_run *run);

#endif
