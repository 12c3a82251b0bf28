#ifndef NORMA_EXPERIMENTS_MERGE_PARTS_H
#define NORMA_EXPERIMENTS_MERGE_PARTS_H
/* The results that are merged: their configurations, the sweep that they are parts of, and where
 * the cells and replicas of each lie in it. Local; every rank reads the files for itself. */
#include "experiments/driver.h"
#include "io/merge/inputs.h"
#include "src/config/config.h"

/* One input file. All owned. */
typedef struct norma_merge_part {
    const char *path; /* borrowed */
    norma_config *config;
    int64_t n_cells;
    int64_t *cells; /* [n_cells] their numbers in the whole sweep */
    int64_t *order; /* [n_cells] sorts `cells` ascending; NULL: they ascend */
    int64_t first_replica, n_replicas;
} norma_merge_part;

typedef struct norma_merge_parts {
    MPI_Comm world; /* of all ranks; borrowed */
    norma_merge_inputs *inputs;
    const norma_command *command; /* of the subcommand that wrote them; borrowed */
    norma_merge_part *all;        /* [n] */
    int64_t n;
    norma_config *whole;
    int64_t first_replica, n_replicas; /* of the whole */
    bool joins_replicas;               /* some part has not all of them */
} norma_merge_parts;

/* Opens and compares the files paths[n]. NORMA_CONFIG naming the option, or what else differs, and
 * two files. *parts is to be cleared whatever is returned; paths are borrowed. */
NORMA_MUST_USE norma_status norma_merge_parts_open_local(const norma_call *call,
                                                         const char *const *paths, int64_t n,
                                                         norma_merge_parts *parts);

void norma_merge_parts_clear_local(norma_merge_parts *parts);

#endif
