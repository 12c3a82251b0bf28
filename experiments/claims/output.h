#ifndef NORMA_EXPERIMENTS_CLAIMS_OUTPUT_H
#define NORMA_EXPERIMENTS_CLAIMS_OUTPUT_H
/*
 * The result file of `norma claims`: a group /claims/NAME for each claim with both sides [case],
 * the standard error of their difference [case], the numbers of the worst case [number], and the
 * verdict as attributes.
 */
#include "experiments/claims/tasks.h"

/* Bytes of the file, roughly from above. Local. */
int64_t norma_claims_output_bytes(const norma_claims_run *run);

/* Adds groups, dimensions and variables to the open file. Collective. */
NORMA_MUST_USE norma_status norma_claims_output_begin(norma_job_context *job,
                                                      const norma_claims_run *run);

/* Writes the cases of a block by this rank. Local. */
NORMA_MUST_USE norma_status norma_claims_output_write_local(const norma_job_context *job,
                                                            const norma_claim *claim,
                                                            const norma_claim_budget *budget,
                                                            int64_t block, const double *record);

/* Writes worst cases and verdicts once run->merged is complete. Collective. */
NORMA_MUST_USE norma_status norma_claims_output_finish(norma_job_context *job,
                                                       const norma_claims_run *run);

#endif
