#ifndef NORMA_CONFIG_CONFIG_COMPLETE_H
#define NORMA_CONFIG_CONFIG_COMPLETE_H
/* Completion of the command line by bash, made from the same tables as `--help`. Local. */
#include "src/base/text.h"
#include "src/config/config_option.h"

/* Appends the branch of a case statement for one command. It sets `options` to the command's flags
 * and `values` to what may follow the flag in $previous: names, FILE, or NONE. */
void norma_config_complete_command(const norma_command *command, norma_text *out);

#endif
