#include "src/network/activation.h"

#include "src/base/text.h"

#include <math.h>
#include <string.h>

static const char *const names[NORMA_N_ACTIVATIONS] = {[NORMA_ACTIVATION_IDENTITY] = "identity",
                                                       [NORMA_ACTIVATION_RELU] = "relu",
                                                       [NORMA_ACTIVATION_LEAKY_RELU] = "leaky-relu",
                                                       [NORMA_ACTIVATION_TANH] = "tanh",
                                                       [NORMA_ACTIVATION_SIGMOID] = "sigmoid",
                                                       [NORMA_ACTIVATION_GELU] = "gelu",
                                                       [NORMA_ACTIVATION_SILU] = "silu",
                                                       [NORMA_ACTIVATION_SOFTPLUS] = "softplus"};

#define SQRT_HALF 0.70710678118654752440

/* Where gelu and silu have their minima, the only activations here that are not monotone. */
#define GELU_LOWEST_AT (-0.75179152771287)
#define SILU_LOWEST_AT (-1.27846454276107)

norma_status norma_activation_from_name(const char *name, norma_activation *out)
{
    for (int k = 0; k < NORMA_N_ACTIVATIONS; k++) {
        const char *a = names[k];
        const char *b = name;
        while (*a && (*a == *b || (*a == '-' && *b == '_'))) {
            a++;
            b++;
        }
        if (*a == '\0' && *b == '\0') {
            out->kind = (norma_activation_kind)k;
            out->negative_slope =
                k == NORMA_ACTIVATION_LEAKY_RELU ? NORMA_ACTIVATION_NEGATIVE_SLOPE : 0;
            return NORMA_OK;
        }
    }
    char quoted[NORMA_TEXT_QUOTED];
    const char *nearest = norma_text_nearest(name, names, NORMA_N_ACTIVATIONS);
    norma_text_quote(name, strlen(name), quoted);
    if (nearest)
        return NORMA_FAIL(NORMA_CONFIG, "unknown activation %s (did you mean '%s'?)", quoted,
                          nearest);
    return NORMA_FAIL(NORMA_CONFIG,
                      "unknown activation %s; known: identity, relu, leaky-relu, tanh, sigmoid, "
                      "gelu, silu, softplus",
                      quoted);
}

const char *norma_activation_name(norma_activation_kind kind)
{
    return names[kind];
}

static double value(const norma_activation *activation, double x)
{
    switch (activation->kind) {
    case NORMA_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case NORMA_ACTIVATION_LEAKY_RELU:
        return x > 0 ? x : activation->negative_slope * x;
    case NORMA_ACTIVATION_TANH:
        return tanh(x);
    case NORMA_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case NORMA_ACTIVATION_GELU:
        return 0.5 * x * erfc(-x * SQRT_HALF);
    case NORMA_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case NORMA_ACTIVATION_SOFTPLUS:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case NORMA_ACTIVATION_IDENTITY:
    case NORMA_N_ACTIVATIONS:
        break;
    }
    return x;
}

void norma_activation_apply(const norma_activation *activation, int64_t n, double *x)
{
    if (activation->kind == NORMA_ACTIVATION_IDENTITY)
        return;
    if (activation->kind == NORMA_ACTIVATION_RELU) { /* the common one, for the vectorizer */
        for (int64_t k = 0; k < n; k++)
            x[k] = x[k] < 0 ? 0 : x[k]; /* NaN stays NaN */
        return;
    }
    for (int64_t k = 0; k < n; k++)
        x[k] = value(activation, x[k]);
}

void norma_activation_interval(const norma_activation *activation, double lo, double hi,
                               double *out_lo, double *out_hi)
{
    double a = value(activation, lo);
    double b = value(activation, hi);
    double lowest_at = NAN;
    if (activation->kind == NORMA_ACTIVATION_GELU)
        lowest_at = GELU_LOWEST_AT;
    if (activation->kind == NORMA_ACTIVATION_SILU)
        lowest_at = SILU_LOWEST_AT;
    *out_lo = fmin(a, b);
    *out_hi = fmax(a, b);
    if (lo < lowest_at && lowest_at < hi)
        *out_lo = value(activation, lowest_at);
}
