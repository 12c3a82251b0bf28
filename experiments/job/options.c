#include "experiments/job/options.h"

#include <stddef.h>

const norma_option norma_job_options[] = {
    {.name = "resume",
     .type = NORMA_OPTION_FLAG,
     .group = "Run",
     .command_line_only = true,
     .help = "Go on from FILE.ckpt, on any number of ranks; without one the run begins anew."},
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

const char *const norma_job_free_keys[] = {"output",     "time-limit",        "checkpoint-every",
                                           "group-size", NORMA_JOB_GROUP_KEY, NULL};
