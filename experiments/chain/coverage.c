#include "experiments/chain/coverage.h"

#include "src/base/mem.h"

#include <stdlib.h>
#include <string.h>

norma_status norma_chain_coverage_init(norma_chain_coverage *coverage, int64_t n_tasks)
{
    memset(coverage, 0, sizeof *coverage);
    coverage->n_tasks = n_tasks;
    NORMA_TRY(NORMA_CALLOC(coverage->covered, n_tasks));
    NORMA_TRY(NORMA_ALLOC(coverage->needed, n_tasks));
    for (int64_t t = 0; t < n_tasks; t++)
        coverage->needed[t] = -1;
    return NORMA_OK;
}

void norma_chain_coverage_clear(norma_chain_coverage *coverage)
{
    NORMA_FREE(coverage->covered);
    NORMA_FREE(coverage->needed);
    NORMA_FREE(coverage->spans);
    coverage->n_spans = coverage->capacity = 0;
}

norma_status norma_chain_coverage_add(norma_chain_coverage *coverage, int64_t task,
                                      const norma_chain_piece *piece)
{
    int64_t n = coverage->n_spans;
    if (n + piece->count > coverage->capacity) {
        int64_t larger = 2 * (n + piece->count);
        norma_chain_span *grown =
            norma_mem_resize(coverage->spans, n, larger, sizeof *grown, __FILE__, __LINE__);
        if (!grown)
            return NORMA_MEMORY;
        coverage->spans = grown;
        coverage->capacity = larger;
    }
    for (int64_t r = 0; r < piece->count; r++)
        coverage->spans[n++] = (norma_chain_span){task + r, piece->after, piece->upto};
    coverage->n_spans = n;
    return NORMA_OK;
}

static int by_task_and_layer(const void *a, const void *b)
{
    const norma_chain_span *x = a;
    const norma_chain_span *y = b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    return (x->after > y->after) - (x->after < y->after);
}

void norma_chain_coverage_settle(norma_chain_coverage *coverage, unsigned char *done)
{
    if (coverage->n_spans > 0)
        qsort(coverage->spans, (size_t)coverage->n_spans, sizeof *coverage->spans,
              by_task_and_layer);
    for (int64_t s = 0; s < coverage->n_spans; s++) {
        const norma_chain_span *span = &coverage->spans[s];
        double *covered = &coverage->covered[span->task];
        if ((double)span->after + 1 <= *covered && (double)span->upto + 1 > *covered)
            *covered = (double)span->upto + 1;
    }
    for (int64_t t = 0; t < coverage->n_tasks; t++)
        if (done[t] && !norma_chain_coverage_holds(coverage, t, 1, coverage->needed[t]))
            done[t] = 0;
    NORMA_FREE(coverage->spans);
    coverage->n_spans = coverage->capacity = 0;
}

bool norma_chain_coverage_holds(const norma_chain_coverage *coverage, int64_t task, int64_t count,
                                int64_t layer)
{
    for (int64_t r = task; r < task + count; r++)
        if (coverage->covered[r] < (double)layer + 1)
            return false;
    return true;
}
