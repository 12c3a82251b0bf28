#ifndef NORMA_EXPERIMENTS_CHAIN_PARTITION_H
#define NORMA_EXPERIMENTS_CHAIN_PARTITION_H
/*
 * The replicas of a cell are computed in blocks. Every run chooses the sizes of its blocks so that
 * it ends first: a large block takes less work a replica, small blocks keep more groups of ranks
 * busy. Costs come from sizes alone (src/chain/kernels/lanes.h), so that all ranks choose alike.
 * Bits do not depend on blocks. Nothing here communicates.
 */
#include "experiments/chain/setup.h"

/* A block: replicas first .. first + count - 1 of a cell, in `lanes` vector lanes. */
typedef struct norma_chain_task {
    int64_t cell, first, count, lanes;
    double cost; /* of all layers, in operations or seconds */
    bool begun;  /* the checkpoint holds a state of it */
} norma_chain_task;

typedef struct norma_chain_partition {
    int64_t n, capacity;
    norma_chain_task *tasks; /* [n], longest first; owned */
    double longest;          /* time at which the last group ends, by norma_chain_partition_time */
    double total;            /* of all tasks */
} norma_chain_partition;

/* Chooses the blocks of the replicas that are not done: done[setup->n_tasks], NULL for none done.
 * states[n_states] are the saved states of unfinished blocks (numbers of
 * norma_chain_partition_state): these blocks stay as they are, and each state that is used becomes
 * -1. NORMA_MEMORY. The caller clears *out in any case. */
NORMA_MUST_USE norma_status norma_chain_partition_choose(const norma_chain_setup *setup,
                                                         int64_t n_groups,
                                                         const unsigned char *done, int64_t *states,
                                                         int64_t n_states,
                                                         norma_chain_partition *out);

void norma_chain_partition_clear(norma_chain_partition *partition);

/* Sorts the tasks by cost and sets longest and total, for n_groups groups that each take the next
 * task when they are free. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_chain_partition_time(norma_chain_partition *partition,
                                                       int64_t n_groups);

/* The number of a block's state in the checkpoint. Cell, replicas and lanes follow from it. */
int64_t norma_chain_partition_state(const norma_chain_setup *setup, const norma_chain_task *task);

/* The block's first replica, as a task, from the number of its state; and the number of a block
 * like that of `state` whose first replica is another. */
int64_t norma_chain_partition_first(int64_t state);
int64_t norma_chain_partition_move(int64_t state, int64_t first);

#endif
