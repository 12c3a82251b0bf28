#ifndef NORMA_EXPERIMENTS_GRADIENT_RUN_H
#define NORMA_EXPERIMENTS_GRADIENT_RUN_H
/* Computing the replicas of a gradient run, with checkpoints. */
#include "experiments/gradient/output.h"
#include "experiments/job/queue.h"

typedef struct norma_gradient_run {
    const norma_gradient_setup *setup; /* borrowed, as is the next */
    norma_gradient_output *output;
    norma_queue *queue;              /* owned */
    norma_gradient *gradient;        /* of the last cell; owned */
    const norma_gradient_cell *cell; /* that cell */
    double *numbers;                 /* its record; owned */
} norma_gradient_run;

/* Computes all replicas that the journal of the job does not hold, or stops with their states saved
 * (NORMA_STOPPED). Collective; *run is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_gradient_run_all(norma_gradient_run *run,
                                                   const norma_job_context *job,
                                                   const norma_gradient_setup *setup,
                                                   norma_gradient_output *output);

/* Collective. */
void norma_gradient_run_clear(norma_gradient_run *run);

#endif
