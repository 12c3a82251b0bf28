#ifndef NORMA_MPI_PLAN_PLAN_H
#define NORMA_MPI_PLAN_PLAN_H
/*
 * Does it fit, and how long will it take: the checks before a run and the figures of `norma plan`.
 * The modules compute the memory that they need; this one compares it with the machine and advises.
 */
#include "mpi/runtime/runtime.h"
#include "src/base/status.h"

#include <stdint.h>

/* The machine a run is planned for. */
typedef struct norma_plan_machine {
    int64_t n_ranks;
    int64_t ranks_per_node;
    int64_t node_memory; /* bytes */
    int64_t base_memory; /* bytes of a rank before it computes, BLAS's own buffers included */
} norma_plan_machine;

/* Bytes that each rank will hold at its peak with n_ranks ranks; -1 when a limit of a library
 * forbids that number. Local and pure. */
typedef int64_t (*norma_plan_bytes_function)(const void *context, int64_t n_ranks);

/* Fills *machine from this run: its ranks, the largest number of them on a node, the least memory
 * available on any node, and what a process takes by itself. Collective over the runtime's world;
 * equal on all ranks. */
NORMA_MUST_USE norma_status norma_plan_machine_measure(const norma_runtime *runtime,
                                                       norma_plan_machine *machine);

/* NORMA_LIMIT when the peak memory of `what` exceeds the machine's, or a limit forbids the number
 * of ranks: the message says how much is needed, how much there is, and the smallest number of
 * nodes of this kind on which it would fit; `advice` is appended ("or use --solver krylov"; NULL:
 * nothing). Local; equal on all ranks for equal arguments. */
NORMA_MUST_USE norma_status norma_plan_check_local(const norma_plan_machine *machine,
                                                   const char *what,
                                                   norma_plan_bytes_function bytes,
                                                   const void *context, const char *advice);

/* "1.25 GiB", "12.0 MiB", "512 B" into text[length]. Local. */
void norma_plan_format_bytes_local(double bytes, char *text, int length);

/* Prints "# memory a rank ..., node memory ..., file at most ..." on stdout. Local. */
void norma_plan_print_memory_local(const norma_plan_machine *machine, double bytes_a_rank,
                                   double file_bytes);

/* The largest of all ranks. Collective over the runtime's world. */
int64_t norma_plan_peak_memory(const norma_runtime *runtime);

#endif
