#ifndef NORMA_ALIGN_MATCHING_H
#define NORMA_ALIGN_MATCHING_H
/*
 * Is there an order of target rows in which sparse features have every weight that the target needs
 * (RF Theorems 4.2 and 4.3)?
 *
 * K rows of features have each of `length` weights with probability p, independently. A target row
 * fits a feature row that has all of its nonzero places, d of them; all target rows need a feature
 * row of their own, a perfect matching.
 *     one row, of degree d         P = 1 - (1 - p^d)^K
 *     all rows, of given degrees   P <= the product of that over rows (van den Berg and Kesten:
 * rows are matched disjointly) degrees D ~ Bin(length, q)   the mean of that over D; equal for a
 * single row RF Theorem 4.3               1 - (1 - E p^D)^K, E p^D = (1 - q + q p)^length: too
 * large, since all K candidates share the same target row
 */
#include "src/base/rng.h"

#include <stdbool.h>

typedef struct norma_matching {
    int64_t n_rows;       /* of the target, c2 */
    int64_t n_candidates; /* rows of features, K */
    int64_t length;       /* weights of a row, c0 |K| */
    double present;       /* p */
    double density;       /* q of target rows that are drawn */
    const double *target; /* [n_rows][length], whose nonzero places count; borrowed; NULL: drawn */
} norma_matching;

/* Trials of `n_trials` in which a perfect matching exists. Streams differ in `layer`, the number of
 * the trial. Local. NORMA_MEMORY; NORMA_LIMIT beyond the counters' fields. */
NORMA_MUST_USE norma_status norma_matching_count(const norma_matching *matching, int64_t n_trials,
                                                 uint64_t seed, const norma_rng_stream *stream,
                                                 int64_t *n_found);

/* The upper bound on the probability; the probability itself for a single row. Local. */
double norma_matching_bound(const norma_matching *matching);

/* As RF Theorem 4.3 has it; NaN for a given target. Local. */
double norma_matching_claimed(const norma_matching *matching);

#endif
