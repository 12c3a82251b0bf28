#ifndef NORMA_EXPERIMENTS_JOB_LAW_OPTIONS_H
#define NORMA_EXPERIMENTS_JOB_LAW_OPTIONS_H
/* Options about laws of random weights that `reconstruct` and `chain` share. */
#include "src/base/status.h"
#include "src/config/config.h"

/* --keep-probability is of use only where one of the options `laws` (NULL-terminated) names, in
 * some cell, a law that drops entries. NORMA_CONFIG otherwise. Local. */
NORMA_MUST_USE norma_status norma_law_options_check(const norma_config *config,
                                                    const char *const *laws);

#endif
