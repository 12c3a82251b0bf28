#ifndef NORMA_MPI_LINALG_LAYOUT_H
#define NORMA_MPI_LINALG_LAYOUT_H
/*
 * Block-cyclic index arithmetic in 64 bits, one axis at a time, apart from all communication: block
 * b of an axis belongs to process b mod n_processes, and a process keeps its blocks one after the
 * other (the distribution of ScaLAPACK with source process 0). All functions are local and pure.
 */
#include <stdint.h>

typedef struct norma_layout {
    int64_t n;       /* global length */
    int64_t block;   /* items of a block, > 0 */
    int n_processes; /* along this axis of the grid, > 0 */
} norma_layout;

/* Blocks of the axis, the last one possibly short. */
int64_t norma_layout_n_blocks_local(const norma_layout *layout);

/* Items that a process holds (ScaLAPACK's NUMROC). */
int64_t norma_layout_count_local(const norma_layout *layout, int process);

/* Global index of a process's local item. */
int64_t norma_layout_global_local(const norma_layout *layout, int process, int64_t local);

/* The process that holds a global item. */
int norma_layout_owner_local(const norma_layout *layout, int64_t global);

/* Local index of a global item at its owner. */
int64_t norma_layout_index_local(const norma_layout *layout, int64_t global);

/* Items from local item `local` on that are neighbours globally as well: to the end of its block,
 * or of the axis. */
int64_t norma_layout_run_local(const norma_layout *layout, int process, int64_t local);

#endif
