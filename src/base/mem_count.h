#ifndef NORMA_BASE_MEM_COUNT_H
#define NORMA_BASE_MEM_COUNT_H
/* The memory that was allocated: tests compare it with the memory that a plan states. */
#include <stdint.h>

/* Bytes that were allocated since the start (src/base/mem.h), those freed since included. */
int64_t norma_mem_count_bytes(void);

#endif
