#ifndef NORMA_EXPERIMENTS_CHAIN_PLAN_H
#define NORMA_EXPERIMENTS_CHAIN_PLAN_H
/* What a chain run needs, printed by `norma plan chain`: a few layers of every cell tell the time.
 */
#include "experiments/chain_setup.h"

/* A table of cells and the run's memory, bytes and time on stdout. Ranks are those of --ranks,
 * where given. Collective. */
NORMA_MUST_USE norma_status norma_chain_plan(const norma_runtime *runtime,
                                             const norma_chain_setup *setup);

#endif
