#include "src/align/searches.h"

#include "src/align/draws.h"
#include "src/base/mem.h"

#include <string.h>

enum { MOST_EXHAUSTIVE = 9, TENSOR_SEARCH = 16 };

/* The target as it is. */
static norma_status keep_order(const norma_align_problem *problem,
                               const norma_align_options *options, int64_t *permutation,
                               int64_t *n_evaluations)
{
    (void)options;
    for (int64_t i = 0; i < problem->n_channels; i++)
        permutation[i] = i;
    (*n_evaluations)++;
    return NORMA_OK;
}

static norma_status try_random(const norma_align_problem *problem,
                               const norma_align_options *options, int64_t *permutation,
                               int64_t *n_evaluations)
{
    norma_align_draws draws;
    double *sum = NULL;
    int64_t *tried = NULL;
    int64_t c2 = problem->n_channels;
    double best = 0;
    norma_status status = NORMA_ALLOC(sum, problem->n_parts);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, NORMA_ALLOC(tried, c2));
    norma_align_draws_init(options->seed, &options->stream, &draws);
    for (int64_t i = 0; i < c2; i++)
        tried[i] = i;
    for (int64_t t = 0; t < options->n_random; t++) {
        norma_align_draws_shuffle(&draws, c2, tried);
        double criterion = norma_align_criterion(problem, tried, sum);
        if (t > 0 && !norma_align_improves(problem, best, criterion))
            continue;
        best = criterion;
        memcpy(permutation, tried, (size_t)c2 * sizeof *tried);
    }
    *n_evaluations += options->n_random;
done:
    NORMA_FREE(sum);
    NORMA_FREE(tried);
    return status;
}

static const norma_align_descriptor table[NORMA_N_ALIGN_SEARCHES] = {
    {"none", "the target's own order", keep_order, 0, false, false},
    {"random", "the best of --random permutations", try_random, 0, false, true},
    {"greedy", "channel after channel, each with the best of the rows left (RF appendix A.3)",
     norma_align_greedy, 0, false, false},
    {"greedy-printed", "the same with the last row that improves, as RF's routine does",
     norma_align_greedy_printed, 0, false, false},
    {"assignment", "linear assignment of squared errors; the optimum for id-cond",
     norma_align_assign, 0, false, false},
    {"assignment-printed", "linear assignment of counts of missing weights, id-cond only",
     norma_align_assign_printed, 0, true, false},
    {"swaps", "best exchanges of two rows until none improves, from several starts",
     norma_align_swaps, 0, false, true},
    {"anneal", "simulated annealing of exchanges, then swaps, from several starts",
     norma_align_anneal, 0, false, true},
    {"exhaustive", "all permutations, of at most 9 channels", norma_align_exhaust, MOST_EXHAUSTIVE,
     false, false},
};

const norma_names norma_align_search_names = NORMA_NAMES("search", "searches", table);

const norma_align_descriptor *norma_align_search_get(int64_t i)
{
    return &table[i];
}

norma_status norma_align_search_check(int64_t i, int64_t n_channels)
{
    if (table[i].most_channels == 0 || n_channels <= table[i].most_channels)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG, "the search %s takes at most %lld output channels, not %lld",
                      table[i].name, (long long)table[i].most_channels, (long long)n_channels);
}

norma_status norma_align_search_run(int64_t i, const norma_align_problem *problem,
                                    const norma_align_options *options, int64_t *permutation,
                                    double *criterion, int64_t *n_evaluations)
{
    double *work = NULL;
    norma_align_options own = *options;
    own.stream.tensor = TENSOR_SEARCH + i;
    *n_evaluations = 0;
    *criterion = 0;
    NORMA_TRY(norma_align_search_check(i, problem->n_channels));
    if (table[i].single && !problem->misses)
        return NORMA_FAIL(NORMA_CONFIG,
                          "the search %s needs features of a single weight each, as id-cond has "
                          "them",
                          table[i].name);
    NORMA_TRY(NORMA_ALLOC(work, problem->n_parts));
    norma_status status = table[i].run(problem, &own, permutation, n_evaluations);
    if (status == NORMA_OK)
        *criterion = norma_align_criterion(problem, permutation, work);
    NORMA_FREE(work);
    return status;
}
