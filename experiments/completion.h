#ifndef NORMA_EXPERIMENTS_COMPLETION_H
#define NORMA_EXPERIMENTS_COMPLETION_H
/* Completion of norma's command line, made from the tables of subcommands and options. */
#include "src/base/status.h"

/* *text = a script for bash: `. <(norma --completion)`. Local; *text is owned by the caller
 * (norma_mem_free). */
NORMA_MUST_USE norma_status norma_completion(char **text);

#endif
