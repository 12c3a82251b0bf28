#ifndef NORMA_EXPERIMENTS_CLAIMS_LEDGER_H
#define NORMA_EXPERIMENTS_CLAIMS_LEDGER_H
/* The ledger of claims on the terminal and as a page in Markdown. */
#include "experiments/claims/tasks.h"

/* Refuses to replace the page of --table without --force. Local, on rank 0. */
NORMA_MUST_USE norma_status norma_claims_ledger_check_root(const norma_config *config);

/* Prints a line for each claim and the sums. Local, printed by rank 0. */
void norma_claims_ledger_print(const norma_claims_run *run);

/* Writes the page where --table asks for it. Collective. */
NORMA_MUST_USE norma_status norma_claims_ledger_write(const norma_job_context *job,
                                                      const norma_claims_run *run);

#endif
