#ifndef NORMA_EXPERIMENTS_ALIGN_OUTPUT_H
#define NORMA_EXPERIMENTS_ALIGN_OUTPUT_H
/*
 * The result file of `norma align`: scalars [sweep..., replica], results of searches [sweep...,
 * replica, search], permutations [sweep..., replica, search, channel].
 */
#include "experiments/align/record.h"
#include "experiments/job/job.h"

/* Sizes that all cells share. */
typedef struct norma_align_layout {
    int64_t n_replicas, n_cells;
    int64_t n_channels; /* the largest c2 */
    int n_searches;
    int searches[NORMA_N_ALIGN_SEARCHES];
} norma_align_layout;

/* Bytes of the file, roughly from above. Local. */
int64_t norma_align_output_bytes(const norma_align_layout *layout);

/* Adds dimensions and variables to the open file. Collective. */
NORMA_MUST_USE norma_status norma_align_output_begin(norma_job_context *job,
                                                     const norma_align_layout *layout);

/* Writes a replica's record by this rank. Local. */
NORMA_MUST_USE norma_status norma_align_output_write_local(const norma_job_context *job,
                                                           int64_t cell, int64_t replica,
                                                           const norma_align_record *record);

#endif
