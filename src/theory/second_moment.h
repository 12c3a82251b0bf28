#ifndef NORMA_THEORY_SECOND_MOMENT_H
#define NORMA_THEORY_SECOND_MOMENT_H
/* Gaussian second moments of activations, by which chains and mean-field theory scale. */
#include "src/base/status.h"
#include "src/network/activation.h"

/* *out = E phi(X)^2, X standard normal: closed form where there is one, else quadrature to 1e-12.
 * NORMA_LIBRARY when the quadrature fails. */
NORMA_MUST_USE norma_status norma_second_moment(const norma_activation *phi, double *out);

#endif
