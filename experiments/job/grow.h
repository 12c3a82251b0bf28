#ifndef NORMA_EXPERIMENTS_JOB_GROW_H
#define NORMA_EXPERIMENTS_JOB_GROW_H
/*
 * Runs that grow: --resume with more replicas, a longer sweep or a larger depth takes over all that
 * the checkpoint holds, and computes what is new.
 *
 * A task keeps its meaning (a cell by the values of its options, a replica by its number) and gets
 * the number that it has in the larger run. All functions are local, with equal results on all
 * ranks.
 */
#include "io/checkpoint/checkpoint.h"
#include "src/base/text.h"
#include "src/config/config.h"

enum { NORMA_GROW_KEYS = 32 };

/* A run and the one before that it extends. */
typedef struct norma_grow {
    const norma_config *now;               /* borrowed */
    norma_config *before;                  /* owned; NULL: the run before is not known */
    bool grows;                            /* this run is larger */
    bool deeper;                           /* --depth is */
    const char *other;                     /* the first option that differs otherwise; NULL: none */
    int n_free, n_keys;                    /* the first n_free of them may always */
    const char *keys[NORMA_GROW_KEYS + 1]; /* options that may differ; NULL-terminated */
    int64_t *cells;            /* of the run before: their numbers in this one; owned; NULL: none */
    int64_t n_parts, n_behind; /* tasks: norma_job.tasks */
} norma_grow;

/* Compares this run with the configuration of the one before, a text of norma_config_write with
 * further lines. `sections` as in norma_config_apply. A text that cannot be read counts as one that
 * grows in nothing. NORMA_CONFIG where all that differs could be extended but this sweep cannot:
 * its cells would have other random numbers or record other layers. *grow is to be cleared whatever
 * is returned. */
NORMA_MUST_USE norma_status norma_grow_init(const norma_config *now, const char *const *sections,
                                            const char *text, bool deepens, norma_grow *grow);

/* The keys of a run that extends none. */
void norma_grow_free_keys(norma_grow *grow);

void norma_grow_clear(norma_grow *grow);

/* Appends "replicas 4 -> 6, depth 100 -> 200". */
void norma_grow_describe(const norma_grow *grow, norma_text *out);

/* The number in this run of a task of the one before: [cells][replicas][n_parts], then
 * [cells][replicas][n_behind]; negative for one that is none. `context` is a norma_grow: a function
 * of norma_checkpoint_growth. */
int64_t norma_grow_task(const void *context, int64_t task);

#endif
