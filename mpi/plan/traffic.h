#ifndef NORMA_MPI_PLAN_TRAFFIC_H
#define NORMA_MPI_PLAN_TRAFFIC_H
/*
 * Counts of messages between ranks: calls and bytes of a rank in the LU factorization
 * (mpi/linalg/factor), the solves with its factors, and an iteration of krylov
 * (mpi/krylov/conjugate) or chebyshev (mpi/krylov/chebyshev).
 *
 * A collective counts as one call with the bytes of its buffer, an all-to-all with those that leave
 * the rank. For times it becomes messages, p being its ranks: a broadcast or a sum to one rank
 * ceil(log2 p) of them after each other and its bytes once, a sum to all twice as many and its
 * bytes twice (halving and doubling), an all-to-all p - 1 and its bytes once. All functions are
 * local and pure.
 */
#include "mpi/linalg/grid.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_traffic_kind {
    NORMA_TRAFFIC_SEND,      /* message to one rank */
    NORMA_TRAFFIC_ALLREDUCE, /* sum, or choice, to all */
    NORMA_TRAFFIC_BCAST,
    NORMA_TRAFFIC_REDUCE,
    NORMA_TRAFFIC_ALLTOALL,
    NORMA_N_TRAFFIC
} norma_traffic_kind;

/* Of one rank; seconds are of calls one after the other on the network of the layout. */
typedef struct norma_traffic {
    double calls[NORMA_N_TRAFFIC];
    double bytes[NORMA_N_TRAFFIC];
    double seconds[NORMA_N_TRAFFIC];
} norma_traffic;

/* A message of b bytes takes latency + b / bandwidth. */
typedef struct norma_traffic_network {
    double latency;   /* seconds */
    double bandwidth; /* bytes a second of a rank */
} norma_traffic_network;

/* A block-cyclic matrix as a rank of its grid sees it. */
typedef struct norma_traffic_layout {
    int64_t n, block;
    norma_grid_shape grid;
    int row, column; /* of the rank; rank = row * columns + column */
    int per_node;    /* ranks that share memory, consecutive ones */
    bool single;     /* entries are FP32 */
    norma_traffic_network network;
} norma_traffic_layout;

/* Adds a factorization. Exact but for the rows that pivots exchange: those are expected values for
 * pivots that are equally likely in all remaining rows, every call of them being made. */
void norma_traffic_factor_local(const norma_traffic_layout *layout, norma_traffic *traffic);

/* Adds a solve, plain or transposed, with the factors; no rank is idle. Exact for plain ones. */
void norma_traffic_solve_local(const norma_traffic_layout *layout, norma_traffic *traffic);

/* Adds a pass over the features: of an iteration of krylov or chebyshev, n = c2 c0 |K| rows of KR.
 * Exact. */
void norma_traffic_pass_local(int64_t n, int n_ranks, norma_traffic_network network,
                              norma_traffic *traffic);

#endif
