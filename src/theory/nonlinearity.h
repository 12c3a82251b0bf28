#ifndef NORMA_THEORY_NONLINEARITY_H
#define NORMA_THEORY_NONLINEARITY_H
/* Scalar activation functions of chains and mean-field theory, with their Gaussian moments. */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_nonlinearity_kind {
    NORMA_NONLINEARITY_IDENTITY,
    NORMA_NONLINEARITY_RELU,
    NORMA_NONLINEARITY_LEAKY_RELU, /* parameter: slope of the negative side */
    NORMA_NONLINEARITY_TANH,
    NORMA_NONLINEARITY_SIN,
    NORMA_NONLINEARITY_SIGMOID,
    NORMA_NONLINEARITY_GELU, /* x Phi(x), Phi the normal distribution function */
    NORMA_NONLINEARITY_SELU,
    NORMA_NONLINEARITY_EXP,
    NORMA_NONLINEARITY_SILU,
    NORMA_NONLINEARITY_SOFTPLUS,
    NORMA_NONLINEARITY_ERF,
    NORMA_NONLINEARITY_HERMITE, /* parameter: degree k; He_k / sqrt(k!), unit Gaussian norm */
    NORMA_N_NONLINEARITIES
} norma_nonlinearity_kind;

typedef struct norma_nonlinearity {
    norma_nonlinearity_kind kind;
    double parameter;
} norma_nonlinearity;

/* Room for norma_nonlinearity_format. */
#define NORMA_NONLINEARITY_NAME 40

/* Reads "tanh", "leaky-relu" (slope 0.01), "leaky-relu:0.2", "hermite:3". NORMA_CONFIG with the
 * nearest known name when unknown, or when the parameter is missing, superfluous or out of range
 * (degree 0 to 100, finite slope). */
NORMA_MUST_USE norma_status norma_nonlinearity_parse(const char *text, norma_nonlinearity *out);

/* The text that parses to phi again. Returns out. */
const char *norma_nonlinearity_format(const norma_nonlinearity *phi,
                                      char out[NORMA_NONLINEARITY_NAME]);

/* phi(x). */
double norma_nonlinearity_value(const norma_nonlinearity *phi, double x);

/* x[n] = phi(x[n]), element by element. */
void norma_nonlinearity_apply(const norma_nonlinearity *phi, int64_t n, double *x);

/* Is phi(c x) = c phi(x) for all c > 0? */
bool norma_nonlinearity_is_homogeneous(const norma_nonlinearity *phi);

/* *out = E phi(X)^2, X standard normal: closed form where there is one, else quadrature to 1e-12.
 * NORMA_LIBRARY when the quadrature fails. */
NORMA_MUST_USE norma_status norma_nonlinearity_second_moment(const norma_nonlinearity *phi,
                                                             double *out);

#endif
