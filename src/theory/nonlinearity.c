#include "src/theory/nonlinearity.h"

#include "src/base/text.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEGREE 100
#define DEFAULT_SLOPE 0.01
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_ALPHA 1.6732632423543772848170429916717

static const char *const names[NORMA_N_NONLINEARITIES] = {
    "identity", "relu", "leaky-relu", "tanh",     "sin", "sigmoid", "gelu",
    "selu",     "exp",  "silu",       "softplus", "erf", "hermite"};

static norma_status read_parameter(const char *text, norma_nonlinearity *phi)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return NORMA_FAIL(NORMA_CONFIG, "activation %s: '%s' is not a number", names[phi->kind],
                          text);
    if (phi->kind == NORMA_NONLINEARITY_HERMITE &&
        (value < 0 || value > MAX_DEGREE || value != floor(value)))
        return NORMA_FAIL(NORMA_CONFIG, "activation hermite: the degree must be 0 to %d, not %s",
                          MAX_DEGREE, text);
    phi->parameter = value;
    return NORMA_OK;
}

norma_status norma_nonlinearity_parse(const char *text, norma_nonlinearity *out)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    char word[NORMA_NONLINEARITY_NAME] = "";
    norma_nonlinearity phi = {NORMA_N_NONLINEARITIES, 0};
    if (length < sizeof word)
        memcpy(word, text, length);
    for (int k = 0; k < NORMA_N_NONLINEARITIES; k++)
        if (strcmp(word, names[k]) == 0)
            phi.kind = (norma_nonlinearity_kind)k;
    if (phi.kind == NORMA_N_NONLINEARITIES) {
        const char *nearest = norma_text_nearest(word, names, NORMA_N_NONLINEARITIES);
        return NORMA_FAIL(NORMA_CONFIG, "unknown activation '%.60s'%s%s%s", text,
                          nearest ? "; did you mean '" : "", nearest ? nearest : "",
                          nearest ? "'?" : "");
    }
    bool takes =
        phi.kind == NORMA_NONLINEARITY_LEAKY_RELU || phi.kind == NORMA_NONLINEARITY_HERMITE;
    if (phi.kind == NORMA_NONLINEARITY_LEAKY_RELU)
        phi.parameter = DEFAULT_SLOPE;
    if (colon && !takes)
        return NORMA_FAIL(NORMA_CONFIG, "activation %s takes no parameter", word);
    if (!colon && phi.kind == NORMA_NONLINEARITY_HERMITE)
        return NORMA_FAIL(NORMA_CONFIG, "activation hermite needs its degree, as in hermite:3");
    if (colon)
        NORMA_TRY(read_parameter(colon + 1, &phi));
    *out = phi;
    return NORMA_OK;
}

const char *norma_nonlinearity_format(const norma_nonlinearity *phi,
                                      char out[NORMA_NONLINEARITY_NAME])
{
    if (phi->kind == NORMA_NONLINEARITY_LEAKY_RELU || phi->kind == NORMA_NONLINEARITY_HERMITE)
        (void)snprintf(out, NORMA_NONLINEARITY_NAME, "%s:%.17g", names[phi->kind], phi->parameter);
    else
        (void)snprintf(out, NORMA_NONLINEARITY_NAME, "%s", names[phi->kind]);
    return out;
}

/* He_k(x) / sqrt(k!) by the three-term recurrence of the normalized polynomials. */
static double hermite(int degree, double x)
{
    double before = 0, value = 1;
    for (int k = 0; k < degree; k++) {
        double next = (x * value - sqrt((double)k) * before) / sqrt((double)k + 1);
        before = value;
        value = next;
    }
    return value;
}

double norma_nonlinearity_value(const norma_nonlinearity *phi, double x)
{
    switch (phi->kind) {
    case NORMA_NONLINEARITY_RELU:
        return x > 0 ? x : 0 * x; /* 0 * x keeps NaN */
    case NORMA_NONLINEARITY_LEAKY_RELU:
        return x > 0 ? x : phi->parameter * x;
    case NORMA_NONLINEARITY_TANH:
        return tanh(x);
    case NORMA_NONLINEARITY_SIN:
        return sin(x);
    case NORMA_NONLINEARITY_SIGMOID:
        return 1 / (1 + exp(-x));
    case NORMA_NONLINEARITY_GELU:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case NORMA_NONLINEARITY_SELU:
        return SELU_SCALE * (x > 0 ? x : SELU_ALPHA * expm1(x));
    case NORMA_NONLINEARITY_EXP:
        return exp(x);
    case NORMA_NONLINEARITY_SILU:
        return x / (1 + exp(-x));
    case NORMA_NONLINEARITY_SOFTPLUS:
        return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
    case NORMA_NONLINEARITY_ERF:
        return erf(x);
    case NORMA_NONLINEARITY_HERMITE:
        return hermite((int)phi->parameter, x);
    case NORMA_NONLINEARITY_IDENTITY:
    case NORMA_N_NONLINEARITIES:
        break;
    }
    return x;
}

void norma_nonlinearity_apply(const norma_nonlinearity *phi, int64_t n, double *x)
{
    if (phi->kind == NORMA_NONLINEARITY_IDENTITY)
        return;
    for (int64_t i = 0; i < n; i++)
        x[i] = norma_nonlinearity_value(phi, x[i]);
}

bool norma_nonlinearity_is_homogeneous(const norma_nonlinearity *phi)
{
    return phi->kind == NORMA_NONLINEARITY_IDENTITY || phi->kind == NORMA_NONLINEARITY_RELU ||
           phi->kind == NORMA_NONLINEARITY_LEAKY_RELU ||
           (phi->kind == NORMA_NONLINEARITY_HERMITE && phi->parameter == 1);
}

static double squared_with_density(double x, void *parameters)
{
    double value = norma_nonlinearity_value(parameters, x);
    return value * value * exp(-0.5 * x * x) * 0.39894228040143267794;
}

/* Both half lines apart, since several functions have a kink at 0. */
static norma_status integrate(const norma_nonlinearity *phi, double *out)
{
    enum { INTERVALS = 1000 };
    norma_nonlinearity copy = *phi;
    gsl_function f = {squared_with_density, &copy};
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(INTERVALS);
    double below = 0, above = 0, error = 0;
    (void)gsl_set_error_handler_off();
    if (!work)
        return NORMA_FAIL(NORMA_MEMORY, "out of memory in a quadrature");
    int code = gsl_integration_qag(&f, -40, 0, 0, 1e-12, INTERVALS, GSL_INTEG_GAUSS61, work, &below,
                                   &error);
    if (code == GSL_SUCCESS)
        code = gsl_integration_qag(&f, 0, 40, 0, 1e-12, INTERVALS, GSL_INTEG_GAUSS61, work, &above,
                                   &error);
    gsl_integration_workspace_free(work);
    if (code != GSL_SUCCESS)
        return NORMA_FAIL(NORMA_LIBRARY, "second moment of activation %s: %s", names[phi->kind],
                          gsl_strerror(code));
    *out = below + above;
    return NORMA_OK;
}

norma_status norma_nonlinearity_second_moment(const norma_nonlinearity *phi, double *out)
{
    switch (phi->kind) {
    case NORMA_NONLINEARITY_IDENTITY:
    case NORMA_NONLINEARITY_HERMITE:
        *out = 1;
        return NORMA_OK;
    case NORMA_NONLINEARITY_RELU:
        *out = 0.5;
        return NORMA_OK;
    case NORMA_NONLINEARITY_LEAKY_RELU:
        *out = 0.5 * (1 + phi->parameter * phi->parameter);
        return NORMA_OK;
    case NORMA_NONLINEARITY_SIN:
        *out = -0.5 * expm1(-2);
        return NORMA_OK;
    case NORMA_NONLINEARITY_EXP:
        *out = exp(2);
        return NORMA_OK;
    default:
        return integrate(phi, out);
    }
}
