#ifndef NORMA_STATS_QUANTILE_H
#define NORMA_STATS_QUANTILE_H
/* Quantiles of samples. */
#include <stdint.h>

/* Sorts x[n] in place and returns the quantile at p in [0, 1], linear between order statistics p (n
 * - 1) apart (Hyndman and Fan's type 7). Values may be infinite; NaN for n = 0 and where x holds a
 * NaN. */
double norma_quantile(double *x, int64_t n, double p);

#endif
