#include "src/operators/order.h"

#include "src/base/mem.h"

#include <stdbool.h>

/* A search in depth: a node is listed as soon as all that it reads is listed. */
typedef struct search {
    const norma_edges *edges;
    int64_t *next;  /* [n_nodes]: edge to look at next; -1 before the node is visited */
    bool *listed;   /* [n_nodes] */
    int64_t *stack; /* [n_nodes]: the nodes whose sources are being visited */
    int64_t n_listed;
    int64_t *order;
} search;

/* Lists `root` behind all that it reads; returns a node of a cycle, or -1. */
static int64_t visit(search *s, int64_t root)
{
    int64_t depth = 0;
    s->stack[depth++] = root;
    s->next[root] = s->edges->first[root];
    while (depth > 0) {
        int64_t node = s->stack[depth - 1];
        if (s->next[node] == s->edges->first[node + 1]) {
            s->listed[node] = true;
            s->order[s->n_listed++] = node;
            depth--;
            continue;
        }
        int64_t source = s->edges->sources[s->next[node]++];
        if (source < 0 || s->listed[source])
            continue;
        if (s->next[source] >= 0) /* on the stack */
            return source;
        s->next[source] = s->edges->first[source];
        s->stack[depth++] = source;
    }
    return -1;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): order is written through the search */
norma_status norma_order_find(const norma_edges *edges, int64_t *order, int64_t *on_cycle)
{
    norma_status status = NORMA_OK;
    search s = {.edges = edges, .order = order};
    *on_cycle = -1;
    NORMA_GOTO(status, NORMA_ALLOC(s.next, edges->n_nodes));
    NORMA_GOTO(status, NORMA_CALLOC(s.listed, edges->n_nodes));
    NORMA_GOTO(status, NORMA_ALLOC(s.stack, edges->n_nodes));
    for (int64_t k = 0; k < edges->n_nodes; k++)
        s.next[k] = -1;
    for (int64_t k = 0; k < edges->n_nodes && *on_cycle < 0; k++)
        if (!s.listed[k])
            *on_cycle = visit(&s, k);
done:
    NORMA_FREE(s.next);
    NORMA_FREE(s.listed);
    NORMA_FREE(s.stack);
    return status;
}
