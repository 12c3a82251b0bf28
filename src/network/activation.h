#ifndef NORMA_NETWORK_ACTIVATION_H
#define NORMA_NETWORK_ACTIVATION_H
/*
 * Activations: values and interval images. Everything is elementwise and dimensionless.
 */
#include "src/base/status.h"

#include <stdint.h>

typedef enum norma_activation_kind {
    NORMA_ACTIVATION_IDENTITY,
    NORMA_ACTIVATION_RELU,
    NORMA_ACTIVATION_LEAKY_RELU,
    NORMA_ACTIVATION_TANH,
    NORMA_ACTIVATION_SIGMOID,
    NORMA_ACTIVATION_GELU, /* x Phi(x), the exact form */
    NORMA_ACTIVATION_SILU,
    NORMA_ACTIVATION_SOFTPLUS,
    NORMA_N_ACTIVATIONS
} norma_activation_kind;

/* The slope of leaky-relu below zero where nothing else is said (PyTorch's default). */
#define NORMA_ACTIVATION_NEGATIVE_SLOPE 0.01

typedef struct norma_activation {
    norma_activation_kind kind;
    double negative_slope; /* leaky-relu only, in (0, 1) */
} norma_activation;

/* The activation called `name` ("relu", "leaky-relu"; '_' counts as '-'), with the default slope;
 * NORMA_CONFIG with the nearest known name otherwise. */
NORMA_MUST_USE norma_status norma_activation_from_name(const char *name, norma_activation *out);

/* The name of a kind; a constant string. */
const char *norma_activation_name(norma_activation_kind kind);

/* x[k] = phi(x[k]) for n values, in place. Reentrant, uses no threads. */
void norma_activation_apply(const norma_activation *activation, int64_t n, double *x);

/* The smallest interval that holds phi([lo, hi]); rounding is not accounted for. */
void norma_activation_interval(const norma_activation *activation, double lo, double hi,
                               double *out_lo, double *out_hi);

#endif
