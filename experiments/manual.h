#ifndef NORMA_EXPERIMENTS_MANUAL_H
#define NORMA_EXPERIMENTS_MANUAL_H
/* The manual page norma(1), made from the tables of subcommands and options. */
#include "src/base/status.h"

/* *text = the page in the macros of man(7): `norma --manual | man -l -` shows it. Local; *text is
 * owned by the caller (norma_mem_free). */
NORMA_MUST_USE norma_status norma_manual(char **text);

#endif
