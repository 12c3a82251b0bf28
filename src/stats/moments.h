#ifndef NORMA_STATS_MOMENTS_H
#define NORMA_STATS_MOMENTS_H
/* Mean and variance of a stream in one pass, mergeable (Welford; Chan, Golub, LeVeque). The bits of
 * a result depend on the order of additions and merges only: merge in a fixed order (by replica, by
 * batch) and they do not depend on who computed what. An infinite value makes the mean infinite
 * (NaN with infinities of both signs) and the variance NaN. */
#include <stdint.h>

typedef struct norma_moments {
    int64_t count;
    double mean;
    double squares; /* sum of squared deviations from the mean */
} norma_moments;

/* An empty one; all fields zero. */
void norma_moments_init(norma_moments *moments);

void norma_moments_add(norma_moments *moments, double x);

/* into = into followed by other. */
void norma_moments_merge(norma_moments *into, const norma_moments *other);

/* Sample variance (count - 1); NaN below two values. */
double norma_moments_variance(const norma_moments *moments);

#endif
