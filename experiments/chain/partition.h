#ifndef NORMA_EXPERIMENTS_CHAIN_PARTITION_H
#define NORMA_EXPERIMENTS_CHAIN_PARTITION_H
/*
 * Which replicas are computed together: every run cuts the replicas of its cells into the blocks
 * that end it first. Large blocks take less work a replica, small ones keep more groups of ranks
 * busy. Costs come from sizes alone (src/chain/kernels/lanes.h), so that all ranks choose alike.
 * Bits do not depend on blocks. Nothing here communicates.
 */
#include "experiments/chain/setup.h"

/* A block: replicas first .. first + count - 1 of a cell in `lanes` places. */
typedef struct norma_chain_task {
    int64_t cell, first, count, lanes;
    double cost; /* operations, or seconds: of all layers */
    bool begun;  /* there is a state of it */
} norma_chain_task;

typedef struct norma_chain_partition {
    int64_t n, capacity;
    norma_chain_task *tasks; /* [n], longest first; owned */
    double longest;          /* when the last group ends, groups taking tasks in this order */
    double total;            /* of all tasks */
} norma_chain_partition;

/* Chooses the blocks of the replicas that are not done: done[setup->n_tasks], NULL for none. States
 * of blocks under way, states[n_states] as norma_chain_partition_state names them, keep their
 * blocks; each one that is used becomes -1. NORMA_MEMORY. The caller clears *out in any case. */
NORMA_MUST_USE norma_status norma_chain_partition_choose(const norma_chain_setup *setup,
                                                         int64_t n_groups,
                                                         const unsigned char *done, int64_t *states,
                                                         int64_t n_states,
                                                         norma_chain_partition *out);

void norma_chain_partition_clear(norma_chain_partition *partition);

/* Sorts by cost, and finds when n_groups groups end that each take the next task when they are
 * free: *longest and *total. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_chain_partition_time(norma_chain_partition *partition,
                                                       int64_t n_groups);

/* The number of a block's state in the checkpoint, which tells all of the block. */
int64_t norma_chain_partition_state(const norma_chain_setup *setup, const norma_chain_task *task);

#endif
