#ifndef NORMA_BASE_MEM_H
#define NORMA_BASE_MEM_H
/*
 * Memory: aligned, counted, sizes multiplied in 64 bits. Live allocations are counted so that a
 * leak is reported at exit (mpi/runtime/runtime.h) and fails a test.
 */
#include "src/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define NORMA_ALIGNMENT 64

/* Allocates n elements of `size` bytes, aligned to NORMA_ALIGNMENT, contents undefined; n = 0 gives
 * a pointer that must be freed as well. NULL, with the error recorded, when n < 0, the product
 * overflows or memory is short. Caller owns. Use through NORMA_ALLOC. */
void *norma_mem_alloc(int64_t n, size_t size, const char *file, int line);

/* The same, filled with zeros. Use through NORMA_CALLOC. */
void *norma_mem_calloc(int64_t n, size_t size, const char *file, int line);

/* Changes the length of an array of `old_n` elements to n, keeping the contents; p may be NULL
 * (with old_n = 0). On failure NULL, and p stays valid. */
void *norma_mem_resize(void *p, int64_t old_n, int64_t n, size_t size, const char *file, int line);

/* A counted copy of a string (NULL gives NULL without an error record). Caller owns. */
char *norma_mem_strdup(const char *text);

/* Frees what the functions above gave; NULL is allowed. */
void norma_mem_free(void *p);

/* Allocations alive now; 0 at a clean exit. */
int64_t norma_mem_live(void);

/* norma_status expressions: NORMA_GOTO(status, NORMA_ALLOC(x, n)). */
#define NORMA_ALLOC(pointer, n)                                                                    \
    (((pointer) = norma_mem_alloc((n), sizeof *(pointer), __FILE__, __LINE__)) ? NORMA_OK          \
                                                                               : NORMA_MEMORY)
#define NORMA_CALLOC(pointer, n)                                                                   \
    (((pointer) = norma_mem_calloc((n), sizeof *(pointer), __FILE__, __LINE__)) ? NORMA_OK         \
                                                                                : NORMA_MEMORY)

/* Frees and nulls. */
#define NORMA_FREE(pointer)                                                                        \
    do {                                                                                           \
        norma_mem_free(pointer);                                                                   \
        (pointer) = NULL;                                                                          \
    } while (0)

#endif
