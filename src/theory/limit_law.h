#ifndef NORMA_THEORY_LIMIT_LAW_H
#define NORMA_THEORY_LIMIT_LAW_H
/*
 * Limit laws of the singular values of a feature matrix M, n x c1, whose entries have variance
 * t / n (RF Thm 2.2, corrected and extended). All quantities are dimensionless.
 *
 * Where all rows have the same variance 1 / n, the nonzero singular values have the density
 *
 *     sqrt((s^2 - a^2)(b^2 - s^2)) / (pi s min(1, c1/n)),   a, b = |sqrt(c1/n) -+ 1|.
 *
 * With source kernels K1 and K2 of more than one tap each, a row at composite position k has the
 * variance m_k / n, m_k the number of pairs p + q = k. The law of such a population is that of the
 * generalized Marchenko-Pastur equation for the companion Stieltjes transform m,
 *
 *     z = -1/m + y sum_k f_k t_k / (1 + t_k m),   y = n / c1,   z = s^2 y,
 *
 * f_k the share of rows with variance t_k / n; the density over z, a row, is Im m / (pi y).
 */
#include "src/base/status.h"
#include "src/features/kernel.h"

#include <stdint.h>

/* Different variances that a population may have. */
#define NORMA_LIMIT_MAX_KINDS 64

typedef struct norma_limit_population {
    int n_kinds;
    double share[NORMA_LIMIT_MAX_KINDS];    /* f_k, of sum 1 */
    double variance[NORMA_LIMIT_MAX_KINDS]; /* t_k > 0, all different */
} norma_limit_population;

/* The rows of KR for a kernel split: t_k = m_k. NORMA_LIMIT where there are too many kinds. */
NORMA_MUST_USE norma_status norma_limit_population_init(const norma_kernel *kernel,
                                                        norma_limit_population *out);

typedef struct norma_limit_law norma_limit_law;

/* The law for c1 / n = ratio > 0; values are multiplied by scale > 0, as those of a matrix with
 * other variances are. Caller owns *out; the population is copied. NORMA_NUMERIC where the support
 * is not found. */
NORMA_MUST_USE norma_status norma_limit_law_create(const norma_limit_population *population,
                                                   double ratio, double scale,
                                                   norma_limit_law **out);

/* Density and distribution function of the nonzero values at s; the latter is 0 below and 1 above
 * the support. */
double norma_limit_law_density(const norma_limit_law *law, double s);
double norma_limit_law_cdf(const norma_limit_law *law, double s);

/* The ends of the support. */
double norma_limit_law_low(const norma_limit_law *law);
double norma_limit_law_high(const norma_limit_law *law);

/* Frees and nulls; NULL is allowed. */
void norma_limit_law_destroy(norma_limit_law **law);

/* The outlier that an output channel of the min rule adds: theta is the sum of the squared ratios
 * of its row without the pivot, y = rows / c1, n and c1 as above. sqrt((1 + theta)(1 + y / theta)
 * c1 / n) where theta > sqrt(y); NaN elsewhere: the value stays in the bulk. */
double norma_limit_outlier(double theta, double y, double ratio);

/* c1 = n, real independent entries of variance 1 / n: the probability that n sigma_min exceeds t,
 * exp(-t^2 / 2 - t), and the t that it exceeds with probability p in (0, 1]. */
double norma_limit_hard_edge_above(double t);
double norma_limit_hard_edge_quantile(double p);

#endif
