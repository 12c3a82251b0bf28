#ifndef NORMA_EXPERIMENTS_BENCH_OUTPUT_H
#define NORMA_EXPERIMENTS_BENCH_OUTPUT_H
/* The result file of norma bench: every variable has the dimension `figure`. */
#include "experiments/driver.h"
#include "mpi/bench/bench.h"
#include "src/config/config.h"

/* Writes all figures to the file that the configuration names. Collective over the runtime's
 * world. */
NORMA_MUST_USE norma_status norma_bench_output_write(const norma_bench *bench,
                                                     const norma_call *call,
                                                     const norma_config *config);

#endif
