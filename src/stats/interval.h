#ifndef NORMA_STATS_INTERVAL_H
#define NORMA_STATS_INTERVAL_H
/* Confidence intervals: of a mean over independent replicas, of a probability. */
#include <stdint.h>

/* Mean of x[0 .. n-1] and the half-width of its two-sided confidence interval at `level` in (0, 1)
 * (0.95 for 95%): t * s / sqrt(n), t the Student quantile of n - 1 degrees of freedom, s the sample
 * standard deviation (n - 1). Summed in index order, so the same values give the same bits. The
 * half-width is NaN for n = 1, both are NaN for n = 0 and where x holds a NaN; an infinite value
 * gives an infinite mean (or NaN) and a NaN half-width. */
void norma_interval_mean(const double *x, int64_t n, double level, double *mean,
                         double *half_width);

/* The Student quantile t with P(|T| <= t) = level for `dof` > 0 degrees of freedom. */
double norma_interval_student(double level, double dof);

/* Wilson's interval at `level` of a probability, from n_found successes in n >= 1 trials: within
 * [0, 1], and never of width 0. */
void norma_interval_wilson(int64_t n_found, int64_t n, double level, double *low, double *high);

#endif
