#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_ORDERS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_ORDERS_H
/*
 * The orders of channels (construct/alignment.h) of all replicas of a run. One rank searches for
 * those of a replica, all ranks have them before its layers are solved; an earlier run's layers
 * keep theirs. A unit is one replica of one cell.
 */
#include "experiments/job/queue.h"
#include "experiments/reconstruct/construct/alignment.h"

typedef struct norma_reconstruct_orders {
    const norma_runtime *runtime; /* borrowed, as are the next */
    const norma_config *config;
    const norma_reconstruct_inputs *inputs;
    int64_t n_replicas, n_units, length;
    double **numbers; /* [n_units][length]; NULL where not needed or not found yet; owned */
} norma_reconstruct_orders;

/* Of n_units units, none found yet. Collective; caller owns *out. */
NORMA_MUST_USE norma_status norma_reconstruct_orders_create(const norma_runtime *runtime,
                                                            const norma_config *config,
                                                            const norma_reconstruct_inputs *inputs,
                                                            int64_t n_replicas, int64_t n_units,
                                                            norma_reconstruct_orders **out);

/* The orders of units first .. first + n - 1 on all ranks, where needed[n] says so (equal on all
 * ranks). Rank 0 may hold those of an earlier run. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_orders_find(norma_reconstruct_orders *orders,
                                                          int64_t first, int64_t n,
                                                          const bool *needed);

/* Places for the numbers of a unit, zeros unless it has some: *numbers [*n], borrowed; NULL and 0
 * without orders. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_orders_open_local(norma_reconstruct_orders *orders,
                                                                int64_t unit, double **numbers,
                                                                int64_t *n);

/* Gives a cell the orders of a unit, if they are there. NULL is allowed. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_orders_use_local(
    const norma_reconstruct_orders *orders, int64_t unit, norma_reconstruct_cell *cell);

/* Forgets those of a unit. NULL is allowed. Local. */
void norma_reconstruct_orders_drop_local(norma_reconstruct_orders *orders, int64_t unit);

/* Nulls; NULL is allowed. Local. */
void norma_reconstruct_orders_destroy(norma_reconstruct_orders **orders);

#endif
