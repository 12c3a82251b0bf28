#ifndef NORMA_EXPERIMENTS_CHAIN_COVERAGE_H
#define NORMA_EXPERIMENTS_CHAIN_COVERAGE_H
/*
 * Which records of which replicas the journals hold. Pieces come in any order, some twice; a result
 * or a state counts only when the journals hold every record before it. Local.
 */
#include "experiments/chain/block.h"

/* A piece's layers after < l <= upto of one replica. */
typedef struct norma_chain_span {
    int64_t task, after, upto;
} norma_chain_span;

typedef struct norma_chain_coverage {
    int64_t n_tasks;
    double
        *covered; /* [n_tasks]: 1 + the layer up to which all records are there, 0: none; owned */
    int64_t *needed; /* [n_tasks]: the layer that a finished replica needs, -1; owned */
    int64_t n_spans, capacity;
    norma_chain_span *spans; /* owned */
} norma_chain_coverage;

/* NORMA_MEMORY; clear in any case. */
NORMA_MUST_USE norma_status norma_chain_coverage_init(norma_chain_coverage *coverage,
                                                      int64_t n_tasks);
void norma_chain_coverage_clear(norma_chain_coverage *coverage);

/* Adds a piece of replicas task .. task + count - 1. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_chain_coverage_add(norma_chain_coverage *coverage, int64_t task,
                                                     const norma_chain_piece *piece);

/* When all are there: fills `covered`, and takes from `done` the replicas of which a record is
 * missing. */
void norma_chain_coverage_settle(norma_chain_coverage *coverage, unsigned char *done);

/* Are all records of replicas task .. task + count - 1 up to `layer` (-1: there are none) there? */
bool norma_chain_coverage_holds(const norma_chain_coverage *coverage, int64_t task, int64_t count,
                                int64_t layer);

#endif
