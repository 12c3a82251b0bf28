#include "src/network/activation.h"

#include "src/base/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQRT_HALF 0.70710678118654752440
#define DENSITY_AT_0 0.39894228040143267794
#define TWO_OVER_ROOT_PI 1.12837916709551257390
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_ALPHA 1.6732632423543772848170429916717

static double identity(double x, double p)
{
    (void)p;
    return x;
}

static double identity_slope(double x, double p)
{
    (void)p;
    return isnan(x) ? x : 1;
}

/* A product with 0 keeps NaN, and makes it of minus infinity: an overflow does not vanish. */
static double relu(double x, double p)
{
    (void)p;
    return x > 0 ? x : 0 * x;
}

static double relu_slope(double x, double p)
{
    (void)p;
    return x > 0 ? 1 : 0 * x;
}

static double leaky_relu(double x, double p)
{
    return x > 0 ? x : p * x;
}

static double leaky_relu_slope(double x, double p)
{
    return x > 0 ? 1 : isnan(x) ? x : p;
}

static double hyperbolic(double x, double p)
{
    (void)p;
    return tanh(x);
}

static double hyperbolic_slope(double x, double p)
{
    (void)p;
    double c = cosh(x);
    return 1 / (c * c);
}

static double sigmoid(double x, double p)
{
    (void)p;
    return 1 / (1 + exp(-x));
}

/* Symmetric in x, so that neither tail is a difference of equal numbers. */
static double sigmoid_slope(double x, double p)
{
    (void)p;
    double e = exp(-fabs(x));
    return e / ((1 + e) * (1 + e));
}

static double gelu(double x, double p)
{
    (void)p;
    return 0.5 * x * erfc(-x * SQRT_HALF);
}

static double gelu_slope(double x, double p)
{
    (void)p;
    return 0.5 * erfc(-x * SQRT_HALF) + x * DENSITY_AT_0 * exp(-0.5 * x * x);
}

static double silu(double x, double p)
{
    (void)p;
    return x / (1 + exp(-x));
}

static double silu_slope(double x, double p)
{
    return sigmoid(x, p) + x * sigmoid_slope(x, p);
}

static double softplus(double x, double p)
{
    (void)p;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double sine(double x, double p)
{
    (void)p;
    return sin(x);
}

static double sine_slope(double x, double p)
{
    (void)p;
    return cos(x);
}

static double selu(double x, double p)
{
    (void)p;
    return SELU_SCALE * (x > 0 ? x : SELU_ALPHA * expm1(x));
}

static double selu_slope(double x, double p)
{
    (void)p;
    return SELU_SCALE * (x > 0 ? 1 : SELU_ALPHA * exp(x));
}

static double exponential(double x, double p)
{
    (void)p;
    return exp(x);
}

static double error_function(double x, double p)
{
    (void)p;
    return erf(x);
}

static double error_function_slope(double x, double p)
{
    (void)p;
    return TWO_OVER_ROOT_PI * exp(-x * x);
}

/* He_k(x) / sqrt(k!) by the three-term recurrence of the normalized polynomials. */
static double hermite(double x, double p)
{
    double before = 0, value = 1;
    for (int k = 0; k < (int)p; k++) {
        double next = (x * value - sqrt((double)k) * before) / sqrt((double)k + 1);
        before = value;
        value = next;
    }
    return value;
}

/* h_k' = sqrt(k) h_(k-1). */
static double hermite_slope(double x, double p)
{
    return p < 1 ? 0 * x : sqrt(p) * hermite(x, p - 1);
}

static const norma_activation_descriptor table[] = {
    [NORMA_ACTIVATION_IDENTITY] = {.name = "identity",
                                   .summary = "x",
                                   .value = identity,
                                   .derivative = identity_slope,
                                   .homogeneous = true},
    [NORMA_ACTIVATION_RELU] = {.name = "relu",
                               .summary = "max(x, 0)",
                               .value = relu,
                               .derivative = relu_slope,
                               .homogeneous = true},
    [NORMA_ACTIVATION_LEAKY_RELU] = {.name = "leaky-relu",
                                     .summary = "x above 0, slope times x below; slope 0.01 unless "
                                                "given",
                                     .value = leaky_relu,
                                     .derivative = leaky_relu_slope,
                                     .parameter = "slope",
                                     .default_parameter = 0.01, /* PyTorch's */
                                     .min = -DBL_MAX,
                                     .max = DBL_MAX,
                                     .homogeneous = true},
    [NORMA_ACTIVATION_TANH] = {.name = "tanh",
                               .summary = "hyperbolic tangent",
                               .value = hyperbolic,
                               .derivative = hyperbolic_slope},
    [NORMA_ACTIVATION_SIGMOID] = {.name = "sigmoid",
                                  .summary = "1 / (1 + exp(-x))",
                                  .value = sigmoid,
                                  .derivative = sigmoid_slope},
    [NORMA_ACTIVATION_GELU] = {.name = "gelu",
                               .summary = "x Phi(x), Phi the normal distribution function",
                               .value = gelu,
                               .derivative = gelu_slope,
                               .lowest_at = -0.75179152771287},
    [NORMA_ACTIVATION_SILU] = {.name = "silu",
                               .summary = "x / (1 + exp(-x))",
                               .value = silu,
                               .derivative = silu_slope,
                               .lowest_at = -1.27846454276107},
    [NORMA_ACTIVATION_SOFTPLUS] = {.name = "softplus",
                                   .summary = "log(1 + exp(x))",
                                   .value = softplus,
                                   .derivative = sigmoid},
    [NORMA_ACTIVATION_SIN] = {.name = "sin",
                              .summary = "sine; chains only",
                              .value = sine,
                              .derivative = sine_slope},
    [NORMA_ACTIVATION_SELU] = {.name = "selu",
                               .summary = "scaled exponential linear unit; chains only",
                               .value = selu,
                               .derivative = selu_slope},
    [NORMA_ACTIVATION_EXP] = {.name = "exp",
                              .summary = "exponential; chains only",
                              .value = exponential,
                              .derivative = exponential},
    [NORMA_ACTIVATION_ERF] = {.name = "erf",
                              .summary = "error function; chains only",
                              .value = error_function,
                              .derivative = error_function_slope},
    [NORMA_ACTIVATION_HERMITE] = {.name = "hermite",
                                  .summary = "hermite:K is He_K / sqrt(K!), of unit Gaussian norm; "
                                             "chains only",
                                  .value = hermite,
                                  .derivative = hermite_slope,
                                  .parameter = "degree",
                                  .default_parameter = NAN,
                                  .min = 0,
                                  .max = 100,
                                  .whole = true},
};

static bool is_of_networks(int64_t i)
{
    return i < NORMA_N_ACTIVATIONS;
}

/* Names in PyTorch, Keras and JAX. */
static const norma_synonym synonyms[] = {
    {"linear", "identity"}, {"none", "identity"},    {"leakyrelu", "leaky-relu"},
    {"swish", "silu"},      {"logistic", "sigmoid"}, {"soft-plus", "softplus"},
    {"sine", "sin"},        {"exponential", "exp"},  {NULL, NULL}};

const norma_names norma_activation_names =
    NORMA_NAMES_WITH("activation", "activations", table, NULL, synonyms);
const norma_names norma_activation_network_names =
    NORMA_NAMES_WITH("activation", "activations of networks", table, is_of_networks, synonyms);

static norma_status read_parameter(const char *text, norma_activation *activation)
{
    const norma_activation_descriptor *d = &table[activation->kind];
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return NORMA_FAIL(NORMA_CONFIG, "activation %s: '%s' is not a number", d->name, text);
    if (!(value >= d->min && value <= d->max) || (d->whole && value != floor(value)))
        return NORMA_FAIL(NORMA_CONFIG, "activation %s: the %s must be %g to %g, not %s", d->name,
                          d->parameter, d->min, d->max, text);
    activation->parameter = value;
    return NORMA_OK;
}

/* The activation of index i with its default parameter. */
static norma_activation activation_of(int64_t i)
{
    return (norma_activation){(norma_activation_kind)i, table[i].default_parameter};
}

norma_status norma_activation_parse(const char *text, norma_activation *out)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    char name[NORMA_ACTIVATION_TEXT] = "";
    int64_t i = 0;
    if (length < sizeof name)
        memcpy(name, text, length);
    NORMA_TRY(norma_names_find(&norma_activation_names, length < sizeof name ? name : text, &i));
    norma_activation activation = activation_of(i);
    if (colon && !table[i].parameter)
        return NORMA_FAIL(NORMA_CONFIG, "activation %s takes no parameter", table[i].name);
    if (colon)
        NORMA_TRY(read_parameter(colon + 1, &activation));
    if (isnan(activation.parameter))
        return NORMA_FAIL(NORMA_CONFIG, "activation %s needs its %s, as in %s:3", table[i].name,
                          table[i].parameter, table[i].name);
    *out = activation;
    return NORMA_OK;
}

const char *norma_activation_format(const norma_activation *activation,
                                    char out[NORMA_ACTIVATION_TEXT])
{
    const norma_activation_descriptor *d = &table[activation->kind];
    if (d->parameter)
        (void)snprintf(out, NORMA_ACTIVATION_TEXT, "%s:%.17g", d->name, activation->parameter);
    else
        (void)snprintf(out, NORMA_ACTIVATION_TEXT, "%s", d->name);
    return out;
}

norma_status norma_activation_from_name(const char *name, norma_activation *out)
{
    int64_t i = 0;
    NORMA_TRY(norma_names_find(&norma_activation_network_names, name, &i));
    *out = activation_of(i);
    return NORMA_OK;
}

const char *norma_activation_name(norma_activation_kind kind)
{
    return table[kind].name;
}

double norma_activation_value(const norma_activation *activation, double x)
{
    return table[activation->kind].value(x, activation->parameter);
}

double norma_activation_derivative(const norma_activation *activation, double x)
{
    return table[activation->kind].derivative(x, activation->parameter);
}

void norma_activation_apply(const norma_activation *activation, int64_t n, double *x)
{
    const norma_activation_descriptor *d = &table[activation->kind];
    if (activation->kind == NORMA_ACTIVATION_IDENTITY)
        return;
    if (activation->kind == NORMA_ACTIVATION_RELU) { /* the common one, for the vectorizer */
        for (int64_t k = 0; k < n; k++)
            x[k] = x[k] > 0 ? x[k] : 0 * x[k];
        return;
    }
    for (int64_t k = 0; k < n; k++)
        x[k] = d->value(x[k], activation->parameter);
}

bool norma_activation_is_homogeneous(const norma_activation *activation)
{
    return table[activation->kind].homogeneous ||
           (activation->kind == NORMA_ACTIVATION_HERMITE && activation->parameter == 1);
}

/* phi at an end of an interval, which may be infinite. */
static double value_at_end(const norma_activation *activation, double x)
{
    if (activation->kind == NORMA_ACTIVATION_RELU)
        return x < 0 ? 0 : x;
    return norma_activation_value(activation, x);
}

void norma_activation_interval(const norma_activation *activation, double lo, double hi,
                               double *out_lo, double *out_hi)
{
    double a = value_at_end(activation, lo);
    double b = value_at_end(activation, hi);
    double lowest_at = table[activation->kind].lowest_at;
    *out_lo = fmin(a, b);
    *out_hi = fmax(a, b);
    if (lowest_at < 0 && lo < lowest_at && lowest_at < hi)
        *out_lo = norma_activation_value(activation, lowest_at);
}
