#ifndef NORMA_EXPERIMENTS_BENCH_FILE_H
#define NORMA_EXPERIMENTS_BENCH_FILE_H
/* How fast result files are written, for norma bench. */
#include "mpi/bench/bench.h"

#include <stdint.h>

/* Writes `bytes` a rank into one variable of a result file, from its creation to its verified and
 * synced end, beside each rank's own plain file of as many bytes, written and synced: the figure
 * "hdf5" with the limit "files". Files are named after `path` and removed. Collective over the
 * runtime's world. NORMA_IO when they cannot be written. */
NORMA_MUST_USE norma_status norma_bench_file(norma_bench *bench, const char *path, int64_t bytes);

#endif
