#include "experiments/layers/schedule.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rule {
    enum { LOGARITHMIC, REGULAR, NOTHING } kind;
    int64_t per_decade; /* LOGARITHMIC */
    int64_t first;      /* REGULAR: all layers below */
    int64_t every;      /* REGULAR: then these */
} rule;

static norma_status parse(const char *text, rule *out)
{
    long long a = 0;
    long long b = 0;
    int end = 0;
    *out = (rule){.kind = REGULAR, .per_decade = 20, .every = 1};
    if (strcmp(text, "all") == 0)
        return NORMA_OK;
    if (strcmp(text, "none") == 0 || strcmp(text, "log") == 0) {
        out->kind = text[0] == 'n' ? NOTHING : LOGARITHMIC;
        return NORMA_OK;
    }
    if (sscanf(text, "log:%lld%n", &a, &end) == 1 && !text[end] && a >= 1 && a <= 1000) {
        out->kind = LOGARITHMIC;
        out->per_decade = a;
        return NORMA_OK;
    }
    if (sscanf(text, "every:%lld%n", &a, &end) == 1 && !text[end] && a >= 1) {
        out->every = a;
        return NORMA_OK;
    }
    if (sscanf(text, "first:%lld+every:%lld%n", &a, &b, &end) == 2 && !text[end] && a >= 1 &&
        b >= 1) {
        out->first = a;
        out->every = b;
        return NORMA_OK;
    }
    return NORMA_FAIL(NORMA_CONFIG,
                      "--record: '%.60s' is none of log, log:N, all, none, every:K, "
                      "first:X+every:K",
                      text);
}

/* The first layer of the rule behind `layer`. */
static int64_t next_layer(const rule *r, int64_t layer)
{
    if (r->kind == REGULAR && layer + 1 < r->first)
        return layer + 1;
    if (r->kind == REGULAR)
        return (layer / r->every + 1) * r->every;
    double step = pow(10, 1 / (double)r->per_decade);
    int64_t next = (int64_t)floor((double)layer * step);
    return next > layer ? next : layer + 1;
}

/* Appends a layer that is larger than the last one; others are left out. */
static norma_status add(norma_chain_schedule *s, int64_t layer)
{
    norma_chain_run_of_layers *last = s->n_runs > 0 ? &s->runs[s->n_runs - 1] : NULL;
    int64_t end = last ? last->start + (last->count - 1) * last->step : -1;
    if (layer <= end)
        return NORMA_OK;
    s->n++;
    if (last && (last->count == 1 || layer == end + last->step)) {
        last->step = layer - end;
        last->count++;
        return NORMA_OK;
    }
    if (s->n_runs == s->capacity) {
        int64_t larger = 2 * s->capacity + 64;
        norma_chain_run_of_layers *grown =
            norma_mem_resize(s->runs, s->n_runs, larger, sizeof *grown, __FILE__, __LINE__);
        if (!grown)
            return NORMA_MEMORY;
        s->runs = grown;
        s->capacity = larger;
    }
    s->runs[s->n_runs++] = (norma_chain_run_of_layers){layer, 1, 1, s->n - 1};
    return NORMA_OK;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The rule's layers and the sorted depths, merged. */
static norma_status merge(const rule *r, int64_t stride, const int64_t *depths, int64_t n_depths,
                          norma_chain_schedule *s)
{
    int64_t deepest = depths[n_depths - 1];
    int64_t k = 0;
    for (int64_t layer = 0; layer <= deepest; layer = next_layer(r, layer)) {
        for (; k < n_depths && depths[k] < layer; k++)
            NORMA_TRY(add(s, depths[k] / stride * stride));
        NORMA_TRY(add(s, layer / stride * stride));
    }
    for (; k < n_depths; k++)
        NORMA_TRY(add(s, depths[k] / stride * stride));
    return NORMA_OK;
}

norma_status norma_chain_schedule_make(const char *text, int64_t stride, const int64_t *depths,
                                       int64_t n_depths, norma_chain_schedule *out)
{
    rule r;
    int64_t *sorted = NULL;
    norma_chain_schedule s = {0};
    NORMA_TRY(parse(text, &r));
    if (r.kind != NOTHING && n_depths > 0) {
        NORMA_TRY(NORMA_ALLOC(sorted, n_depths));
        memcpy(sorted, depths, (size_t)n_depths * sizeof *sorted);
        qsort(sorted, (size_t)n_depths, sizeof *sorted, ascending);
        norma_status status = merge(&r, stride, sorted, n_depths, &s);
        norma_mem_free(sorted);
        if (status != NORMA_OK) {
            norma_chain_schedule_clear(&s);
            return status;
        }
    }
    *out = s;
    return NORMA_OK;
}

int64_t norma_chain_schedule_layer(const norma_chain_schedule *schedule, int64_t i)
{
    int64_t low = 0;
    int64_t high = schedule->n_runs - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (schedule->runs[middle].index <= i)
            low = middle;
        else
            high = middle - 1;
    }
    const norma_chain_run_of_layers *run = &schedule->runs[low];
    return run->start + (i - run->index) * run->step;
}

int64_t norma_chain_schedule_count(const norma_chain_schedule *schedule, int64_t depth)
{
    int64_t k = schedule->n_runs - 1;
    while (k >= 0 && schedule->runs[k].start > depth)
        k--;
    if (k < 0)
        return 0;
    const norma_chain_run_of_layers *run = &schedule->runs[k];
    int64_t n = (depth - run->start) / run->step + 1;
    return run->index + (n < run->count ? n : run->count);
}

void norma_chain_schedule_clear(norma_chain_schedule *schedule)
{
    NORMA_FREE(schedule->runs);
    schedule->n = schedule->n_runs = schedule->capacity = 0;
}
