#ifndef NORMA_EXPERIMENTS_SPECTRUM_OUTPUT_H
#define NORMA_EXPERIMENTS_SPECTRUM_OUTPUT_H
/*
 * The result file of `norma spectrum`: scalars [sweep..., replica], curves [sweep..., replica,
 * bin], outliers [sweep..., replica, c2], quantiles of condition numbers [sweep...]; singular
 * values [replica, index] at the root in a run with a single cell, in /cells/NNNNNN in a sweep.
 */
#include "experiments/job/job.h"
#include "experiments/spectrum/record.h"

/* Sizes that all cells share. */
typedef struct norma_spectrum_layout {
    int64_t n_replicas, n_cells, n_bins;
    int64_t n_outliers; /* the largest c2; 0 where no cell has the min rule */
    int64_t *n_saved;   /* [n_cells]: singular values of a replica; owned */
} norma_spectrum_layout;

/* Bytes of the file, roughly from above. Local. */
int64_t norma_spectrum_output_bytes(const norma_spectrum_layout *layout);

/* Adds dimensions and variables to the open file. Collective. */
NORMA_MUST_USE norma_status norma_spectrum_output_begin(norma_job_context *job,
                                                        const norma_spectrum_layout *layout);

/* A replica's record, held by rank 0 alone or by all ranks: rank 0 writes it. Local. */
NORMA_MUST_USE norma_status norma_spectrum_output_write_local(norma_job_context *job, int64_t cell,
                                                              int64_t replica,
                                                              const norma_spectrum_record *record);

/* Median and quartiles over replicas of condition[n_replicas] of a cell; on rank 0, as above. The
 * array is sorted. Local. */
NORMA_MUST_USE norma_status norma_spectrum_output_quantiles_local(norma_job_context *job,
                                                                  int64_t cell, double *condition,
                                                                  int64_t n_replicas);

#endif
