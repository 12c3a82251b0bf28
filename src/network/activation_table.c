/* The table of activations and its functions. */
#include "src/network/activation.h"

#include <float.h>
#include <math.h>

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

/* Of the piecewise linear ones. */
static double flat(double x, double p)
{
    (void)p;
    return 0 * x;
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

static double relu_kink(double p)
{
    (void)p;
    return 1;
}

static double leaky_relu(double x, double p)
{
    return x > 0 ? x : p * x;
}

static double leaky_relu_slope(double x, double p)
{
    return x > 0 ? 1 : isnan(x) ? x : p;
}

static double leaky_relu_kink(double p)
{
    return 1 - p;
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

static double hyperbolic_curvature(double x, double p)
{
    return -2 * tanh(x) * hyperbolic_slope(x, p);
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

static double sigmoid_curvature(double x, double p)
{
    return -tanh(0.5 * x) * sigmoid_slope(x, p);
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

static double gelu_curvature(double x, double p)
{
    (void)p;
    return (2 - x * x) * (DENSITY_AT_0 * exp(-0.5 * x * x));
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

static double silu_curvature(double x, double p)
{
    return (2 - x * tanh(0.5 * x)) * sigmoid_slope(x, p);
}

static double softplus(double x, double p)
{
    (void)p;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* Of the hard ones: x at which a piece ends, NaN as NaN, and NaN for infinite x where the function
 * is constant, so that an overflow does not vanish. */
static double relu6(double x, double p)
{
    return x > 6 ? 6 + 0 * x : relu(x, p);
}

static double relu6_slope(double x, double p)
{
    return x > 6 ? 0 * x : relu_slope(x, p);
}

static double hard_sigmoid(double x, double p)
{
    double line = p * x + 0.5;
    return line <= 0 ? 0 * x : line >= 1 ? 1 + 0 * x : line;
}

static double hard_sigmoid_slope(double x, double p)
{
    double line = p * x + 0.5;
    return line > 0 && line <= 1 ? p : 0 * x;
}

static double hard_swish(double x, double p)
{
    (void)p;
    return x <= -3 ? 0 * x : x >= 3 ? x : x * (x + 3) / 6;
}

static double hard_swish_slope(double x, double p)
{
    (void)p;
    return x <= -3 ? 0 * x : x > 3 ? 1 : x / 3 + 0.5;
}

static double hard_swish_curvature(double x, double p)
{
    (void)p;
    return x > -3 && x <= 3 ? 1.0 / 3 : 0 * x;
}

static double clip(double x, double p)
{
    return x > p ? p + 0 * x : x < -p ? -p + 0 * x : x;
}

static double clip_slope(double x, double p)
{
    return x > -p && x <= p ? 1 : 0 * x;
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

static double sine_curvature(double x, double p)
{
    (void)p;
    return -sin(x);
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

static double selu_curvature(double x, double p)
{
    (void)p;
    return x > 0 ? 0 : SELU_SCALE * SELU_ALPHA * exp(x);
}

static double selu_kink(double p)
{
    (void)p;
    return SELU_SCALE * (1 - SELU_ALPHA);
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

static double error_function_curvature(double x, double p)
{
    (void)p;
    return -2 * x * TWO_OVER_ROOT_PI * exp(-x * x);
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

static double hermite_curvature(double x, double p)
{
    return p < 2 ? 0 * x : sqrt(p * (p - 1)) * hermite(x, p - 2);
}

const norma_activation_descriptor norma_activation_table[] = {
    [NORMA_ACTIVATION_IDENTITY] = {.name = "identity",
                                   .summary = "x",
                                   .value = identity,
                                   .derivative = identity_slope,
                                   .curvature = flat,
                                   .odd = true,
                                   .homogeneous = true},
    [NORMA_ACTIVATION_RELU] = {.name = "relu",
                               .summary = "max(x, 0)",
                               .value = relu,
                               .derivative = relu_slope,
                               .curvature = flat,
                               .kink = relu_kink,
                               .homogeneous = true},
    [NORMA_ACTIVATION_LEAKY_RELU] = {.name = "leaky-relu",
                                     .summary = "x above 0, slope times x below; slope 0.01 unless "
                                                "given",
                                     .value = leaky_relu,
                                     .derivative = leaky_relu_slope,
                                     .curvature = flat,
                                     .kink = leaky_relu_kink,
                                     .parameter = "slope",
                                     .attribute = "negative_slope",
                                     .default_parameter = 0.01, /* PyTorch's */
                                     .min = -DBL_MAX,
                                     .max = DBL_MAX,
                                     .homogeneous = true},
    [NORMA_ACTIVATION_TANH] = {.name = "tanh",
                               .summary = "hyperbolic tangent",
                               .value = hyperbolic,
                               .derivative = hyperbolic_slope,
                               .curvature = hyperbolic_curvature,
                               .odd = true},
    [NORMA_ACTIVATION_SIGMOID] = {.name = "sigmoid",
                                  .summary = "1 / (1 + exp(-x))",
                                  .value = sigmoid,
                                  .derivative = sigmoid_slope,
                                  .curvature = sigmoid_curvature},
    [NORMA_ACTIVATION_GELU] = {.name = "gelu",
                               .summary = "x Phi(x), Phi the normal distribution function",
                               .value = gelu,
                               .derivative = gelu_slope,
                               .curvature = gelu_curvature,
                               .lowest_at = -0.75179152771287},
    [NORMA_ACTIVATION_SILU] = {.name = "silu",
                               .summary = "x / (1 + exp(-x))",
                               .value = silu,
                               .derivative = silu_slope,
                               .curvature = silu_curvature,
                               .lowest_at = -1.27846454276107},
    [NORMA_ACTIVATION_SOFTPLUS] = {.name = "softplus",
                                   .summary = "log(1 + exp(x))",
                                   .value = softplus,
                                   .derivative = sigmoid,
                                   .curvature = sigmoid_slope},
    [NORMA_ACTIVATION_RELU6] = {.name = "relu6",
                                .summary = "min(max(x, 0), 6); not in mean fields",
                                .value = relu6,
                                .derivative = relu6_slope,
                                .curvature = flat,
                                .kink = relu_kink,
                                .hard = true},
    [NORMA_ACTIVATION_HARD_SIGMOID] = {.name = "hard-sigmoid",
                                       .summary = "slope times x + 1/2, limited to [0, 1]; slope "
                                                  "1/6 unless given; not in mean fields",
                                       .value = hard_sigmoid,
                                       .derivative = hard_sigmoid_slope,
                                       .curvature = flat,
                                       .hard = true,
                                       .parameter = "slope",
                                       .attribute = "slope",
                                       .default_parameter = 1.0 / 6,
                                       .min = 1e-100,
                                       .max = 1e100},
    [NORMA_ACTIVATION_HARD_SWISH] = {.name = "hard-swish",
                                     .summary = "x hard-sigmoid(x); not in mean fields",
                                     .value = hard_swish,
                                     .derivative = hard_swish_slope,
                                     .curvature = hard_swish_curvature,
                                     .hard = true,
                                     .lowest_at = -1.5},
    [NORMA_ACTIVATION_CLIP] = {.name = "clip",
                               .summary = "x limited to [-limit, limit]; limit 1 unless given; not "
                                          "in mean fields",
                               .value = clip,
                               .derivative = clip_slope,
                               .curvature = flat,
                               .hard = true,
                               .odd = true,
                               .parameter = "limit",
                               .attribute = "limit",
                               .default_parameter = 1,
                               .min = 1e-100,
                               .max = 1e100},
    [NORMA_ACTIVATION_SIN] = {.name = "sin",
                              .summary = "sine; not in networks",
                              .value = sine,
                              .derivative = sine_slope,
                              .curvature = sine_curvature,
                              .odd = true},
    [NORMA_ACTIVATION_SELU] = {.name = "selu",
                               .summary = "scaled exponential linear unit; not in networks",
                               .value = selu,
                               .derivative = selu_slope,
                               .curvature = selu_curvature,
                               .kink = selu_kink},
    [NORMA_ACTIVATION_EXP] = {.name = "exp",
                              .summary = "exponential; not in networks",
                              .value = exponential,
                              .derivative = exponential,
                              .curvature = exponential},
    [NORMA_ACTIVATION_ERF] = {.name = "erf",
                              .summary = "error function; not in networks",
                              .value = error_function,
                              .derivative = error_function_slope,
                              .curvature = error_function_curvature,
                              .odd = true},
    [NORMA_ACTIVATION_HERMITE] = {.name = "hermite",
                                  .summary = "hermite:K is He_K / sqrt(K!), of unit Gaussian norm; "
                                             "not in networks",
                                  .value = hermite,
                                  .derivative = hermite_slope,
                                  .curvature = hermite_curvature,
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

static bool is_homogeneous(int64_t i)
{
    return norma_activation_table[i].homogeneous;
}

static bool is_curved(int64_t i)
{
    return is_of_networks(i) && !is_homogeneous(i) && !norma_activation_table[i].hard;
}

/* Names in PyTorch, Keras and JAX. */
static const norma_synonym synonyms[] = {{"linear", "identity"},
                                         {"none", "identity"},
                                         {"leakyrelu", "leaky-relu"},
                                         {"swish", "silu"},
                                         {"logistic", "sigmoid"},
                                         {"soft-plus", "softplus"},
                                         {"hardsigmoid", "hard-sigmoid"},
                                         {"hardswish", "hard-swish"},
                                         {"hardtanh", "clip"},
                                         {"hard-tanh", "clip"},
                                         {"sine", "sin"},
                                         {"exponential", "exp"},
                                         {NULL, NULL}};

const norma_names norma_activation_names =
    NORMA_NAMES_WITH("activation", "activations", norma_activation_table, NULL, synonyms);
const norma_names norma_activation_network_names = NORMA_NAMES_WITH(
    "activation", "activations of networks", norma_activation_table, is_of_networks, synonyms);
const norma_names norma_activation_homogeneous_names = NORMA_NAMES_WITH(
    "activation", "homogeneous activations", norma_activation_table, is_homogeneous, synonyms);
const norma_names norma_activation_curved_names = NORMA_NAMES_WITH(
    "activation", "curved activations", norma_activation_table, is_curved, synonyms);
