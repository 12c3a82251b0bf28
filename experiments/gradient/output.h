#ifndef NORMA_EXPERIMENTS_GRADIENT_OUTPUT_H
#define NORMA_EXPERIMENTS_GRADIENT_OUTPUT_H
/*
 * The result file of a gradient run: values of replicas [sweep.., replica, (layer | window |
 * pair)], statistics over replicas [sweep.., (layer)].
 */
#include "experiments/gradient/record.h"
#include "io/result/result.h"

typedef struct norma_gradient_output {
    norma_result *file;                /* borrowed */
    const norma_gradient_setup *setup; /* borrowed */
    const norma_runtime *runtime;      /* borrowed */
    double **records;                  /* [n_tasks]: of replicas finished or replayed here; owned */
} norma_gradient_output;

/* Bytes of the file, roughly from above. Local. */
int64_t norma_gradient_output_bytes(const norma_gradient_setup *setup);

/* Adds everything that the file will hold, and begins it. `file` is borrowed. Collective; clear on
 * failure. */
NORMA_MUST_USE norma_status norma_gradient_output_layout(norma_gradient_output *output,
                                                         const norma_runtime *runtime,
                                                         const norma_gradient_setup *setup,
                                                         norma_result *file);

/* Writes the record of a task and keeps a copy for the statistics. Local. */
NORMA_MUST_USE norma_status norma_gradient_output_write_local(norma_gradient_output *output,
                                                              int64_t task, const double *numbers);

/* Writes `count` numbers of a cell without replicas: one, or (along) layers from the first. Local.
 */
NORMA_MUST_USE norma_status norma_gradient_output_write_cell_local(norma_gradient_output *output,
                                                                   const norma_gradient_cell *cell,
                                                                   const char *name, bool along,
                                                                   int64_t count,
                                                                   const double *values);

void norma_gradient_output_clear(norma_gradient_output *output);

#endif
