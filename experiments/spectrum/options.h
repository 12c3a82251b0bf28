#ifndef NORMA_EXPERIMENTS_SPECTRUM_OPTIONS_H
#define NORMA_EXPERIMENTS_SPECTRUM_OPTIONS_H
/* The options of `norma spectrum` and of `norma plan spectrum`. */
#include "src/config/config.h"

extern const norma_command norma_spectrum_command;
extern const norma_command norma_spectrum_plan_command;

/* Refuses options that contradict each other. Local. */
NORMA_MUST_USE norma_status norma_spectrum_check_options(const norma_config *config);

/* Singular values that a cell writes of each replica, of n of them: --values. NORMA_USAGE for a
 * text that is neither "all" nor a number. Local. */
NORMA_MUST_USE norma_status norma_spectrum_count_values(const norma_config *config, int64_t n,
                                                        int64_t *count);

#endif
