#ifndef NORMA_GRADIENT_RATES_H
#define NORMA_GRADIENT_RATES_H
/* Rates at which gradients grow from one layer to the one before it. Everything is dimensionless.
 */
#include <stdint.h>

/* (log_norm[layer] - log_norm[layer + 10]) / 10: the rate R(l, alpha) of THESIS section 6.4. NaN
 * where there are no 10 layers before depth, or a gradient is 0. */
double norma_gradient_local_rate(const double *log_norm, int64_t depth, int64_t layer);

/* Slope of the least-squares line through (x[i], y[i]), of those with finite y; x NULL: 0, 1, ...
 * NaN with fewer than two different x. */
double norma_gradient_slope(int64_t n, const double *x, const double *y);

/* y = c1 x^c2 by least squares of log y against log x, of pairs that are positive; NaN as above. */
void norma_gradient_power_law(int64_t n, const double *x, const double *y, double *c1, double *c2);

#endif
