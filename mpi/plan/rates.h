#ifndef NORMA_MPI_PLAN_RATES_H
#define NORMA_MPI_PLAN_RATES_H
/*
 * Rates of one rank of this machine, from which expected times are computed
 * (mpi/plan/expect.h).
 */
#include "mpi/plan/traffic.h"
#include "mpi/runtime/runtime.h"
#include "src/base/status.h"

/* Of one rank with its threads, all ranks working at once. */
typedef struct norma_rates {
    double dgemm;                  /* FP64 operations a second of a square matrix product */
    double sgemm;                  /* FP32 operations a second of one */
    double fma_double, fma_single; /* FP64 and FP32 operations a second that the cores can do */
    double dgemv; /* matrix elements a second of an FP64 matrix-vector product beyond all caches */
    int per_node; /* ranks of a node */
    norma_traffic_network network; /* assumed, not measured */
} norma_rates;

/* Measures the rates, each the best of several turns, and takes the slowest rank's; about half a
 * second and 150 MB a rank. Collective over the runtime's world; equal on all ranks. NORMA_MEMORY.
 */
NORMA_MUST_USE norma_status norma_rates_measure(const norma_runtime *runtime, norma_rates *rates);

/* The rates of a usual processor core, nodes of 32 of them, for choices that must not depend on
 * measurements: a group of n_ranks consecutive ranks. Local and pure. */
void norma_rates_assume_local(norma_rates *rates, int64_t n_ranks);

/* DGEMM of that core, operations a second. */
#define NORMA_RATES_ASSUMED_DGEMM 49e9

/* Places n_ranks such ranks on nodes of per_node, and assumes a network: messages of 1 microsecond
 * and 4 GB/s a rank inside a node; of 2 microseconds, and 25 GB/s that the ranks of a node share,
 * between nodes. Local. */
void norma_rates_place_local(norma_rates *rates, int64_t n_ranks, int64_t per_node);

#endif
