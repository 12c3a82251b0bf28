#include "experiments/job/options.h"

#include <stddef.h>
#include <string.h>

const norma_option norma_job_options[] = {
    {.name = "resume",
     .type = NORMA_OPTION_FLAG,
     .group = "Run",
     .command_line_only = true,
     .help = "Go on from FILE.ckpt, on any number of ranks; without one the run begins anew. With "
             "more --replicas, further values of swept options, or (norma chain) a larger --depth "
             "the run is extended: only what is new is computed. A complete run can be extended if "
             "it had --save state."},
    {.name = "time-limit",
     .type = NORMA_OPTION_DURATION,
     .group = "Run",
     .unset_text = "what SLURM_JOB_END_TIME leaves, less a margin",
     .min = NORMA_ABOVE(0),
     .help = "Stop by itself within this time, with a checkpoint and exit status 75."},
    {.name = "checkpoint-every",
     .type = NORMA_OPTION_REAL,
     .group = "Run",
     .default_text = "10",
     .unit = "minutes",
     .min = NORMA_ABOVE(0),
     .help = "Bring what is done to the disk this often: the state of chains under way, finished "
             "layers of reconstructions."},
    NORMA_OPTION_END,
};

static const char *const saved[] = {NORMA_JOB_SAVE_STATE, NULL};

const norma_option norma_job_save_options[] = {
    {.name = "save",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_LIST,
     .group = "Run",
     .placeholder = "LIST",
     .choices = saved,
     .unset_text = "FILE.ckpt is removed when the run is complete",
     .help = "state: keep FILE.ckpt, so that --resume can extend the complete run."},
    NORMA_OPTION_END,
};

bool norma_job_keeps_state(const norma_config *config)
{
    return norma_config_knows(config, "save") && norma_config_has(config, "save") &&
           norma_config_list_holds(config, "save", NORMA_JOB_SAVE_STATE);
}

bool norma_job_saves_only_state(const norma_command *command)
{
    for (const norma_option *const *table = command->tables; *table; table++)
        if (*table == norma_job_save_options)
            return true;
    return false;
}

const char *const norma_job_free_keys[] = {"output",     "time-limit",        "checkpoint-every",
                                           "group-size", NORMA_JOB_GROUP_KEY, NULL};
