#ifndef NORMA_EXPERIMENTS_JOB_OPTIONS_H
#define NORMA_EXPERIMENTS_JOB_OPTIONS_H
/* Options of subcommands that stop and resume: --resume, --time-limit, --checkpoint-every. */
#include "src/config/config_option.h"

extern const norma_option norma_job_options[];

/* The key under which a checkpoint holds the size of the groups that its run chose. */
#define NORMA_JOB_GROUP_KEY "group-ranks"

/* Keys of a configuration that may differ between a run and its resumption; NULL-terminated. */
extern const char *const norma_job_free_keys[];

#endif
