#ifndef NORMA_THEORY_GRAM_MAP_H
#define NORMA_THEORY_GRAM_MAP_H
/*
 * The Gram matrix of a batch of n samples in infinitely wide chains with batch normalization
 * (THESIS (3.3)), on matrices that no permutation of the samples changes, G = a I + b 11^T:
 *
 *     F(G)_ij = E phi(x_i) phi(x_j),   x = radius h / ||P h||,   h ~ N(0, G),
 *
 * with P the projection off the vector of ones (bn-centered) or the identity (bn), h := P h.
 *
 * h has a part c ~ N(0, a + n b) along the ones and a part across of squared norm ~ a chi^2_(n-1).
 * With tan(angle) = (across / sqrt(a)) / (c / sqrt(a + n b)), the angle has density
 * ~ sin(angle)^(n-2) whatever G is, and the row x is (cos t, sqrt(n) sin t), as mean and norm
 * across, tan t = tan(angle) / sqrt(ratio), ratio = (a + n b) / a: F depends on G through the
 * ratio. bn-centered: x is uniform on the sphere in the complement of the ones; F is constant.
 */
#include "src/base/status.h"
#include "src/theory/batch_moments.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_gram {
    double diagonal, off;
} norma_gram;

typedef struct norma_gram_fixed_point {
    norma_gram gram; /* G* */
    double ratio;    /* (a + n b) / a; 0 where G* 1 = 0 or when centered; infinity: collapsed */
    bool collapsed;  /* all samples become equal: G* = b 11^T, phi constant or nearly so */
} norma_gram_fixed_point;

/* *out = F of a matrix of this ratio (not negative; infinity: all samples equal up to sign).
 * NORMA_CONFIG when n is below 1 (bn-centered: 2), or the ratio is negative or NaN. */
NORMA_MUST_USE norma_status norma_gram_map_apply(const norma_transfer *phi, int64_t n,
                                                 bool centered, double radius, double ratio,
                                                 norma_gram *out);

/* The ratio of a matrix; infinity where a = 0. 1 for n = 1. */
double norma_gram_ratio(int64_t n, const norma_gram *gram);

/* The fixed point G* = F(G*) that orthogonal samples (G = I) lead to. As the ratio grows, F's grows
 * as its square root, since rows with c near 0 keep the samples apart: unless phi is constant to
 * 1e-5 or so (ratio beyond 1e10: collapsed) the fixed point is not singular along differences of
 * samples. NORMA_CONFIG as above. */
NORMA_MUST_USE norma_status norma_gram_map_solve(const norma_transfer *phi, int64_t n,
                                                 bool centered, double radius,
                                                 norma_gram_fixed_point *out);

/* Nodes of the outer integral over the angle; weights sum to 1. */
#define NORMA_GRAM_MAX_NODES 1024
typedef struct norma_gram_nodes {
    int n;
    double mean[NORMA_GRAM_MAX_NODES];   /* cos t */
    double square[NORMA_GRAM_MAX_NODES]; /* n sin^2 t */
    double weight[NORMA_GRAM_MAX_NODES];
    double spread[NORMA_GRAM_MAX_NODES]; /* E(||h||^2 | x) / (n a) */
} norma_gram_nodes;

/* Places nodes for a finite ratio, `points` a panel; kinked: with panels between the angles where
 * coordinates begin to pass 0. Centered: one node, mean 0. */
NORMA_MUST_USE norma_status norma_gram_nodes_place(int64_t n, bool centered, bool kinked,
                                                   double ratio, int points, norma_gram_nodes *out);

#endif
