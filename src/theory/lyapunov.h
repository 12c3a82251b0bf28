#ifndef NORMA_THEORY_LYAPUNOV_H
#define NORMA_THEORY_LYAPUNOV_H
/* Exact Lyapunov exponents of products of independent d x d Gaussian matrices. */
#include <stdint.h>

/* lambda_k, k = 1 .. d, of a product of matrices with entries N(0, sigma^2):
 * (ln 2 + psi((d - k + 1) / 2)) / 2 + ln sigma (Newman 1986). NaN for k out of range. */
double norma_lyapunov_gaussian(int64_t d, int64_t k, double sigma);

/* lambda_1 of a product of I + g W, entries of W N(0, 1), g > 0: half the mean logarithm of
 * |e + g w|^2, which is g^2 times a noncentral chi-square of d degrees of freedom and noncentrality
 * 1 / g^2, a Poisson mixture of chi-squares. The terms summed leave out a probability below 1e-15.
 */
double norma_lyapunov_residual(int64_t d, double g);

#endif
