#ifndef NORMA_NETWORK_ACTIVATION_H
#define NORMA_NETWORK_ACTIVATION_H
/*
 * The activations of networks and chains, one table: names, values, two derivatives, interval
 * images. Everything is elementwise and dimensionless. Gaussian moments: src/theory/second_moment.
 */
#include "src/base/names.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Indices in the table of all activations. */
typedef enum norma_activation_kind {
    NORMA_ACTIVATION_IDENTITY,
    NORMA_ACTIVATION_RELU,
    NORMA_ACTIVATION_LEAKY_RELU, /* parameter: slope of the negative side */
    NORMA_ACTIVATION_TANH,
    NORMA_ACTIVATION_SIGMOID,
    NORMA_ACTIVATION_GELU, /* x Phi(x), the exact form */
    NORMA_ACTIVATION_SILU,
    NORMA_ACTIVATION_SOFTPLUS,
    NORMA_ACTIVATION_RELU6,
    NORMA_ACTIVATION_HARD_SIGMOID, /* parameter: slope; its corners are at 1/2 over it */
    NORMA_ACTIVATION_HARD_SWISH,   /* x times hard-sigmoid of slope 1/6 */
    NORMA_ACTIVATION_CLIP,         /* parameter: limit of |x| */
    NORMA_N_ACTIVATIONS,           /* of networks; the others are for chains only */
    NORMA_ACTIVATION_SIN = NORMA_N_ACTIVATIONS,
    NORMA_ACTIVATION_SELU,
    NORMA_ACTIVATION_EXP,
    NORMA_ACTIVATION_ERF,
    NORMA_ACTIVATION_HERMITE /* parameter: degree k; He_k / sqrt(k!), unit Gaussian norm */
} norma_activation_kind;

typedef struct norma_activation {
    norma_activation_kind kind;
    double parameter;
} norma_activation;

/* A line of the table. */
typedef struct norma_activation_descriptor {
    const char *name, *summary;
    double (*value)(double x, double parameter);
    double (*derivative)(double x, double parameter); /* at a kink that of the side below */
    double (*curvature)(double x, double parameter);  /* second derivative beside a kink */
    double (*kink)(double parameter); /* jump of the derivative at 0; NULL: there is none */
    bool hard;                        /* the derivative jumps away from 0; linear on an interval */
    bool odd;                         /* phi(-x) = -phi(x) for every parameter */
    const char *parameter;            /* its name; NULL: none */
    const char *attribute;            /* its name in files of networks */
    double default_parameter;         /* NaN: must be given */
    double min, max;                  /* of the parameter */
    bool whole;                       /* the parameter is a whole number */
    bool homogeneous;                 /* phi(c x) = c phi(x) for all c > 0 */
    double lowest_at; /* where phi has a minimum inside; 0: it is monotone (networks) */
} norma_activation_descriptor;

/* Indices: norma_activation_kind; see activation_table.c. */
extern const norma_activation_descriptor norma_activation_table[];

/* All activations, and those that networks may have: a linear region is known for them. */
extern const norma_names norma_activation_names;
extern const norma_names norma_activation_network_names;

/* The homogeneous ones, which are linear on each side of 0; those of networks that are not. */
extern const norma_names norma_activation_homogeneous_names;
extern const norma_names norma_activation_curved_names;

/* Room for the names of a family of activations (norma_names_join). */
#define NORMA_ACTIVATION_LIST 160

/* Room for norma_activation_format. */
#define NORMA_ACTIVATION_TEXT 40

/* Reads "tanh", "leaky-relu" (slope 0.01), "leaky-relu:0.2", "hermite:3"; '_' counts as '-', and
 * capitals and other frameworks' names ("ReLU", "swish") are accepted.
 * NORMA_CONFIG with the nearest known name when unknown, or when the parameter is missing,
 * superfluous or out of range. */
NORMA_MUST_USE norma_status norma_activation_parse(const char *text, norma_activation *out);

/* The text that parses to the activation again. Returns out. */
const char *norma_activation_format(const norma_activation *activation,
                                    char out[NORMA_ACTIVATION_TEXT]);

/* The activation of networks called `name` ("relu", "leaky-relu"), with its default parameter;
 * NORMA_CONFIG with the nearest known name otherwise. */
NORMA_MUST_USE norma_status norma_activation_from_name(const char *name, norma_activation *out);

/* The name of a kind; a constant string. */
const char *norma_activation_name(norma_activation_kind kind);

/* phi(x), and its derivative, which at a kink is that of the side below. NaN stays NaN. */
double norma_activation_value(const norma_activation *activation, double x);
double norma_activation_derivative(const norma_activation *activation, double x);

/* phi''(x) beside a kink; the jump of phi' at 0. */
double norma_activation_curvature(const norma_activation *activation, double x);
double norma_activation_kink(const norma_activation *activation);

/* Is phi(-x) = -phi(x)? */
bool norma_activation_is_odd(const norma_activation *activation);

/* x[k] = phi(x[k]) for n values, in place. Reentrant, uses no threads. */
void norma_activation_apply(const norma_activation *activation, int64_t n, double *x);

/* Does the derivative jump away from 0? */
bool norma_activation_is_hard(const norma_activation *activation);

/* Is phi(c x) = c phi(x) for all c > 0? */
bool norma_activation_is_homogeneous(const norma_activation *activation);

/* The smallest interval that holds phi([lo, hi]) of an activation of networks; rounding is not
 * accounted for. */
void norma_activation_interval(const norma_activation *activation, double lo, double hi,
                               double *out_lo, double *out_hi);

#endif
