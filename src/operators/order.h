#ifndef NORMA_OPERATORS_ORDER_H
#define NORMA_OPERATORS_ORDER_H
/* The order in which the nodes of a graph can be computed. */
#include "src/base/status.h"

#include <stdint.h>

/* Where the values that a node reads come from: node k reads sources[first[k]] ..
 * sources[first[k + 1] - 1]. A source is the number of a node, or -1: the input of the graph. */
typedef struct norma_edges {
    int64_t n_nodes;
    const int64_t *first; /* [n_nodes + 1] */
    const int64_t *sources;
} norma_edges;

/* order[n_nodes] = the nodes, each behind all that it reads. Nodes whose order already is such a
 * one keep it. *on_cycle is -1, or a node that reads its own value, directly or through others;
 * order is then not set. O(nodes + edges). NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_order_find(const norma_edges *edges, int64_t *order,
                                             int64_t *on_cycle);

#endif
