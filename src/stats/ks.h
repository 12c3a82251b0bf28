#ifndef NORMA_STATS_KS_H
#define NORMA_STATS_KS_H
/* Kolmogorov-Smirnov distances of samples. */
#include <stdint.h>

/* Sorts x[n] in place and returns sup |F_n - F|, `cdf` the distribution function F. n >= 1; x
 * without NaN. */
double norma_ks_distance(double *x, int64_t n, double (*cdf)(double value, const void *context),
                         const void *context);

/* Sorts both samples in place and returns sup |F_n - F_m|. */
double norma_ks_distance_two(double *x, int64_t n, double *y, int64_t m);

/* Asymptotic probability of a distance of at least this by chance for a sample of effective size n
 * (two samples: n m / (n + m)), with Stephens' correction. */
double norma_ks_probability(double distance, double n);

#endif
