#ifndef NORMA_EXPERIMENTS_CHAIN_SUMMARY_H
#define NORMA_EXPERIMENTS_CHAIN_SUMMARY_H
/* Of every average of every replica the few numbers that R-hat, pooled averages and the table need:
 * kept where the replica was computed until all are. */
#include "experiments/chain/output.h"

/* Keeps those of one lane, the replica `task`, of a finished block or an entry. Local. */
NORMA_MUST_USE norma_status norma_chain_summary_keep(norma_chain_output *output,
                                                     const norma_chain_layout *layout, int64_t task,
                                                     int64_t lane,
                                                     const norma_chain_outcome *outcome);

#endif
