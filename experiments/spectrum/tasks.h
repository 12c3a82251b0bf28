#ifndef NORMA_EXPERIMENTS_SPECTRUM_TASKS_H
#define NORMA_EXPERIMENTS_SPECTRUM_TASKS_H
/*
 * The replicas of all cells, one after the other, each by all ranks. A finished one is kept in the
 * checkpoint, of a quadrature under way the finished probes.
 */
#include "experiments/job/job.h"
#include "experiments/spectrum/output.h"
#include "experiments/spectrum/setup.h"

typedef struct norma_spectrum_run {
    norma_pair_inputs inputs;
    norma_spectrum_layout layout;
    double memory_per_rank; /* bytes that a method may be chosen for */
    double *condition;      /* [cells][replicas]; owned */
    unsigned char *done;    /* [cells][replicas]; owned */
    double saved;           /* when a state was written last, seconds */
} norma_spectrum_run;

/* Bytes of the weights that a replica keeps beside what its method needs: a target, and the factors
 * of orthogonal tensors. Local. */
double norma_spectrum_weights_bytes(const norma_spectrum_cell *cell);

/* Sizes of the output. Local. */
NORMA_MUST_USE norma_status norma_spectrum_tasks_layout(const norma_job_context *job,
                                                        norma_spectrum_run *run);

/* Everything that the checkpoint does not have yet, into the open output. NORMA_STOPPED when a
 * signal or the time limit asked for the end. Collective. */
NORMA_MUST_USE norma_status norma_spectrum_tasks_run(norma_job_context *job,
                                                     norma_spectrum_run *run);

void norma_spectrum_tasks_clear(norma_spectrum_run *run);

#endif
