#ifndef NORMA_EXPERIMENTS_ALIGN_TASKS_H
#define NORMA_EXPERIMENTS_ALIGN_TASKS_H
/* The replicas of all cells, each computed by one rank, taken from a queue; a finished one is kept
 * in the checkpoint. */
#include "experiments/align/output.h"
#include "experiments/job/queue.h"

typedef struct norma_align_run {
    norma_pair_inputs inputs;
    norma_align_layout layout;
    norma_job_context *job; /* borrowed */
    norma_queue *queue;
} norma_align_run;

/* Sizes of the output. Local. */
NORMA_MUST_USE norma_status norma_align_tasks_layout(const norma_job_context *job,
                                                     norma_align_run *run);

/* Everything that the checkpoint does not have yet, into the open output. NORMA_STOPPED when a
 * signal or the time limit asked for the end. Collective. */
NORMA_MUST_USE norma_status norma_align_tasks_run(norma_job_context *job, norma_align_run *run);

/* Collective. */
void norma_align_tasks_clear(norma_align_run *run);

#endif
