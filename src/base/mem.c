#include "src/base/mem.h"

#include "src/base/mem_count.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int_fast64_t live;
static atomic_int_fast64_t taken;

void *norma_mem_alloc(int64_t n, size_t size, const char *file, int line)
{
    size_t bytes = 0;
    void *p = NULL;
    if (n < 0 || __builtin_mul_overflow((size_t)n, size, &bytes) ||
        bytes > (size_t)PTRDIFF_MAX - NORMA_ALIGNMENT) {
        norma_status_fail(NORMA_MEMORY, file, line, "cannot allocate %lld elements of %zu bytes",
                          (long long)n, size);
        return NULL;
    }
    if (posix_memalign(&p, NORMA_ALIGNMENT, bytes > 0 ? bytes : 1) != 0) {
        norma_status_fail(NORMA_MEMORY, file, line, "out of memory: %zu bytes asked for", bytes);
        return NULL;
    }
    atomic_fetch_add(&live, 1);
    atomic_fetch_add_explicit(&taken, (int_fast64_t)bytes, memory_order_relaxed);
    return p;
}

void *norma_mem_calloc(int64_t n, size_t size, const char *file, int line)
{
    void *p = norma_mem_alloc(n, size, file, line);
    if (p)
        memset(p, 0, (size_t)n * size);
    return p;
}

void *norma_mem_resize(void *p, int64_t old_n, int64_t n, size_t size, const char *file, int line)
{
    void *q = norma_mem_alloc(n, size, file, line);
    if (q && p) {
        memcpy(q, p, (size_t)(old_n < n ? old_n : n) * size);
        norma_mem_free(p);
    }
    return q;
}

char *norma_mem_strdup(const char *text)
{
    if (!text)
        return NULL;
    size_t length = strlen(text) + 1;
    char *copy = norma_mem_alloc((int64_t)length, 1, __FILE__, __LINE__);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void norma_mem_free(void *p)
{
    if (p) {
        atomic_fetch_sub(&live, 1);
        free(p);
    }
}

int64_t norma_mem_live(void)
{
    return (int64_t)atomic_load(&live);
}

int64_t norma_mem_count_bytes(void)
{
    return (int64_t)atomic_load_explicit(&taken, memory_order_relaxed);
}
