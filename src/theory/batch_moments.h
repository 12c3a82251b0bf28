#ifndef NORMA_THEORY_BATCH_MOMENTS_H
#define NORMA_THEORY_BATCH_MOMENTS_H
/*
 * Moments of psi over a row of a normalized batch: x in R^n has a given mean and a given sum of
 * squared deviations from it, and its direction is uniform otherwise.
 *
 * One coordinate of such a row is mean + sqrt(square (n - 1) / n) t with t of density
 * ~ (1 - t^2)^((n - 4) / 2); given it, the other n - 1 form such a row again. Integrals over
 * several coordinates are nested accordingly: by Gauss-Gegenbauer rules for differentiable psi,
 * else by Gauss-Legendre rules between the places where a coordinate passes psi's kink.
 */
#include "src/base/status.h"
#include "src/theory/transfer.h"

#include <stdint.h>

typedef struct norma_batch_rule norma_batch_rule;

/* The rules for rows of n coordinates, psi applied to scale x_i. `fine`: for one and two
 * coordinates (to about 1e-12); else coarser, for products of three and four (to about 1e-7). psi
 * is borrowed. NORMA_CONFIG when psi is a polynomial of a degree above 60 (fine) or 24. */
NORMA_MUST_USE norma_status norma_batch_rule_create(const norma_transfer *psi, double scale,
                                                    int64_t n, bool fine, norma_batch_rule **out);
void norma_batch_rule_destroy(norma_batch_rule **rule);

/* *a2 = E a_1^2 and *aa = E a_1 a_2 over a row, a_i = psi(scale x_i). */
void norma_batch_measure_gram(const norma_batch_rule *rule, double mean, double square, double *a2,
                              double *aa);

/* Means over a row, a_i = psi(scale x_i), q_i = scale psi'(scale x_i). What needs two coordinates
 * is 0 for n = 1. */
typedef struct norma_batch_pair {
    double a2, a2x, a2xx;       /* E a_1^2, E a_1^2 x_1, E a_1^2 x_1^2 */
    double aa, aax, aaxx, aaxy; /* E a_1 a_2 {1, x_1, x_1^2, x_1 x_2} */
    double a4, a31, a22;        /* E a_1^4, E a_1^3 a_2, E a_1^2 a_2^2 */
    double q2, q2x, q2xx;       /* E q_1^2 {1, x_1, x_1^2} */
    double qq, qqx, qqxy;       /* E q_1 q_2 {1, x_1, x_1 x_2} */
} norma_batch_pair;

void norma_batch_measure_pair(const norma_batch_rule *rule, double mean, double square,
                              norma_batch_pair *out);

/* *a211 = E a_1^2 a_2 a_3 (0 for n < 3) and *a1111 = E a_1 a_2 a_3 a_4 (0 for n < 4). */
void norma_batch_measure_products(const norma_batch_rule *rule, double mean, double square,
                                  double *a211, double *a1111);

#endif
