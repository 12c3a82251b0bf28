#ifndef NORMA_BASE_EARLIEST_H
#define NORMA_BASE_EARLIEST_H
/* A heap of workers by the time at which they end: deals tasks to the one that ends first. */
#include <stdint.h>

typedef struct norma_earliest {
    double ends;
    int64_t number; /* the caller's */
} norma_earliest;

/* heap[0] ends later than before: restores the order, so that heap[0] ends first again. n >= 1;
 * equal times anywhere are a heap. */
void norma_earliest_sift(norma_earliest *heap, int64_t n);

#endif
