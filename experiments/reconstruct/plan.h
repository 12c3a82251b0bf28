#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_PLAN_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_PLAN_H
/* Memory, operations and time of a reconstruction: printed by `norma plan reconstruct`, checked
 * before every run. */
#include "experiments/reconstruct/setup.h"
#include "mpi/plan/plan.h"
#include "mpi/plan/rates.h"
#include "src/base/text.h"

/* How many ranks solve a layer together. */
typedef struct norma_reconstruct_groups {
    int64_t size;
    bool automatic;                   /* --group-size auto */
    bool recorded;                    /* and taken over from the results of an earlier run */
    double seconds, seconds_together; /* of all layers, expected with groups of this size and with
                                         one group of all ranks; 0 where nothing was chosen */
} norma_reconstruct_groups;

/* NULL for a value of --group-size, else what is expected. */
const char *norma_reconstruct_check_group_size(const char *text);

/* --group-size; 0 for auto. Local. */
int64_t norma_reconstruct_group_option(const norma_config *config);

/* The groups of --group-size. auto takes `recorded` (0: nothing is), else what ends the run first
 * on processors that are assumed (mpi/plan/rates.h), from sizes, solver and the number of ranks,
 * and fits the machine's memory; all ranks together where the gain is small. NORMA_MEMORY, and
 * what a cell is refused for. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_reconstruct_groups_choose(const norma_config *config,
                                                            const norma_reconstruct_inputs *inputs,
                                                            const norma_plan_machine *machine,
                                                            int n_threads, int64_t recorded,
                                                            norma_reconstruct_groups *out);

/* Appends "group size 2 (auto): ...". Local. */
void norma_reconstruct_groups_describe(const norma_reconstruct_groups *groups, int64_t n_ranks,
                                       norma_text *text);

/* *out: does a cell fit into the machine's memory with groups of group_size ranks? Local. */
NORMA_MUST_USE norma_status norma_reconstruct_plan_fits(const norma_config *config,
                                                        const norma_reconstruct_inputs *inputs,
                                                        const norma_plan_machine *machine,
                                                        int n_threads, int64_t cell,
                                                        int64_t group_size, bool *out);

/* Checks memory for every cell of the sweep; with rates (NULL: none), a table of layers, memory,
 * operations, bytes and time on stdout. NORMA_LIMIT when a cell does not fit. Local, equal on all
 * ranks. */
NORMA_MUST_USE norma_status norma_reconstruct_plan(const norma_config *config,
                                                   const norma_reconstruct_inputs *inputs,
                                                   const norma_plan_machine *machine, int n_threads,
                                                   const norma_reconstruct_groups *groups,
                                                   const norma_rates *rates);

/* Bytes a rank may use for one solve, from the machine's memory. Local. */
double norma_reconstruct_memory_per_rank(const norma_plan_machine *machine);

#endif
