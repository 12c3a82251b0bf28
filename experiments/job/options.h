#ifndef NORMA_EXPERIMENTS_JOB_OPTIONS_H
#define NORMA_EXPERIMENTS_JOB_OPTIONS_H
/* Options of subcommands that stop and resume: --resume, --time-limit, --checkpoint-every, --save
 * state. */
#include "src/config/config.h"

extern const norma_option norma_job_options[];

/* --save state, for subcommands that save nothing else. */
extern const norma_option norma_job_save_options[];

/* The value of --save with which the checkpoint of a complete run stays. */
#define NORMA_JOB_SAVE_STATE "state"

/* Does the run keep its checkpoint when it is complete? Local. */
bool norma_job_keeps_state(const norma_config *config);

/* True where --save of the command is norma_job_save_options', which changes no result. Local. */
bool norma_job_saves_only_state(const norma_command *command);

/* The key under which a checkpoint holds the size of the groups that its run chose. */
#define NORMA_JOB_GROUP_KEY "group-ranks"

/* Keys of a configuration that may differ between a run and its resumption; NULL-terminated. */
extern const char *const norma_job_free_keys[];

#endif
