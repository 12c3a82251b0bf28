#ifndef NORMA_EXPERIMENTS_CHAIN_OUTPUT_H
#define NORMA_EXPERIMENTS_CHAIN_OUTPUT_H
/*
 * The result file of a chain run: records [sweep.., replica, (tau | k), layer], averages along the
 * chains [sweep.., replica, (tau | k)], what all replicas say together [sweep.., (tau | k)], and
 * the table on the terminal.
 */
#include "experiments/chain/block.h"
#include "io/result/result.h"

typedef struct norma_chain_output {
    norma_result *file;             /* borrowed */
    const norma_chain_setup *setup; /* borrowed */
    const norma_runtime *runtime;   /* borrowed */
    double *summaries;              /* of the replicas finished or replayed here; owned */
    int64_t n_summaries, capacity;  /* numbers */
    int64_t *summary_at;            /* [n_tasks]: where a replica's begin, -1: not here; owned */
} norma_chain_output;

/* Bytes of the file, roughly from above. Local. */
int64_t norma_chain_output_bytes(const norma_chain_setup *setup);

/* Adds everything that the file will hold, and begins it. `file` is borrowed. Collective; clear on
 * failure. */
NORMA_MUST_USE norma_status norma_chain_output_layout(norma_chain_output *output,
                                                      const norma_runtime *runtime,
                                                      const norma_chain_setup *setup,
                                                      norma_result *file);

/* Writes a piece of the records of a block. Local. */
NORMA_MUST_USE norma_status norma_chain_output_piece_local(norma_chain_output *output,
                                                           const norma_chain_cell *cell,
                                                           const norma_chain_layout *layout,
                                                           const norma_chain_piece *piece,
                                                           const double *records);

/* Writes the outcome of a finished block or an entry. Local. */
NORMA_MUST_USE norma_status norma_chain_output_write_local(norma_chain_output *output,
                                                           const norma_chain_cell *cell,
                                                           const norma_chain_layout *layout,
                                                           const norma_chain_outcome *outcome);

/* When all tasks are done: writes what the replicas of each cell say together and prints the table.
 * Collective. */
NORMA_MUST_USE norma_status norma_chain_output_pool(norma_chain_output *output);

void norma_chain_output_clear(norma_chain_output *output);

#endif
