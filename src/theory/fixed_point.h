#ifndef NORMA_THEORY_FIXED_POINT_H
#define NORMA_THEORY_FIXED_POINT_H
/*
 * The Gram matrix at the symmetric fixed point of batch normalization in infinitely wide chains
 * (THESIS (3.3)), for any activation.
 *
 * At a symmetric fixed point the rows of the normalized batch of n samples are uniform on a sphere
 * of radius `row_norm`, in the whole space (bn) or in the complement of the vector of ones
 * (bn-centered). With x such a row,
 *
 *     G*_ii = E phi(x_i)^2,     G*_ij = E phi(x_i) phi(x_j)  (i != j).
 *
 * The coordinates are x_i = row_norm sqrt(m / n) t with m = n or n - 1 the dimension, t one
 * coordinate of a uniform unit vector, and any two of them have correlation 0 or -1 / (n - 1).
 */
#include "src/base/status.h"
#include "src/theory/nonlinearity.h"

#include <stdbool.h>
#include <stdint.h>

/* *diagonal = E phi(x_i)^2, *off = E phi(x_i) phi(x_j), both by nested Gauss-Legendre quadrature
 * split where phi may have a kink (accurate to about 1e-12 for the activations known). n >= 2 when
 * centered, else n >= 1 (*off = 0 for n = 1); NORMA_CONFIG otherwise. */
NORMA_MUST_USE norma_status norma_fixed_point_bn(const norma_nonlinearity *phi, int64_t n,
                                                 bool centered, double row_norm, double *diagonal,
                                                 double *off);

#endif
