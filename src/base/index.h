#ifndef NORMA_BASE_INDEX_H
#define NORMA_BASE_INDEX_H
/* Sizes are int64_t inside Norma; libraries take int. These are the doors between, and they refuse.
 */
#include "src/base/status.h"

#include <stdint.h>

/* *out = n where 0 <= n <= INT_MAX; otherwise NORMA_LIMIT, naming `what` ("rows of M"). */
NORMA_MUST_USE norma_status norma_index_to_int(int64_t n, const char *what, int *out);

/* *out = a * b for a, b >= 0; NORMA_LIMIT when the product leaves int64_t. */
NORMA_MUST_USE norma_status norma_index_multiply(int64_t a, int64_t b, const char *what,
                                                 int64_t *out);

/* ceil(a / b), a >= 0, b > 0. */
int64_t norma_index_ceil_divide(int64_t a, int64_t b);

/* The contiguous share of part `part` of n items over n_parts parts: sizes differ by at most one,
 * larger ones first. *first is the first item, the count is returned. */
int64_t norma_index_share(int64_t n, int64_t n_parts, int64_t part, int64_t *first);

/* The first of the largest of n >= 1 numbers; NaN is never larger. */
int64_t norma_index_of_largest(int64_t n, const double *x);

#endif
