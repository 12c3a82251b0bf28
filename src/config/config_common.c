#include "src/config/config_common.h"

#include "src/config/config_store.h"

#include <stddef.h>

static const char *const stream_names[] = {"common", "independent", NULL};

const norma_option norma_config_random_options[] = {
    {.name = "seed",
     .type = NORMA_OPTION_SEED,
     .many = NORMA_SWEEP,
     .group = "Randomness",
     .unset_text = "drawn from the system and recorded",
     .help = "Seed of all random numbers, 0 to 18446744073709551615."},
    {.name = "replicas",
     .type = NORMA_OPTION_INTEGER,
     .group = "Randomness",
     .default_text = "1",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(16777216),
     .help = "Independent repetitions of every cell."},
    {.name = "replica-offset",
     .type = NORMA_OPTION_INTEGER,
     .group = "Randomness",
     .default_text = "0",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(16777215),
     .help = "Replica r of this run draws the random numbers of replica N + r of the seed, so that "
             "several runs hold different replicas of it (norma merge)."},
    {.name = "cell-streams",
     .type = NORMA_OPTION_CHOICE,
     .group = "Randomness",
     .default_text = "common",
     .choices = stream_names,
     .help = "Whether the cells of a sweep share their random numbers (their errors are then "
             "correlated) or draw their own."},
    NORMA_OPTION_END,
};

static const char *check_cells(const char *text)
{
    int64_t share = 0;
    int64_t n_shares = 0;
    return norma_config_cells_parse(text, &share, &n_shares)
               ? NULL
               : "I/N, two whole numbers with 1 <= I <= N, such as 2/5";
}

const norma_option norma_config_run_options[] = {
    {.name = "output",
     .type = NORMA_OPTION_PATH,
     .group = "Output",
     .placeholder = "FILE.h5",
     .unset_text = "a name is chosen and printed",
     .help = "Result file (HDF5)."},
    {.name = "force",
     .type = NORMA_OPTION_FLAG,
     .group = "Output",
     .command_line_only = true,
     .help = "Overwrite a complete result file."},
    {.name = "cells",
     .type = NORMA_OPTION_STRING,
     .group = "Run",
     .placeholder = "I/N",
     .unset_text = "all cells",
     .check = check_cells,
     .help =
         "Compute one of N shares of the sweep: its cells I-1, I-1+N, I-1+2N, ..., counted from "
         "0 with the last option fastest. The file holds these cells only, under "
         "their numbers in the sweep."},
    {.name = "config",
     .type = NORMA_OPTION_PATH,
     .group = "Run",
     .unset_text = "flags and defaults only",
     .command_line_only = true,
     .placeholder = "FILE|-",
     .help = "YAML file with options in a section named like the subcommand, a result file of "
             "norma, which holds one, or - for standard input; flags win over it."},
    {.name = "dry-run",
     .type = NORMA_OPTION_FLAG,
     .group = "Run",
     .command_line_only = true,
     .help = "Say what the run would need (memory, operations, bytes) and end."},
    {.name = "quiet",
     .type = NORMA_OPTION_FLAG,
     .group = "Run",
     .command_line_only = true,
     .exclusive = "verbosity",
     .help = "Print errors and results only."},
    {.name = "verbose",
     .type = NORMA_OPTION_FLAG,
     .group = "Run",
     .command_line_only = true,
     .exclusive = "verbosity",
     .help = "Print how things are done, too."},
    NORMA_OPTION_END,
};
