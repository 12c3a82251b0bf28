#ifndef NORMA_MPI_RUNTIME_RUNTIME_H
#define NORMA_MPI_RUNTIME_RUNTIME_H
/*
 * The process's beginning and end: MPI, threads, the one error message, the exit code.
 * This is the only file that starts or ends MPI and that turns MPI_COMM_WORLD into Norma's own
 * communicator.
 */
#include "mpi/runtime/blas.h"
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_runtime {
    MPI_Comm world; /* Norma's duplicate of MPI_COMM_WORLD; owned */
    MPI_Comm node;  /* the ranks that share this rank's memory; owned */
    int rank, size;
    int node_rank, node_size;
    int n_nodes;
    int n_cores_allowed;       /* cores this node's ranks may use together */
    int n_cores_bound;         /* cores this rank may use, as its binding leaves them */
    int n_threads;             /* OpenMP and BLAS threads of this rank */
    long long n_threads_asked; /* OMP_NUM_THREADS, where it was not taken as it is; else 0 */
    char blas_kernel[NORMA_BLAS_NAMES]; /* of all ranks (mpi/runtime/blas.h) */
} norma_runtime;

/* Settles BLAS's kernels, for which it may start the program again (mpi/runtime/blas.h); starts MPI
 * (FUNNELED), duplicates the world once, and settles the number of threads: OMP_NUM_THREADS, or
 * max(1, allowed cores / ranks on the node), never more than this rank's own binding allows;
 * OpenBLAS gets the same number. An OMP_NUM_THREADS that is no whole number is refused
 * (NORMA_USAGE); one far above the cores becomes their number, and OMP_THREAD_LIMIT holds.
 * Collective over all processes; *out is set also when a status other than NORMA_OK is returned
 * after MPI started, so that norma_runtime_close can report it. */
NORMA_MUST_USE norma_status norma_runtime_open(int *argc, char ***argv, norma_runtime **out);

/* Did a launcher announce more than one rank to this process? Needs no MPI. Local. */
bool norma_runtime_is_launched_local(void);

/* NORMA_USAGE, with the first rank that differs, unless all ranks have the same arguments.
 * Collective. */
NORMA_MUST_USE norma_status norma_runtime_check_arguments(const norma_runtime *runtime, int argc,
                                                          char *const *argv);

/* NORMA_USAGE when the launcher promised more ranks than MPI has: each process would compute the
 * whole and they would write the same file. Collective. */
NORMA_MUST_USE norma_status norma_runtime_check_launch(const norma_runtime *runtime);

/* Prints what the start found: slow BLAS kernels and a clamped OMP_NUM_THREADS as warnings, the
 * kernels in use at level VERBOSE. Once the log's level is set. Local. */
void norma_runtime_report_local(const norma_runtime *runtime);

/* Says on the log what the run has: ranks, nodes, threads, cores, binding; warns where threads
 * outnumber cores. Local. */
void norma_runtime_announce_local(const norma_runtime *runtime);

/* A seed from the system's own randomness, the same on all ranks. Collective. */
NORMA_MUST_USE norma_status norma_runtime_draw_seed(const norma_runtime *runtime, uint64_t *seed);

/* Reports the error of a process without MPI, or of rank 0; returns the exit code. Local. */
int norma_runtime_end_local(norma_status status);

/* Reports the error once (rank 0), reports leaked allocations, ends MPI; returns the exit code.
 * `status` must be agreed on. Collective; nulls *runtime. */
int norma_runtime_close(norma_runtime **runtime, norma_status status);

#endif
