#ifndef NORMA_EXPERIMENTS_JOB_SEARCH_OPTIONS_H
#define NORMA_EXPERIMENTS_JOB_SEARCH_OPTIONS_H
/* Options about searches for permutations that `align` and `reconstruct` share: --random,
 * --restarts, --anneal-starts, --anneal-sweeps. */
#include "src/align/searches.h"
#include "src/config/config.h"

extern const norma_option norma_search_options[];

/* The options of a search with this seed; its stream is the caller's to set. Local. */
norma_align_options norma_search_options_get(const norma_config *config, uint64_t seed);

/* Refuses a search that needs features of a single weight each with another law of --source-dist;
 * `option` names the search. Local. */
NORMA_MUST_USE norma_status norma_search_options_check(const norma_config *config,
                                                       const char *option, int search);

#endif
