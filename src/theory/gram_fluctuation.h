#ifndef NORMA_THEORY_GRAM_FLUCTUATION_H
#define NORMA_THEORY_GRAM_FLUCTUATION_H
/*
 * Fluctuations of the Gram matrix about its fixed point in chains of finite width d with batch
 * normalization, to leading order in 1 / d, and the growth of gradients in the same chain.
 *
 * Given G near G*, the next Gram matrix is F(G) plus noise of covariance C / d, with
 *
 *     C = Cov(a a^T),   J[D] = (1/2) Cov(a a^T, h^T G*^-1 D G*^-1 h),   a = phi(x), h ~ N(0, G*),
 *
 * J the derivative of F. The stationary covariance solves S = J S J^T + C / d, and
 * E ||G - G*||_F^2 = tr S. All three commute with permutations of the samples: symmetric matrices
 * fall into three kinds, and J, C, S into one block for each:
 *     scalar     I and 11^T - I                                    order 2, once
 *     vector     diag(u) and u 1^T + 1 u^T off the diagonal, u ortho-  order 2, n - 1 times
 *                gonal to 1                                        (order 1 for n = 2)
 *     traceless  zero diagonal, zero row sums                      order 1, n (n - 3) / 2 times
 * in bases of Frobenius norm 1, in this order.
 */
#include "src/theory/gram_map.h"

/* The highest Hermite degree of polynomials whose fluctuations are computed. */
#define NORMA_GRAM_MAX_DEGREE 24

typedef enum norma_gram_kind {
    NORMA_GRAM_SCALAR,
    NORMA_GRAM_VECTOR,
    NORMA_GRAM_TRACELESS,
    NORMA_N_GRAM_KINDS
} norma_gram_kind;

typedef struct norma_gram_fluctuation {
    norma_gram_fixed_point fixed;
    double derivative[NORMA_N_GRAM_KINDS][2][2]; /* J */
    double noise[NORMA_N_GRAM_KINDS][2][2];      /* C */
    double stationary[NORMA_N_GRAM_KINDS][2][2]; /* S d; infinite where a contraction is not < 1 */
    double contraction[NORMA_N_GRAM_KINDS]; /* spectral radius of each block of J; NaN where the
                                               batch has no such matrices */
    double one_layer2;                      /* tr C = d E ||G_1 - F(G_0)||_F^2 at G_0 = G* */
    double stationary2;                     /* tr S d = d E ||G - G*||_F^2 */
    double gradient_rate; /* half the logarithm of the growth of squared gradients a layer */
} norma_gram_fluctuation;

/* How often a block of this kind occurs in symmetric n x n matrices. */
int64_t norma_gram_multiplicity(norma_gram_kind kind, int64_t n);

/* All of the above for rows of norm sqrt(n). The gradient rate is infinite where the sphere has a
 * dimension (n, or n - 1 when centered) of at most 2. NORMA_CONFIG as norma_gram_map_solve, for
 * collapsed fixed points, and for polynomials of a Hermite degree above NORMA_GRAM_MAX_DEGREE. */
NORMA_MUST_USE norma_status norma_gram_fluctuation_compute(const norma_transfer *phi, int64_t n,
                                                           bool centered,
                                                           norma_gram_fluctuation *out);

#endif
