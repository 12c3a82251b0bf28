#ifndef NORMA_BASE_MEM_PLACE_H
#define NORMA_BASE_MEM_PLACE_H
/*
 * Workspaces that one function both measures and allocates, so that a plan and its run cannot
 * differ. The function takes `double *bytes`: NULL to allocate, otherwise the sum to add to.
 *
 *     static norma_status place(norma_thing *thing, double *bytes)
 *     {
 *         NORMA_TRY(NORMA_PLACE(thing->x, thing->n, bytes));
 *         return NORMA_PLACE(thing->y, 2 * thing->n, bytes);
 *     }
 */
#include "src/base/mem.h"

/* A norma_status expression: NORMA_CALLOC(pointer, n), or only *bytes += n elements. */
#define NORMA_PLACE(pointer, n, bytes)                                                             \
    ((bytes) ? (*(bytes) += (double)(n) * (double)sizeof *(pointer), NORMA_OK)                     \
             : NORMA_CALLOC(pointer, n))

/* The same for n rows of m elements, whose product may be beyond int64_t where it is measured. */
#define NORMA_PLACE_ROWS(pointer, n, m, bytes)                                                     \
    ((bytes) ? (*(bytes) += (double)(n) * (double)(m) * (double)sizeof *(pointer), NORMA_OK)       \
             : NORMA_CALLOC(pointer, (int64_t)(n) * (int64_t)(m)))

/* The same with undefined contents (NORMA_ALLOC): large arrays that threads are the first to fill,
 * and arrays that are written before they are read. */
#define NORMA_PLACE_UNSET(pointer, n, m, bytes)                                                    \
    ((bytes) ? (*(bytes) += (double)(n) * (double)(m) * (double)sizeof *(pointer), NORMA_OK)       \
             : NORMA_ALLOC(pointer, (int64_t)(n) * (int64_t)(m)))

#endif
