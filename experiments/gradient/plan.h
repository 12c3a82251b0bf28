#ifndef NORMA_EXPERIMENTS_GRADIENT_PLAN_H
#define NORMA_EXPERIMENTS_GRADIENT_PLAN_H
/* Memory and time of a gradient run, and whether it fits; a few layers of every cell give the time.
 */
#include "experiments/gradient/setup.h"
#include "mpi/plan/plan.h"

/* NORMA_LIMIT, saying what would fit, when the memory of a rank's largest replica exceeds what the
 * machine leaves it. Then, with `print`, a table of cells and the run's memory, bytes and time on
 * stdout. Collective; the machine is equal on all ranks. */
NORMA_MUST_USE norma_status norma_gradient_plan(const norma_runtime *runtime,
                                                const norma_gradient_setup *setup,
                                                const norma_plan_machine *machine, bool print);

#endif
