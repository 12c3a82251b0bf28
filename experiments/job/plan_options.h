#ifndef NORMA_EXPERIMENTS_JOB_PLAN_OPTIONS_H
#define NORMA_EXPERIMENTS_JOB_PLAN_OPTIONS_H
/* What `norma plan CMD` can be told beside CMD's own options: --ranks, --node-memory. */
#include "src/config/config_option.h"

extern const norma_option norma_plan_options[];

#endif
