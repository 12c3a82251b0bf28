#ifndef NORMA_EXPERIMENTS_SUBCOMMANDS_H
#define NORMA_EXPERIMENTS_SUBCOMMANDS_H
/* The one table of subcommands: dispatch, help, `norma list` and the manual page follow from it. */
#include "experiments/driver.h"
#include "src/base/names.h"

typedef struct norma_subcommand {
    const char *name, *summary;
    const norma_driver *driver; /* NULL: plan, which runs the driver of another subcommand */
} norma_subcommand;

/* All subcommands, and those that `norma plan` takes; indices of norma_subcommand_get. */
extern const norma_names norma_subcommand_names;
extern const norma_names norma_subcommand_planned_names;

const norma_subcommand *norma_subcommand_get(int64_t i);

#endif
