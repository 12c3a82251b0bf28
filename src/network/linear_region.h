#ifndef NORMA_NETWORK_LINEAR_REGION_H
#define NORMA_NETWORK_LINEAR_REGION_H
/*
 * The part of an activation that a source pair works in (CNN24 Thm 2.4, corrected):
 * phi(x) = m x + c for x = g z + b in [low, high], exactly for identity, relu, leaky-relu and the
 * hard ones, within epsilon of the layer's output for the others. Everything is dimensionless.
 */
#include "src/network/activation.h"

#include <stdbool.h>

/* The range that the region must hold, and its precision. */
typedef struct norma_linear_demand {
    double reach;    /* Q1 = max_J max(|lo_J|, |hi_J|) of the pre-activations z */
    double gain;     /* Q2 = max_i |gamma2_i| sum_{J,p} |W2[i,J,p]| */
    double epsilon;  /* error of an output that is allowed; NaN: ten times the floor */
    double roundoff; /* unit roundoff of the evaluation */
} norma_linear_demand;

typedef struct norma_linear_region {
    double scale;    /* g */
    double slope;    /* m */
    double constant; /* c */
    bool shifted;    /* b_J = start - lo_J, and g = 1; otherwise b_J = middle */
    double middle;   /* of a region with two ends */
    double low;      /* -DBL_MAX and DBL_MAX where the region does not end */
    double high;
    double start;   /* low, and a little more for the rounding of z + b */
    double epsilon; /* bound of an output's error that the region was chosen for; 0 when exact */
    double floor;   /* least epsilon that rounding leaves attainable; 0 when exact */
} norma_linear_region;

/* Does the activation have a region where it is linear, not only nearly so? */
bool norma_linear_region_is_exact(const norma_activation *activation);

/* Does the region depend on the reach of the pre-activations, or on the gain? */
bool norma_linear_region_needs_demand(const norma_activation *activation);

/* identity, relu, leaky-relu: low = 0 (identity: no end), m = 1, c = 0. tanh: |tanh x - x| <=
 * |x|^3/3, so g = min(sqrt(3 eps / (Q2 Q1^3)), 1 / Q1), m = 1, c = 0. sigmoid: 12 in place of 3, m
 * = 1/4, c = 1/2. gelu, silu, softplus: the least low with Q2 max_{x >= low} |phi(x) - x| <= eps, m
 * = 1, c = 0. hard-swish: low = 3, m = 1, c = 0. relu6, hard-sigmoid, clip: the middle b of their
 * linear piece, g = min(1, half its length / Q1). The floor is where eps falls to the rounding 2 u
 * Q2 (m (|b| + g Q1) + |c|) / (m g). NORMA_CONFIG, naming the floor, for an epsilon below it. */
NORMA_MUST_USE norma_status norma_linear_region_init(norma_linear_region *region,
                                                     const norma_activation *activation,
                                                     const norma_linear_demand *demand);

/* b_J of a feature with z >= lo. */
double norma_linear_region_shift(const norma_linear_region *region, double lo);

#endif
