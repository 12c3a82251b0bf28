#ifndef NORMA_THEORY_TRANSFER_H
#define NORMA_THEORY_TRANSFER_H
/*
 * The scalar transfer function of a layer in mean-field theory, psi(x) = (phi(x) - shift) factor,
 * with its first two derivatives: phi is an activation or a finite sum of normalized Hermite
 * polynomials, sum_k c_k He_k(x) / sqrt(k!).
 *
 * phi' may jump at 0 (relu, selu); phi'' is then a regular part and a point mass at 0.
 */
#include "src/base/status.h"
#include "src/network/activation.h"

#include <stdbool.h>
#include <stdint.h>

/* The highest degree of a sum of Hermite polynomials is one less. */
#define NORMA_TRANSFER_MAX_TERMS 101

/* Room for norma_transfer_format. */
#define NORMA_TRANSFER_NAME 2600

typedef struct norma_transfer {
    norma_activation activation; /* used when n_terms is 0 */
    int n_terms;                 /* of the Hermite sum, 0: none */
    double term[NORMA_TRANSFER_MAX_TERMS];
    double shift, factor; /* 0 and 1 after norma_transfer_parse */
} norma_transfer;

/* Moments of X standard normal. */
typedef struct norma_transfer_moments {
    double mean;             /* E psi(X) */
    double second;           /* E psi(X)^2 */
    double slope_second;     /* E psi'(X)^2 */
    double curvature_second; /* E psi''(X)^2; infinity where psi' jumps */
} norma_transfer_moments;

/* Reads an activation's name, or "hermite-sum:c0,c1,..." ("hermite-sum:0,0.4,0.9"). NORMA_CONFIG
 * when unknown, when a coefficient is not a finite number or when there are none or too many; for
 * an activation whose derivative jumps away from 0. */
NORMA_MUST_USE norma_status norma_transfer_parse(const char *text, norma_transfer *out);

/* The text that parses to phi again (shift and factor are not part of it). Returns out. */
const char *norma_transfer_format(const norma_transfer *psi, char out[NORMA_TRANSFER_NAME]);

/* psi(x), psi'(x) (at the kink: from the left) and the regular part of psi''(x). */
double norma_transfer_value(const norma_transfer *psi, double x);
double norma_transfer_slope(const norma_transfer *psi, double x);
double norma_transfer_curvature(const norma_transfer *psi, double x);

/* psi'(0+) - psi'(0-): 0 for a differentiable function. */
double norma_transfer_jump(const norma_transfer *psi);

/* Is psi(-x) = -psi(x) by its form? */
bool norma_transfer_is_odd(const norma_transfer *psi);

/* Is psi a polynomial of finite Hermite degree? Its degree is then in *degree, else -1. */
bool norma_transfer_is_polynomial(const norma_transfer *psi, int *degree);

/* The half-width beyond which psi^2 has no weight under the normal density in double precision. */
double norma_transfer_reach(const norma_transfer *psi);

/* *out = E f(psi, X, data), X standard normal, by composite Gauss-Legendre quadrature on both half
 * lines: to 1e-15 of E |f| for f analytic on each. NORMA_MEMORY when out of memory. */
NORMA_MUST_USE norma_status norma_transfer_expect(const norma_transfer *psi,
                                                  double (*f)(const norma_transfer *, double,
                                                              const void *),
                                                  const void *data, double *out);

/* The four moments, exact where a closed form is known, else to 1e-14. */
NORMA_MUST_USE norma_status norma_transfer_measure(const norma_transfer *psi,
                                                   norma_transfer_moments *out);

/* hermite[k] = E psi(X) He_k(X) / sqrt(k!), k = 0 .. n - 1 (n at most 1000). */
NORMA_MUST_USE norma_status norma_transfer_hermite(const norma_transfer *psi, int n,
                                                   double *hermite);

/* Sets shift and factor so that E psi(X)^2 = 1, and E psi(X) = 0 when centred. NORMA_CONFIG when
 * E phi(X)^2 is 0 or not finite (for centred: when phi is constant). */
NORMA_MUST_USE norma_status norma_transfer_normalize(norma_transfer *psi, bool centered);

#endif
