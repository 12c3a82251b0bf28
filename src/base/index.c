#include "src/base/index.h"

#include <limits.h>

norma_status norma_index_to_int(int64_t n, const char *what, int *out)
{
    if (n < 0 || n > INT_MAX)
        return NORMA_FAIL(NORMA_LIMIT, "%s: %lld is outside 0 to %d, the range of a 32-bit index",
                          what, (long long)n, INT_MAX);
    *out = (int)n;
    return NORMA_OK;
}

norma_status norma_index_multiply(int64_t a, int64_t b, const char *what, int64_t *out)
{
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, out))
        return NORMA_FAIL(NORMA_LIMIT, "%s: %lld times %lld does not fit in 64 bits", what,
                          (long long)a, (long long)b);
    return NORMA_OK;
}

int64_t norma_index_ceil_divide(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

int64_t norma_index_share(int64_t n, int64_t n_parts, int64_t part, int64_t *first)
{
    int64_t quotient = n / n_parts;
    int64_t remainder = n % n_parts;
    *first = part * quotient + (part < remainder ? part : remainder);
    return quotient + (part < remainder ? 1 : 0);
}

int64_t norma_index_of_largest(int64_t n, const double *x)
{
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++)
        if (x[k] > x[best])
            best = k;
    return best;
}
