#include "src/align/matching.h"

#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* The tensor fields of features and targets. */
enum { TENSOR_FEATURES = 1, TENSOR_TARGET = 2 };

typedef struct trial {
    const norma_matching *matching;
    double *features; /* [K][length]: uniform numbers, present where below p */
    double *drawn;    /* [n_rows][length]: uniform numbers, nonzero where below q; or NULL */
    bool *fits;       /* [n_rows][K] */
    int64_t *row_of;  /* [K]: -1: free */
    bool *seen;       /* [K] */
    int64_t *path;    /* [n_rows]: rows of the search under way */
    int64_t *tried;   /* [n_rows]: the next candidate of each */
} trial;

static bool is_needed(const trial *t, int64_t row, int64_t e)
{
    int64_t at = row * t->matching->length + e;
    return t->drawn ? t->drawn[at] < t->matching->density : t->matching->target[at] != 0;
}

static void find_fits(trial *t)
{
    const norma_matching *m = t->matching;
    for (int64_t row = 0; row < m->n_rows; row++)
        for (int64_t k = 0; k < m->n_candidates; k++) {
            const double *feature = t->features + k * m->length;
            bool fits = true;
            for (int64_t e = 0; e < m->length && fits; e++)
                fits = feature[e] < m->present || !is_needed(t, row, e);
            t->fits[row * m->n_candidates + k] = fits;
        }
}

/* Finds a candidate for a row, where others may change theirs: depth first, without recursion. */
static bool augment(trial *t, int64_t row)
{
    int64_t n = t->matching->n_candidates;
    int64_t depth = 0;
    memset(t->seen, 0, (size_t)n * sizeof *t->seen);
    t->path[0] = row;
    t->tried[0] = 0;
    while (depth >= 0) {
        const bool *fits = t->fits + t->path[depth] * n;
        int64_t k = t->tried[depth];
        while (k < n && (!fits[k] || t->seen[k]))
            k++;
        t->tried[depth] = k + 1;
        if (k == n) {
            depth--;
            continue;
        }
        t->seen[k] = true;
        if (t->row_of[k] < 0) {
            for (; depth >= 0; depth--)
                t->row_of[t->tried[depth] - 1] = t->path[depth];
            return true;
        }
        depth++;
        t->path[depth] = t->row_of[k];
        t->tried[depth] = 0;
    }
    return false;
}

static bool is_perfect(trial *t)
{
    for (int64_t k = 0; k < t->matching->n_candidates; k++)
        t->row_of[k] = -1;
    for (int64_t row = 0; row < t->matching->n_rows; row++)
        if (!augment(t, row))
            return false;
    return true;
}

static norma_status allocate(trial *t)
{
    const norma_matching *m = t->matching;
    NORMA_TRY(NORMA_ALLOC(t->features, m->n_candidates * m->length));
    if (!m->target)
        NORMA_TRY(NORMA_ALLOC(t->drawn, m->n_rows * m->length));
    NORMA_TRY(NORMA_ALLOC(t->fits, m->n_rows * m->n_candidates));
    NORMA_TRY(NORMA_ALLOC(t->row_of, m->n_candidates));
    NORMA_TRY(NORMA_ALLOC(t->seen, m->n_candidates));
    NORMA_TRY(NORMA_ALLOC(t->path, m->n_rows + 1));
    return NORMA_ALLOC(t->tried, m->n_rows + 1);
}

norma_status norma_matching_count(const norma_matching *matching, int64_t n_trials, uint64_t seed,
                                  const norma_rng_stream *stream, int64_t *n_found)
{
    norma_status status = NORMA_OK;
    trial t = {.matching = matching};
    norma_rng_stream features = *stream;
    norma_rng_stream target = *stream;
    int64_t most =
        matching->n_rows > matching->n_candidates ? matching->n_rows : matching->n_candidates;
    features.tensor = TENSOR_FEATURES;
    target.tensor = TENSOR_TARGET;
    features.layer = n_trials - 1;
    *n_found = 0;
    NORMA_GOTO(status, norma_rng_check(&features, most * matching->length));
    NORMA_GOTO(status, allocate(&t));
    for (int64_t number = 0; number < n_trials; number++) {
        features.layer = target.layer = number;
        norma_rng_fill_uniform(seed, &features, 0, matching->n_candidates * matching->length,
                               t.features);
        if (t.drawn)
            norma_rng_fill_uniform(seed, &target, 0, matching->n_rows * matching->length, t.drawn);
        find_fits(&t);
        *n_found += is_perfect(&t);
    }
done:
    NORMA_FREE(t.features);
    NORMA_FREE(t.drawn);
    NORMA_FREE(t.fits);
    NORMA_FREE(t.row_of);
    NORMA_FREE(t.seen);
    NORMA_FREE(t.path);
    NORMA_FREE(t.tried);
    return status;
}

/* 1 - (1 - x)^n without loss for small x. */
static double at_least_once(double x, double n)
{
    return x < 1 ? -expm1(n * log1p(-x)) : 1;
}

static double row_given(const norma_matching *m, int64_t row)
{
    double degree = 0;
    for (int64_t e = 0; e < m->length; e++)
        degree += m->target[row * m->length + e] != 0;
    return at_least_once(pow(m->present, degree), (double)m->n_candidates);
}

/* The mean over degrees D ~ Bin(length, q). */
static double row_drawn(const norma_matching *m)
{
    double n = (double)m->length;
    double q = m->density;
    double sum = 0;
    if (q <= 0 || q >= 1)
        return at_least_once(pow(m->present, q <= 0 ? 0 : n), (double)m->n_candidates);
    for (int64_t degree = 0; degree <= m->length; degree++) {
        double d = (double)degree;
        double logarithm =
            lgamma(n + 1) - lgamma(d + 1) - lgamma(n - d + 1) + d * log(q) + (n - d) * log1p(-q);
        sum += exp(logarithm) * at_least_once(pow(m->present, d), (double)m->n_candidates);
    }
    return sum;
}

double norma_matching_bound(const norma_matching *matching)
{
    double bound = 1;
    if (matching->n_rows > matching->n_candidates)
        return 0;
    for (int64_t row = 0; row < matching->n_rows; row++)
        bound *= matching->target ? row_given(matching, row) : row_drawn(matching);
    return bound;
}

double norma_matching_claimed(const norma_matching *matching)
{
    double q = matching->density;
    if (matching->target)
        return NAN;
    double fits = pow(1 - q + q * matching->present, (double)matching->length);
    return pow(at_least_once(fits, (double)matching->n_candidates), (double)matching->n_rows);
}
