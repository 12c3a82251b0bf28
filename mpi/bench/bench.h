#ifndef NORMA_MPI_BENCH_BENCH_H
#define NORMA_MPI_BENCH_BENCH_H
/*
 * How fast this machine does what Norma does, each rate beside the limit it is compared with.
 *
 * Both are measured in turn, on the same cores in the same run, and the fastest turn of each
 * counts: their ratio then says something where a time alone would not. All ranks work at once;
 * rates are of all of them together. The limits: `fma-double` and `fma-single`, multiply-adds on
 * registers by the widest instruction set; `dgemm` and `sgemm`, square products of OpenBLAS;
 * `memory`, storing constants to an array that no cache holds; `words`, the raw 64-bit words of the
 * generator on the same instruction set; `lu`, the FP64 solution of the same system; `kernels`, the
 * same products and random numbers as a chain's layer, called one after the other; `chain-layer`,
 * the layers of the same chain without gradients or observables; `lapack`, a routine of LAPACK that
 * does the same for a matrix that is there.
 */
#include "mpi/runtime/runtime.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { NORMA_BENCH_NAME = 48, NORMA_BENCH_MOST = 96 };

typedef struct norma_bench_figure {
    char name[NORMA_BENCH_NAME];  /* what was measured, "normal-avx2" */
    char limit[NORMA_BENCH_NAME]; /* what it is compared with, "words"; "none" */
    const char *unit;             /* what is counted: "flop", "number", "byte", "layer", "run" */
    int64_t size;                 /* extent of the problem: rows, width, images, bytes */
    double rate;                  /* counts a second, all ranks together */
    double limit_rate;            /* of the limit, in the same unit; NaN without one */
    double seconds;               /* of the fastest turn */
} norma_bench_figure;

typedef struct norma_bench {
    const norma_runtime *runtime; /* borrowed */
    double seconds;               /* to spend on a figure, about */
    int64_t n_gemm;               /* extent of the square products of a rank */
    int64_t n_system;             /* equations of the dense systems, about */
    int64_t n_channels;           /* of the convolution for krylov and evaluation */
    uint64_t seed;
    int n_figures;
    norma_bench_figure figures[NORMA_BENCH_MOST];
} norma_bench;

/* Default sizes for this run's ranks and threads; `quick` ones end within a minute on two cores. */
void norma_bench_init_local(norma_bench *bench, const norma_runtime *runtime, bool quick);

/* Bytes that the largest measurement takes on a rank. Local. */
int64_t norma_bench_bytes_local(const norma_bench *bench, int64_t n_ranks);

/* The measurements; each adds its figures to the list. Collective over the runtime's world; sizes
 * must be equal on all ranks. NORMA_MEMORY; whatever the modules that are measured return. */
NORMA_MUST_USE norma_status norma_bench_gemm(norma_bench *bench);     /* fma-, dgemm, sgemm */
NORMA_MUST_USE norma_status norma_bench_memory(norma_bench *bench);   /* memory */
NORMA_MUST_USE norma_status norma_bench_random(norma_bench *bench);   /* laws x instruction sets */
NORMA_MUST_USE norma_status norma_bench_assembly(norma_bench *bench); /* block-cyclic assembly */
NORMA_MUST_USE norma_status norma_bench_dense(norma_bench *bench);    /* direct solvers */
NORMA_MUST_USE norma_status norma_bench_krylov(norma_bench *bench);   /* matrix-free */
NORMA_MUST_USE norma_status norma_bench_network(norma_bench *bench);  /* evaluation */
NORMA_MUST_USE norma_status norma_bench_chain(norma_bench *bench);    /* layers of chains */
NORMA_MUST_USE norma_status norma_bench_gradient(norma_bench *bench); /* their gradients */
NORMA_MUST_USE norma_status norma_bench_small(norma_bench *bench);    /* many small systems, svd */

/* --- for modules that measure ---------------------------------------------------------------- */

/* Work to be timed, the same on all ranks; norma_bench_time agrees on its status. */
typedef norma_status (*norma_bench_action)(void *context);

/* Runs work and, unless NULL, limit in turn until bench->seconds are spent, each once at least, a
 * short limit three times in the first turn; *seconds and *limit_seconds are the fastest turn's of
 * the slowest rank. Collective. */
NORMA_MUST_USE norma_status norma_bench_time(const norma_bench *bench, norma_bench_action work,
                                             void *work_context, norma_bench_action limit,
                                             void *limit_context, double *seconds,
                                             double *limit_seconds);

/* Appends a figure. Local; equal on all ranks. */
void norma_bench_add_local(norma_bench *bench, const norma_bench_figure *figure);

/* The same for work and limit that both do `count` units on every rank, in the seconds that
 * norma_bench_time found; of *figure, name, limit, unit and size are read. Local. */
void norma_bench_add_counts_local(norma_bench *bench, const norma_bench_figure *figure,
                                  int64_t count, double seconds, double limit_seconds);

/* A square product of BLAS on every rank, in FP64 or FP32, as work or limit. */
typedef struct norma_bench_product norma_bench_product;
NORMA_MUST_USE norma_status norma_bench_product_create(const norma_bench *bench, bool single,
                                                       norma_bench_product **out);
norma_status norma_bench_product_run(void *product); /* a norma_bench_action */
double norma_bench_product_flops_local(const norma_bench_product *product); /* of all ranks */
void norma_bench_product_destroy_local(norma_bench_product **product);

/* Multiply-adds on registers by all threads of all ranks, as work or limit: the processors' own
 * limit, measured without any library. */
typedef struct norma_bench_peak {
    int64_t n_rounds; /* of each thread */
    bool single;
    double flops; /* of this rank in the last run */
} norma_bench_peak;
norma_status norma_bench_peak_run(void *context); /* a norma_bench_action */

/* Storing constants to an array beyond all caches on every rank, as work or limit. */
typedef struct norma_bench_store norma_bench_store;
NORMA_MUST_USE norma_status norma_bench_store_create(const norma_bench *bench,
                                                     norma_bench_store **out);
norma_status norma_bench_store_run(void *store);                      /* a norma_bench_action */
double norma_bench_store_bytes_local(const norma_bench_store *store); /* of all ranks */
void norma_bench_store_destroy_local(norma_bench_store **store);

#endif
