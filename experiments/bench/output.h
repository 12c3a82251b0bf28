#ifndef NORMA_EXPERIMENTS_BENCH_OUTPUT_H
#define NORMA_EXPERIMENTS_BENCH_OUTPUT_H
/* The result file of norma bench: every variable has the dimension `figure`. */
#include "experiments/job/job.h"
#include "mpi/bench/bench.h"

/* Opens the result of the job and writes all figures. Collective over the runtime's world. */
NORMA_MUST_USE norma_status norma_bench_output_write(const norma_bench *bench,
                                                     norma_job_context *job);

#endif
