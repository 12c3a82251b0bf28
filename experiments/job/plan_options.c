#include "experiments/job/plan_options.h"

#include <stddef.h>

const norma_option norma_plan_options[] = {
    {.name = "ranks",
     .type = NORMA_OPTION_INTEGER,
     .group = "Plan",
     .unset_text = "as many as were started",
     .unit = "ranks",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .command_line_only = true,
     .help = "Ranks to plan for."},
    {.name = "node-memory",
     .type = NORMA_OPTION_REAL,
     .group = "Plan",
     .unset_text = "what is available here",
     .unit = "GiB",
     .min = NORMA_ABOVE(0),
     .max = NORMA_AT_MOST(1048576),
     .command_line_only = true,
     .help = "Memory of a node."},
    {.name = "ranks-per-node",
     .type = NORMA_OPTION_INTEGER,
     .group = "Plan",
     .unset_text = "all on one node",
     .unit = "ranks",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(65536),
     .command_line_only = true,
     .help = "Ranks that share a node's memory."},
    NORMA_OPTION_END,
};
