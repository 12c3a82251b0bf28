#ifndef NORMA_EXPERIMENTS_JOB_PLAN_OPTIONS_H
#define NORMA_EXPERIMENTS_JOB_PLAN_OPTIONS_H
/* Options of `norma plan CMD` beside CMD's own: --ranks, --node-memory. */
#include "src/config/config_option.h"

extern const norma_option norma_plan_options[];

#endif
