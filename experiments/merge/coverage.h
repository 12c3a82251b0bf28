#ifndef NORMA_EXPERIMENTS_MERGE_COVERAGE_H
#define NORMA_EXPERIMENTS_MERGE_COVERAGE_H
/* Which part holds which cell and replica of the whole sweep: each once, and none is missing.
 * Local. */
#include "experiments/merge/parts.h"

/* A cell as one part holds it, with the part's replicas. */
typedef struct norma_merge_entry {
    int64_t cell;        /* of the whole */
    int64_t part, index; /* and the cell's index there */
} norma_merge_entry;

typedef struct norma_merge_coverage {
    norma_merge_entry *entries; /* [n] by cell, then by the parts' first replicas; owned */
    int64_t n;
    int64_t n_missing; /* cells that lack replicas, or all of them */
    char *missing;     /* the first few of them, for people; owned */
} norma_merge_coverage;

/* NORMA_CONFIG where two parts hold the same cell and replica, naming it and both files.
 * *coverage is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_merge_coverage_init(const norma_merge_parts *parts,
                                                      norma_merge_coverage *coverage);

void norma_merge_coverage_clear(norma_merge_coverage *coverage);

#endif
