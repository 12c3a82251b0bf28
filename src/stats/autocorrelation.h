#ifndef NORMA_STATS_AUTOCORRELATION_H
#define NORMA_STATS_AUTOCORRELATION_H
/* Autocorrelation of a stationary series and its integrated time tau = 1 + 2 sum_k rho_k, so that
 * the variance of the mean of n values is tau / n times theirs. */
#include <stdint.h>

/* Autocovariance at `lag` (divided by n, about the series' own mean); 0 for lag >= n. */
double norma_autocorrelation_covariance(const double *x, int64_t n, int64_t lag);

/* rho_lag; NaN for a constant series. */
double norma_autocorrelation_at(const double *x, int64_t n, int64_t lag);

/* Integrated time by Sokal's window, the smallest W >= 6 tau(W): its relative standard error is
 * about sqrt(2 (2 W + 1) / n). At least 1 / n. NaN for a constant series, for n < 2, or where the
 * window does not close before n / 2 (a series too short for its own time). *window (may be NULL)
 * gets W. Costs n W. */
double norma_autocorrelation_time(const double *x, int64_t n, int64_t *window);

#endif
