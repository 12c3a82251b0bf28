#ifndef NORMA_EXPERIMENTS_GRADIENT_OPTIONS_H
#define NORMA_EXPERIMENTS_GRADIENT_OPTIONS_H
/* The options of `norma gradient` and of `norma plan gradient`. */
#include "src/config/config.h"

extern const norma_command norma_gradient_command;
extern const norma_command norma_gradient_plan_command;

/* Refuses options that contradict each other. Local. */
NORMA_MUST_USE norma_status norma_gradient_options_check(const norma_config *config);

#endif
