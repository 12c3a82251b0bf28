#include "src/align/searches.h"

#include "src/base/mem.h"

#include <math.h>
#include <string.h>

typedef struct state {
    const norma_align_problem *problem;
    double *sums;  /* [c2 + 1][n - r]: of the channels before each depth */
    int64_t *rows; /* [c2]: of the channels up to the present depth */
    bool *taken;   /* [c2] */
    double lowest;
    int64_t *best;
    int64_t n_leaves;
} state;

static void judge(state *s)
{
    const norma_align_problem *problem = s->problem;
    const double *sum = s->sums + problem->n_channels * problem->n_parts;
    double criterion = 0;
    for (int64_t part = 0; part < problem->n_parts; part++)
        criterion += sum[part] * sum[part];
    s->n_leaves++;
    if (!isinf(s->lowest) && !norma_align_improves(problem, s->lowest, criterion))
        return;
    s->lowest = criterion;
    memcpy(s->best, s->rows, (size_t)problem->n_channels * sizeof *s->rows);
}

/* Channel `depth` takes row p: its sum. */
static void add(state *s, int64_t depth, int64_t p)
{
    int64_t n = s->problem->n_parts;
    const double *part = norma_align_part(s->problem, depth, p);
    const double *before = s->sums + depth * n;
    double *after = s->sums + (depth + 1) * n;
    for (int64_t e = 0; e < n; e++)
        after[e] = before[e] + part[e];
}

/* All permutations in lexicographic order, depth first; rows[depth] is the last row tried. */
static void walk(state *s)
{
    int64_t c2 = s->problem->n_channels;
    int64_t depth = 0;
    s->rows[0] = -1;
    while (depth >= 0) {
        int64_t p = s->rows[depth];
        if (p >= 0)
            s->taken[p] = false;
        for (p++; p < c2 && s->taken[p];)
            p++;
        if (p == c2) {
            depth--;
            continue;
        }
        s->rows[depth] = p;
        s->taken[p] = true;
        add(s, depth, p);
        if (depth + 1 == c2) {
            judge(s);
            continue;
        }
        s->rows[++depth] = -1;
    }
}

norma_status norma_align_exhaust(const norma_align_problem *problem,
                                 const norma_align_options *options, int64_t *permutation,
                                 int64_t *n_evaluations)
{
    (void)options;
    norma_status status = NORMA_OK;
    int64_t c2 = problem->n_channels;
    state s = {.problem = problem, .lowest = INFINITY};
    s.best = permutation;
    NORMA_GOTO(status, NORMA_CALLOC(s.sums, (c2 + 1) * problem->n_parts));
    NORMA_GOTO(status, NORMA_ALLOC(s.rows, c2));
    NORMA_GOTO(status, NORMA_CALLOC(s.taken, c2));
    walk(&s);
    *n_evaluations += s.n_leaves;
done:
    NORMA_FREE(s.sums);
    NORMA_FREE(s.rows);
    NORMA_FREE(s.taken);
    return status;
}
