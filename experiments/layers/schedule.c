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

static norma_status add(norma_chain_schedule *s, int64_t *capacity, int64_t layer)
{
    if (s->n == *capacity) {
        int64_t larger = 2 * *capacity + 64;
        int64_t *layers =
            norma_mem_resize(s->layers, s->n, larger, sizeof *layers, __FILE__, __LINE__);
        if (!layers)
            return NORMA_MEMORY;
        s->layers = layers;
        *capacity = larger;
    }
    s->layers[s->n++] = layer;
    return NORMA_OK;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

norma_status norma_chain_schedule_make(const char *text, int64_t stride, const int64_t *depths,
                                       int64_t n_depths, norma_chain_schedule *out)
{
    rule r;
    int64_t deepest = 0;
    int64_t capacity = 0;
    norma_chain_schedule s = {0};
    norma_status status = NORMA_OK;
    NORMA_TRY(parse(text, &r));
    for (int64_t i = 0; i < n_depths && r.kind != NOTHING; i++)
        deepest = depths[i] > deepest ? depths[i] : deepest;
    for (int64_t layer = 0; r.kind != NOTHING && layer <= deepest && status == NORMA_OK;
         layer = next_layer(&r, layer))
        status = add(&s, &capacity, layer / stride * stride);
    for (int64_t i = 0; i < n_depths && r.kind != NOTHING && status == NORMA_OK; i++)
        status = add(&s, &capacity, depths[i] / stride * stride);
    if (status != NORMA_OK) {
        norma_chain_schedule_clear(&s);
        return status;
    }
    if (s.n > 0)
        qsort(s.layers, (size_t)s.n, sizeof *s.layers, ascending);
    int64_t n = 0;
    for (int64_t i = 0; i < s.n; i++)
        if (n == 0 || s.layers[i] != s.layers[n - 1])
            s.layers[n++] = s.layers[i];
    s.n = n;
    *out = s;
    return NORMA_OK;
}

int64_t norma_chain_schedule_count(const norma_chain_schedule *schedule, int64_t depth)
{
    int64_t n = schedule->n;
    while (n > 0 && schedule->layers[n - 1] > depth)
        n--;
    return n;
}

void norma_chain_schedule_clear(norma_chain_schedule *schedule)
{
    NORMA_FREE(schedule->layers);
    schedule->n = 0;
}
