#include "mpi/krylov/survey.h"

#include "src/base/index.h"
#include "src/base/mem.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>

/* Weights beyond this have products whose squares leave the range of doubles. */
#define LARGEST_WEIGHT 1e70

/* Features that a thread reads at a time. */
#define CHUNK 64

static norma_status bad_weight(int64_t start, const char *name, int64_t e, int64_t width,
                               double value)
{
    return NORMA_FAIL(
        NORMA_CONFIG, "source weight %s of feature %lld, number %lld of its %lld, is %g: %s", name,
        (long long)(start + e / width), (long long)(e % width), (long long)width, value,
        isfinite(value) ? "too large for double precision" : "a finite value is expected");
}

/* *largest of |x|, and the index of the first number that is no weight, INT64_MAX: none. */
static int64_t screen(const double *x, int64_t n, double *largest)
{
    *largest = 0;
    for (int64_t e = 0; e < n; e++) {
        double size = fabs(x[e]);
        if (!(size <= LARGEST_WEIGHT))
            return e;
        *largest = size > *largest ? size : *largest;
    }
    return INT64_MAX;
}

/* One feature; `column` [n_rows] is room. */
static void look_at(const norma_width_rule *rule, int64_t t, const double *first,
                    const double *second, double *column, norma_survey *s)
{
    int64_t n_first = norma_khatri_rao_width_first(&rule->shape);
    int64_t n_second = norma_khatri_rao_width_second(&rule->shape);
    double largest_first = 0;
    double largest_second = 0;
    int64_t bad_first = screen(first, n_first, &largest_first);
    int64_t bad_second = screen(second, n_second, &largest_second);
    if (bad_first < n_first && s->bad_first == INT64_MAX)
        s->bad_first = t * n_first + bad_first;
    if (bad_second < n_second && s->bad_second == INT64_MAX)
        s->bad_second = t * n_second + bad_second;
    if (bad_first < n_first || bad_second < n_second)
        return;
    s->largest_first = fmax(s->largest_first, largest_first);
    s->largest_second = fmax(s->largest_second, largest_second);
    if (largest_first == 0 || largest_second == 0) {
        s->n_zero++;
        s->first_zero = s->first_zero < t ? s->first_zero : t;
    }
    if (!s->squares)
        return;
    double sum = 0;
    norma_width_rule_fill(rule, second, first, 0, rule->n_rows, column);
    for (int64_t r = 0; r < rule->n_rows; r++)
        sum += column[r] * column[r];
    s->squares[t] = sum;
}

static void merge(const norma_survey *from, norma_survey *to)
{
    to->bad_first = from->bad_first < to->bad_first ? from->bad_first : to->bad_first;
    to->bad_second = from->bad_second < to->bad_second ? from->bad_second : to->bad_second;
    to->n_zero += from->n_zero;
    to->first_zero = from->first_zero < to->first_zero ? from->first_zero : to->first_zero;
    to->largest_first = fmax(to->largest_first, from->largest_first);
    to->largest_second = fmax(to->largest_second, from->largest_second);
}

/* `room` is [threads][length], length = CHUNK * (n_first + n_second) + n_rows. */
static void look_at_all(const norma_width_rule *rule, const norma_khatri_rao *kr,
                        int64_t n_features, double *room, int64_t length, norma_survey *found)
{
    int64_t n_first = norma_khatri_rao_width_first(&rule->shape);
    int64_t n_second = norma_khatri_rao_width_second(&rule->shape);
    int64_t n_chunks = norma_index_ceil_divide(n_features, CHUNK);
#pragma omp parallel
    {
        double *first = room + length * omp_get_thread_num();
        double *second = first + CHUNK * n_first;
        norma_survey own = *found; /* nothing yet, and where the squares go */
#pragma omp for schedule(dynamic)
        for (int64_t c = 0; c < n_chunks; c++) {
            int64_t left = n_features - c * CHUNK;
            int64_t count = left < CHUNK ? left : CHUNK;
            norma_khatri_rao_read(kr, c * CHUNK, count, first, second);
            for (int64_t t = 0; t < count; t++)
                look_at(rule, c * CHUNK + t, first + t * n_first, second + t * n_second,
                        second + CHUNK * n_second, &own);
        }
#pragma omp critical
        merge(&own, found);
    }
}

norma_status norma_survey_run_local(const norma_width_rule *rule, const norma_khatri_rao *kr,
                                    int64_t start, int64_t n_features, norma_survey *found)
{
    int64_t n_first = norma_khatri_rao_width_first(&rule->shape);
    int64_t n_second = norma_khatri_rao_width_second(&rule->shape);
    int64_t length = CHUNK * (n_first + n_second) + rule->n_rows;
    double *room = NULL;
    *found =
        (norma_survey){.bad_first = INT64_MAX, .bad_second = INT64_MAX, .first_zero = INT64_MAX};
    if (rule->closed)
        NORMA_TRY(NORMA_ALLOC(found->squares, n_features));
    NORMA_TRY(NORMA_ALLOC(room, length * omp_get_max_threads()));
    look_at_all(rule, kr, n_features, room, length, found);
    if (found->bad_first < INT64_MAX || found->bad_second < INT64_MAX) {
        bool is_first = found->bad_first < INT64_MAX;
        int64_t e = is_first ? found->bad_first : found->bad_second;
        int64_t width = is_first ? n_first : n_second;
        norma_khatri_rao_read(kr, e / width, 1, room, room + n_first);
        double value = room[is_first ? e % width : n_first + e % width];
        NORMA_FREE(room);
        return bad_weight(start, is_first ? "W1" : "W2", e, width, value);
    }
    NORMA_FREE(room);
    if (found->first_zero < INT64_MAX)
        found->first_zero += start;
    return NORMA_OK;
}
