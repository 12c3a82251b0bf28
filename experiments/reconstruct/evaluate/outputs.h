#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_EVALUATE_OUTPUTS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_EVALUATE_OUTPUTS_H
/* The file of `norma evaluate --output`: the outputs of target and source for every image. */
#include "experiments/driver.h"
#include "experiments/reconstruct/setup.h"
#include "io/result/result.h"

typedef struct norma_reconstruct_outputs {
    const norma_runtime *runtime; /* borrowed */
    norma_result *file;           /* owned; NULL without --output */
    int64_t n_outputs;            /* of the networks, an image */
    int64_t first, n_local;       /* this rank's images */
    double *target, *source;      /* [n_local][n_outputs]; owned */
} norma_reconstruct_outputs;

/* Refuses --output where the file exists (without --force), and for a stored sweep, a stack or a
 * teacher. config is that of the command, stored that of the result. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_outputs_check(const norma_runtime *runtime,
                                                            const norma_config *config,
                                                            const norma_config *stored);

/* Creates the file, with `n_replicas` runs like the one that `evaluate` is for. Collective over the
 * runtime's world; *outputs is to be abandoned or closed whatever is returned. */
NORMA_MUST_USE norma_status norma_reconstruct_outputs_open(const norma_call *call,
                                                           const norma_config *config,
                                                           const norma_config *stored,
                                                           const norma_network *network,
                                                           const norma_evaluate *evaluate,
                                                           norma_reconstruct_outputs *outputs);

/* Writes what the run of a replica left in target and source; the target's of the first one alone.
 * Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_outputs_write(norma_reconstruct_outputs *outputs,
                                                            int64_t replica);

/* Closes the file as complete, or abandons it where status is a failure. Collective; returns the
 * status of both. */
NORMA_MUST_USE norma_status norma_reconstruct_outputs_close(norma_reconstruct_outputs *outputs,
                                                            norma_status status);

#endif
