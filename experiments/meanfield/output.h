#ifndef NORMA_EXPERIMENTS_MEANFIELD_OUTPUT_H
#define NORMA_EXPERIMENTS_MEANFIELD_OUTPUT_H
/* The result file of norma meanfield. */
#include "experiments/job/job.h"
#include "experiments/meanfield/record.h"

/* Creates the file with its dimensions and the variables of the variants that occur. Collective. */
NORMA_MUST_USE norma_status norma_meanfield_output_open(norma_job_context *job,
                                                        const norma_meanfield_sizes *sizes,
                                                        bool kernel, bool batch);

/* Writes a cell by this rank alone. */
NORMA_MUST_USE norma_status
norma_meanfield_output_write_local(norma_job_context *job, const norma_meanfield_request *request,
                                   const norma_meanfield_record *record, int64_t cell);

/* Prints the cell of a run that has one. */
void norma_meanfield_output_print(const norma_meanfield_request *request,
                                  const norma_meanfield_record *record);

#endif
