#ifndef NORMA_EXPERIMENTS_MERGE_OUTPUT_H
#define NORMA_EXPERIMENTS_MERGE_OUTPUT_H
/* The merged file. */
#include "experiments/merge/coverage.h"
#include "io/result/result.h"

/* Writes all of it but its end: provenance, dimensions, variables, arrays of cells. Collective over
 * the file's communicator, equal arguments on all ranks. */
NORMA_MUST_USE norma_status norma_merge_output_write(const norma_call *call,
                                                     norma_merge_parts *parts,
                                                     const norma_merge_coverage *coverage,
                                                     norma_result *file);

#endif
