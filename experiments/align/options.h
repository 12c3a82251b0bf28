#ifndef NORMA_EXPERIMENTS_ALIGN_OPTIONS_H
#define NORMA_EXPERIMENTS_ALIGN_OPTIONS_H
/* The options of `norma align` and of `norma plan align`. */
#include "src/config/config.h"

extern const norma_command norma_align_command;
extern const norma_command norma_align_plan_command;

/* Refuses options that contradict each other. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_align_check_options(const norma_config *config);

/* The searches of a run, indices of their table: those of --search; without it three, or none where
 * only matchings are asked for. searches[NORMA_N_ALIGN_SEARCHES]; returns how many. Local. */
int64_t norma_align_list_searches(const norma_config *config, int *searches);

#endif
