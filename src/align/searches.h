#ifndef NORMA_ALIGN_SEARCHES_H
#define NORMA_ALIGN_SEARCHES_H
/*
 * Searches for the permutation with the lowest criterion (src/align/problem.h), in one table. All
 * are deterministic: random ones follow counted numbers, and of equal candidates the first wins.
 */
#include "src/align/problem.h"
#include "src/base/names.h"
#include "src/base/rng.h"

/* Indices of the table, where code names a search. */
typedef enum norma_align_search {
    NORMA_ALIGN_NONE,
    NORMA_ALIGN_RANDOM,
    NORMA_ALIGN_GREEDY,
    NORMA_ALIGN_GREEDY_PRINTED,
    NORMA_ALIGN_ASSIGNMENT,
    NORMA_ALIGN_ASSIGNMENT_PRINTED,
    NORMA_ALIGN_SWAPS,
    NORMA_ALIGN_ANNEAL,
    NORMA_ALIGN_EXHAUSTIVE,
    NORMA_N_ALIGN_SEARCHES
} norma_align_search;

typedef struct norma_align_options {
    int64_t n_random;   /* permutations that random tries */
    int64_t n_restarts; /* starts of swaps, the first from greedy */
    int64_t n_anneals;  /* the same of anneal */
    int64_t n_sweeps;   /* of anneal: proposals of every pair of channels */
    uint64_t seed;
    norma_rng_stream stream; /* its tensor field is set to 16 + the number of the search */
} norma_align_options;

/* Finds permutation[c2]; adds the evaluations of the criterion to *n_evaluations. */
typedef norma_status (*norma_align_function)(const norma_align_problem *problem,
                                             const norma_align_options *options,
                                             int64_t *permutation, int64_t *n_evaluations);

typedef struct norma_align_descriptor {
    const char *name, *summary;
    norma_align_function run;
    int64_t most_channels; /* the largest c2 that it takes; 0: any */
    bool single;           /* needs features that are single weights (problem->misses) */
    bool random;           /* draws numbers */
} norma_align_descriptor;

/* The family: "none", "random", "greedy", ... */
extern const norma_names norma_align_search_names;

/* Descriptor i; constant. */
const norma_align_descriptor *norma_align_search_get(int64_t i);

/* NORMA_CONFIG where search i does not take c2 channels. */
NORMA_MUST_USE norma_status norma_align_search_check(int64_t i, int64_t n_channels);

/* Runs search i: permutation[c2], *criterion recomputed from it, *n_evaluations. Local.
 * NORMA_CONFIG where the search does not take the problem; NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_align_search_run(int64_t i, const norma_align_problem *problem,
                                                   const norma_align_options *options,
                                                   int64_t *permutation, double *criterion,
                                                   int64_t *n_evaluations);

/* The searches (norma_align_function); RF appendix A.3 has the greedy ones. */
norma_status norma_align_greedy(const norma_align_problem *problem,
                                const norma_align_options *options, int64_t *permutation,
                                int64_t *n_evaluations);
norma_status norma_align_greedy_printed(const norma_align_problem *problem,
                                        const norma_align_options *options, int64_t *permutation,
                                        int64_t *n_evaluations);
norma_status norma_align_assign(const norma_align_problem *problem,
                                const norma_align_options *options, int64_t *permutation,
                                int64_t *n_evaluations);
norma_status norma_align_assign_printed(const norma_align_problem *problem,
                                        const norma_align_options *options, int64_t *permutation,
                                        int64_t *n_evaluations);
norma_status norma_align_swaps(const norma_align_problem *problem,
                               const norma_align_options *options, int64_t *permutation,
                               int64_t *n_evaluations);
norma_status norma_align_anneal(const norma_align_problem *problem,
                                const norma_align_options *options, int64_t *permutation,
                                int64_t *n_evaluations);
norma_status norma_align_exhaust(const norma_align_problem *problem,
                                 const norma_align_options *options, int64_t *permutation,
                                 int64_t *n_evaluations);

/* permutation[n] = the rows of least total cost[n][n], by shortest augmenting paths. Of equal ones
 * the choice is deterministic. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_align_assignment(int64_t n, const double *cost,
                                                   int64_t *permutation);

#endif
