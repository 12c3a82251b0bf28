#ifndef NORMA_MPI_BENCH_BENCH_LAYER_H
#define NORMA_MPI_BENCH_BENCH_LAYER_H
/* Internal to mpi/bench: a random layer that is solved again and again. */
#include "mpi/bench/bench.h"
#include "mpi/layer/layer_solve.h"

/* A random layer, its source pair, and the fastest solution of it. */
typedef struct norma_bench_layer {
    MPI_Comm comm;
    norma_layer_problem problem;
    norma_solver_options options;
    norma_tensor *w1, *w2, *given; /* owned */
    double *target;                /* [n], owned */
    double seconds;                /* fastest solution so far, factors included */
    double seconds_assembly, seconds_condition;
    double flops;
} norma_bench_layer;

/* n_out x n_in channels, a kernel of `extent`, c1 = ceil((1 + excess) n); solved by all of comm.
 * Collective over comm; *l is to be cleared whatever the status. */
NORMA_MUST_USE norma_status norma_bench_layer_init(norma_bench_layer *l, const norma_bench *bench,
                                                   MPI_Comm comm, int64_t n_out, int64_t n_in,
                                                   int64_t extent, double excess);

norma_status norma_bench_layer_solve(void *layer); /* a norma_bench_action */

void norma_bench_layer_clear(norma_bench_layer *l);

#endif
