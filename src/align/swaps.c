#include "src/align/draws.h"
#include "src/align/searches.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* Temperatures of annealing: at the start that of typical exchanges, at the end this part of it. */
static const double coldest = 1e-4;
/* Exchanges that the first temperature is measured from. */
enum { N_PROBES = 100 };

typedef struct state {
    const norma_align_problem *problem;
    norma_align_draws draws;
    int64_t n_evaluations;
    double criterion;     /* of the permutation */
    int64_t *permutation; /* [c2] */
    double *sum;          /* [n - r] */
    double lowest;
    int64_t *best; /* [c2] */
} state;

static void measure(state *s)
{
    s->criterion = norma_align_criterion(s->problem, s->permutation, s->sum);
    s->n_evaluations++;
}

static void keep_best(state *s)
{
    if (!norma_align_improves(s->problem, s->lowest, s->criterion) && !isinf(s->lowest))
        return;
    s->lowest = s->criterion;
    memcpy(s->best, s->permutation, (size_t)s->problem->n_channels * sizeof *s->best);
}

/* The best exchange of all, again and again, until none improves. */
static void descend(state *s)
{
    int64_t c2 = s->problem->n_channels;
    for (;;) {
        int64_t pair[2] = {-1, -1};
        double reached = s->criterion;
        for (int64_t i = 0; i < c2; i++)
            for (int64_t k = i + 1; k < c2; k++) {
                double after = norma_align_swapped(s->problem, s->permutation, s->sum, i, k);
                if (!norma_align_improves(s->problem, reached, after))
                    continue;
                reached = after;
                pair[0] = i;
                pair[1] = k;
            }
        s->n_evaluations += c2 * (c2 - 1) / 2;
        if (pair[0] < 0)
            break;
        norma_align_swap(s->problem, s->permutation, s->sum, pair[0], pair[1]);
        measure(s);
    }
    keep_best(s);
}

/* A pair of channels i < k, at random. */
static void draw_pair(state *s, int64_t *i, int64_t *k)
{
    int64_t c2 = s->problem->n_channels;
    *i = norma_align_draws_below(&s->draws, c2);
    *k = norma_align_draws_below(&s->draws, c2 - 1);
    *k += *k >= *i;
}

/* The mean change of the criterion by an exchange. */
static double typical_change(state *s)
{
    double total = 0;
    for (int t = 0; t < N_PROBES; t++) {
        int64_t i = 0;
        int64_t k = 0;
        draw_pair(s, &i, &k);
        total += fabs(norma_align_swapped(s->problem, s->permutation, s->sum, i, k) - s->criterion);
    }
    s->n_evaluations += N_PROBES;
    return total / N_PROBES;
}

/* Metropolis steps at temperatures that fall by a constant factor. */
static void anneal(state *s, int64_t n_sweeps)
{
    int64_t c2 = s->problem->n_channels;
    int64_t n_steps = n_sweeps * c2 * (c2 - 1) / 2;
    double temperature = c2 > 1 ? typical_change(s) : 0;
    int64_t n_accepted = 0;
    double factor = c2 > 1 ? pow(coldest, 1 / (double)n_steps) : 1;
    for (int64_t t = 0; t < n_steps; t++) {
        int64_t i = 0;
        int64_t k = 0;
        draw_pair(s, &i, &k);
        double after = norma_align_swapped(s->problem, s->permutation, s->sum, i, k);
        double rise = after - s->criterion;
        double chance = norma_align_draws_uniform(&s->draws);
        double level = temperature;
        temperature *= factor;
        if (rise > 0 && !(chance < exp(-rise / level)))
            continue;
        norma_align_swap(s->problem, s->permutation, s->sum, i, k);
        s->criterion = after;
        if (++n_accepted % c2 == 0) /* takes rounding out of the sum */
            measure(s);
        keep_best(s);
    }
    s->n_evaluations += n_steps;
    measure(s);
}

static norma_status run(const norma_align_problem *problem, const norma_align_options *options,
                        int64_t n_starts, int64_t n_sweeps, int64_t *permutation,
                        int64_t *n_evaluations)
{
    norma_status status = NORMA_OK;
    int64_t c2 = problem->n_channels;
    state s = {.problem = problem, .lowest = INFINITY};
    s.best = permutation;
    NORMA_GOTO(status, NORMA_ALLOC(s.permutation, c2));
    NORMA_GOTO(status, NORMA_ALLOC(s.sum, problem->n_parts));
    NORMA_GOTO(status, norma_align_greedy(problem, options, s.permutation, &s.n_evaluations));
    norma_align_draws_init(options->seed, &options->stream, &s.draws);
    for (int64_t start = 0; start < n_starts; start++) {
        if (start > 0)
            norma_align_draws_shuffle(&s.draws, c2, s.permutation);
        measure(&s);
        keep_best(&s);
        if (n_sweeps > 0)
            anneal(&s, n_sweeps);
        descend(&s);
    }
    *n_evaluations += s.n_evaluations;
done:
    NORMA_FREE(s.permutation);
    NORMA_FREE(s.sum);
    return status;
}

norma_status norma_align_swaps(const norma_align_problem *problem,
                               const norma_align_options *options, int64_t *permutation,
                               int64_t *n_evaluations)
{
    return run(problem, options, options->n_restarts, 0, permutation, n_evaluations);
}

norma_status norma_align_anneal(const norma_align_problem *problem,
                                const norma_align_options *options, int64_t *permutation,
                                int64_t *n_evaluations)
{
    return run(problem, options, options->n_anneals, options->n_sweeps, permutation, n_evaluations);
}
