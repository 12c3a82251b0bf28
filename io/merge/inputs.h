#ifndef NORMA_IO_MERGE_INPUTS_H
#define NORMA_IO_MERGE_INPUTS_H
/* The result files that a merge reads: checked at open, afterwards opened as they are needed, so
 * that thousands of them need few file handles. Every rank reads for itself; all local. */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_merge_inputs norma_merge_inputs;

/* The provenance of a file. All texts are owned by the inputs; NULL where there is none. */
typedef struct norma_merge_about {
    const char *path; /* borrowed from the caller */
    char *configuration;
    char *input_files; /* lines "  key: value" that identify the content of input files */
    char *blas_kernel, *git_commit, *title, *signal;
    uint64_t seed;
    int64_t first_replica, n_replicas; /* 0, 0 without the dimension `replica` */
    bool has_cells;                    /* it has the group /cells */
} norma_merge_about;

/* Opens results of this version that are complete. NORMA_CONFIG, naming the file, for one that
 * cannot be read, is no result, runs, stopped early, lacks cells, or is of another version.
 * Borrows the paths; the caller destroys *out. */
NORMA_MUST_USE norma_status norma_merge_inputs_open_local(const char *const *paths, int64_t n,
                                                          norma_merge_inputs **out);

/* Borrowed; valid as long as the inputs. */
const norma_merge_about *norma_merge_inputs_about_local(const norma_merge_inputs *inputs,
                                                        int64_t input);

/* *out: does the file have the group? */
NORMA_MUST_USE norma_status norma_merge_inputs_has_local(norma_merge_inputs *inputs, int64_t input,
                                                         const char *group, bool *out);

/* Closes all; nulls; NULL is allowed. */
void norma_merge_inputs_destroy_local(norma_merge_inputs **inputs);

#endif
