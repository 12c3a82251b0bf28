#ifndef NORMA_EXPERIMENTS_CLAIMS_OPTIONS_H
#define NORMA_EXPERIMENTS_CLAIMS_OPTIONS_H
/* The options of `norma claims` and of `norma plan claims`. */
#include "src/claims/examine.h"
#include "src/config/config.h"

extern const norma_command norma_claims_command;
extern const norma_command norma_claims_plan_command;

/* The claims of a run: those of --claim, or all; numbers of norma_claim_names, ascending. Places
 * for all of them; returns how many. Local. */
int64_t norma_claims_list(const norma_config *config, int64_t *claims);

/* How much is done for a claim. Local. */
norma_claim_budget norma_claims_budget(const norma_config *config, const norma_claim *claim);

#endif
