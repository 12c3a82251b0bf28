#include "src/operators/slots.h"

#include "src/base/mem.h"

#include <stdbool.h>

/* Which slots hold no value that is still read. */
typedef struct state {
    norma_slots *slots;
    bool *free;    /* [1 + n_nodes]; of the first n_slots */
    int64_t *last; /* [1 + n_nodes]: the last node that reads each value; -1: none */
} state;

/* Among free slots the smallest that is large enough, else the largest, else a new one. */
static int64_t take(state *s, int64_t size)
{
    norma_slots *slots = s->slots;
    int64_t best = -1;
    for (int64_t k = 0; k < slots->n_slots; k++) {
        if (!s->free[k])
            continue;
        bool enough = slots->size[k] >= size;
        bool best_enough = best >= 0 && slots->size[best] >= size;
        if (best < 0 || (enough && (!best_enough || slots->size[k] < slots->size[best])) ||
            (!enough && !best_enough && slots->size[k] > slots->size[best]))
            best = k;
    }
    if (best < 0) {
        best = slots->n_slots++;
        slots->size[best] = 0;
    }
    if (slots->size[best] < size)
        slots->size[best] = size;
    s->free[best] = false;
    return best;
}

static void assign(state *s, const norma_edges *edges, const int64_t *sizes)
{
    norma_slots *slots = s->slots;
    slots->of[0] = take(s, sizes[0]);
    for (int64_t node = 0; node < edges->n_nodes; node++) {
        slots->of[node + 1] = take(s, sizes[node + 1]);
        for (int64_t k = edges->first[node]; k < edges->first[node + 1]; k++) {
            int64_t value = edges->sources[k] + 1;
            if (s->last[value] == node)
                s->free[slots->of[value]] = true;
        }
        if (s->last[node + 1] < 0) /* nobody reads it; the last node's is taken by none behind it */
            s->free[slots->of[node + 1]] = true;
    }
    slots->total = slots->values = 0;
    for (int64_t k = 0; k < slots->n_slots; k++)
        slots->total += slots->size[k];
    for (int64_t k = 0; k <= edges->n_nodes; k++)
        slots->values += sizes[k];
}

norma_status norma_slots_init(norma_slots *slots, const norma_edges *edges, const int64_t *sizes)
{
    norma_status status = NORMA_OK;
    state s = {.slots = slots};
    int64_t n = 1 + edges->n_nodes;
    *slots = (norma_slots){0};
    NORMA_GOTO(status, NORMA_ALLOC(slots->of, n));
    NORMA_GOTO(status, NORMA_CALLOC(slots->size, n));
    NORMA_GOTO(status, NORMA_CALLOC(s.free, n));
    NORMA_GOTO(status, NORMA_ALLOC(s.last, n));
    for (int64_t k = 0; k < n; k++)
        s.last[k] = -1;
    for (int64_t node = 0; node < edges->n_nodes; node++)
        for (int64_t k = edges->first[node]; k < edges->first[node + 1]; k++)
            s.last[edges->sources[k] + 1] = node;
    assign(&s, edges, sizes);
done:
    NORMA_FREE(s.free);
    NORMA_FREE(s.last);
    return status;
}

void norma_slots_clear(norma_slots *slots)
{
    NORMA_FREE(slots->of);
    NORMA_FREE(slots->size);
    slots->n_slots = 0;
}
