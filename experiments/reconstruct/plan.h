#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_PLAN_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_PLAN_H
/* Memory, operations and time of a reconstruction: printed by `norma plan reconstruct`, checked
 * before every run. */
#include "experiments/reconstruct/setup.h"
#include "mpi/plan/plan.h"
#include "mpi/plan/rates.h"

/* Checks memory for every cell of the sweep; with rates (NULL: none), a table of layers, memory,
 * operations, bytes and time on stdout. NORMA_LIMIT when a cell does not fit. Local, equal on all
 * ranks. */
NORMA_MUST_USE norma_status norma_reconstruct_plan(const norma_config *config,
                                                   const norma_reconstruct_inputs *inputs,
                                                   const norma_plan_machine *machine, int n_threads,
                                                   const norma_rates *rates);

/* Bytes a rank may use for one solve, from the machine's memory. Local. */
double norma_reconstruct_memory_per_rank(const norma_plan_machine *machine);

#endif
