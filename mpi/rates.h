#ifndef NORMA_MPI_RATES_H
#define NORMA_MPI_RATES_H
/*
 * What a rank of this machine computes a second: the yardsticks of expected times (mpi/expect.h).
 */
#include "mpi/runtime.h"
#include "src/base/status.h"

/* Of one rank with its threads, all ranks working at once. */
typedef struct norma_rates {
    double dgemm; /* FP64 operations a second of a square matrix product */
    double sgemm; /* FP32 operations a second of one */
    double dgemv; /* matrix elements a second of an FP64 matrix-vector product beyond all caches */
} norma_rates;

/* Measures the rates, each the best of several turns, and takes the slowest rank's; about half a
 * second and 150 MB a rank. Collective over the runtime's world; equal on all ranks. NORMA_MEMORY.
 */
NORMA_MUST_USE norma_status norma_rates_measure(const norma_runtime *runtime, norma_rates *rates);

#endif
