#ifndef NORMA_CONFIG_CONFIG_HELP_H
#define NORMA_CONFIG_CONFIG_HELP_H
/* Help texts made from the tables, at most 100 columns wide. Local. */
#include "src/base/status.h"
#include "src/config/config_option.h"

/* `norma CMD --help`: usage, description, options by group with units, ranges, choices, defaults.
 * *text is owned by the caller (norma_mem_free). */
NORMA_MUST_USE norma_status norma_config_help_command(const norma_command *command, char **text);

/* `norma --help`: the subcommands with their summaries. *text as above. */
NORMA_MUST_USE norma_status norma_config_help_program(const norma_names *commands, char **text);

#endif
