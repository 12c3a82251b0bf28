#ifndef NORMA_OPERATORS_SLOTS_H
#define NORMA_OPERATORS_SLOTS_H
/*
 * Memory for the values of a graph whose nodes are computed one after another: a value keeps its
 * slot until the last node that reads it is done, and then another value takes the slot.
 */
#include "src/operators/order.h"

typedef struct norma_slots {
    int64_t n_slots;
    int64_t *of;    /* [1 + n_nodes]: slot of the graph's input, then of each node's value; owned */
    int64_t *size;  /* [n_slots]: the largest value that the slot holds; owned */
    int64_t total;  /* sum of size */
    int64_t values; /* sum of the sizes of all values */
} norma_slots;

/* Slots for nodes computed in the order of their numbers, each of whose sources has a lower number.
 * sizes[1 + n_nodes]: of the input, then of each node's value. The value of the last node is never
 * replaced. In a chain two slots take turns. NORMA_MEMORY; *slots is to be cleared whatever is
 * returned. */
NORMA_MUST_USE norma_status norma_slots_init(norma_slots *slots, const norma_edges *edges,
                                             const int64_t *sizes);

void norma_slots_clear(norma_slots *slots);

#endif
