#ifndef NORMA_EXPERIMENTS_LAYERS_SCHEDULE_H
#define NORMA_EXPERIMENTS_LAYERS_SCHEDULE_H
/* Which layers of a chain are recorded. Nothing here communicates. */
#include "src/base/status.h"

#include <stdint.h>

/* Layers start, start + step, .. of which there are `count`; record `index` is the first one. */
typedef struct norma_chain_run_of_layers {
    int64_t start, step, count, index;
} norma_chain_run_of_layers;

/* Increasing layer numbers, as few runs of them: memory does not grow with the depth. */
typedef struct norma_chain_schedule {
    int64_t n; /* layers */
    int64_t n_runs, capacity;
    norma_chain_run_of_layers *runs; /* [n_runs], owned */
} norma_chain_schedule;

/* The layers of `text` ("log", "log:20", "all", "none", "every:K", "first:X+every:K") up to the
 * largest of depths[n_depths], and the depths themselves, so that every chain's last layer is
 * there; each brought down to a multiple of `stride`. NORMA_CONFIG for another text. */
NORMA_MUST_USE norma_status norma_chain_schedule_make(const char *text, int64_t stride,
                                                      const int64_t *depths, int64_t n_depths,
                                                      norma_chain_schedule *out);

/* Layer number i of them, 0 <= i < n. */
int64_t norma_chain_schedule_layer(const norma_chain_schedule *schedule, int64_t i);

/* How many of them are at most `depth`. */
int64_t norma_chain_schedule_count(const norma_chain_schedule *schedule, int64_t depth);

void norma_chain_schedule_clear(norma_chain_schedule *schedule);

#endif
