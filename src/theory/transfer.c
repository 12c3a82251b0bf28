#include "src/theory/transfer.h"

#include <gsl/gsl_integration.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INV_SQRT_2PI 0.39894228040143267794
#define SQRT_HALF 0.70710678118654752440
#define TWO_OVER_SQRT_PI 1.12837916709551257390
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_ALPHA 1.6732632423543772848170429916717
#define SUM_PREFIX "hermite-sum:"

static norma_status read_terms(const char *text, norma_transfer *psi)
{
    const char *at = text;
    for (;;) {
        char *end = NULL;
        double value = strtod(at, &end);
        if (end == at || !isfinite(value) || (*end != ',' && *end != '\0'))
            return NORMA_FAIL(NORMA_CONFIG,
                              "activation hermite-sum: '%.60s' is not a list of numbers; expected "
                              "hermite-sum:c0,c1,..., as in hermite-sum:0,0.4,0.9",
                              text);
        if (psi->n_terms == NORMA_TRANSFER_MAX_TERMS)
            return NORMA_FAIL(NORMA_CONFIG,
                              "activation hermite-sum: more than %d coefficients in '%.60s'",
                              NORMA_TRANSFER_MAX_TERMS, text);
        psi->term[psi->n_terms++] = value;
        if (*end == '\0')
            return NORMA_OK;
        at = end + 1;
    }
}

norma_status norma_transfer_parse(const char *text, norma_transfer *out)
{
    norma_transfer psi = {.factor = 1};
    if (strcmp(text, "hermite-sum") == 0)
        return NORMA_FAIL(NORMA_CONFIG, "activation hermite-sum needs its coefficients, as in "
                                        "hermite-sum:0,0.4,0.9");
    if (strncmp(text, SUM_PREFIX, strlen(SUM_PREFIX)) == 0)
        NORMA_TRY(read_terms(text + strlen(SUM_PREFIX), &psi));
    else
        NORMA_TRY(norma_activation_parse(text, &psi.activation));
    *out = psi;
    return NORMA_OK;
}

const char *norma_transfer_format(const norma_transfer *psi, char out[NORMA_TRANSFER_NAME])
{
    char name[NORMA_ACTIVATION_TEXT];
    int length = 0;
    if (psi->n_terms == 0) {
        (void)snprintf(out, NORMA_TRANSFER_NAME, "%s",
                       norma_activation_format(&psi->activation, name));
        return out;
    }
    (void)snprintf(out, NORMA_TRANSFER_NAME, SUM_PREFIX);
    for (int k = 0; k < psi->n_terms; k++) {
        length = (int)strlen(out);
        (void)snprintf(out + length, (size_t)(NORMA_TRANSFER_NAME - length), "%s%.17g",
                       k > 0 ? "," : "", psi->term[k]);
    }
    return out;
}

/* sum_k c_k sqrt(k (k - 1) ... (k - order + 1)) he_(k - order)(x): the derivative of given order of
 * sum_k c_k he_k(x), he_k = He_k / sqrt(k!). */
static double hermite_sum(const double *c, int n, int order, double x)
{
    double sum = 0, before = 0, value = 1;
    for (int k = order; k < n; k++) {
        double falling = 1, degree = k - order;
        for (int i = 0; i < order; i++)
            falling *= k - i;
        sum += c[k] * sqrt(falling) * value;
        double next = (x * value - sqrt(degree) * before) / sqrt(degree + 1);
        before = value;
        value = next;
    }
    return sum;
}

/* The derivative of he_degree of given order. */
static double hermite_one(int degree, int order, double x)
{
    double before = 0, value = 1, falling = 1;
    if (degree < order)
        return 0;
    for (int i = 0; i < order; i++)
        falling *= degree - i;
    for (int k = 0; k < degree - order; k++) {
        double next = (x * value - sqrt((double)k) * before) / sqrt((double)k + 1);
        before = value;
        value = next;
    }
    return sqrt(falling) * value;
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

/* The logistic function's derivative, without cancellation on either side. */
static double logistic_slope(double x)
{
    double e = exp(-fabs(x));
    return e / ((1 + e) * (1 + e));
}

static double tanh_slope(double x)
{
    double c = cosh(x);
    return 1 / (c * c);
}

static double normal_density(double x)
{
    return INV_SQRT_2PI * exp(-0.5 * x * x);
}

static double activation_slope(const norma_activation *phi, double x)
{
    switch (phi->kind) {
    case NORMA_ACTIVATION_RELU:
        return x > 0 ? 1 : 0;
    case NORMA_ACTIVATION_LEAKY_RELU:
        return x > 0 ? 1 : phi->parameter;
    case NORMA_ACTIVATION_TANH:
        return tanh_slope(x);
    case NORMA_ACTIVATION_SIN:
        return cos(x);
    case NORMA_ACTIVATION_SIGMOID:
        return logistic_slope(x);
    case NORMA_ACTIVATION_GELU:
        return 0.5 * erfc(-x * SQRT_HALF) + x * normal_density(x);
    case NORMA_ACTIVATION_SELU:
        return SELU_SCALE * (x > 0 ? 1 : SELU_ALPHA * exp(x));
    case NORMA_ACTIVATION_EXP:
        return exp(x);
    case NORMA_ACTIVATION_SILU:
        return logistic(x) + x * logistic_slope(x);
    case NORMA_ACTIVATION_SOFTPLUS:
        return logistic(x);
    case NORMA_ACTIVATION_ERF:
        return TWO_OVER_SQRT_PI * exp(-x * x);
    case NORMA_ACTIVATION_HERMITE:
        return hermite_one((int)phi->parameter, 1, x);
    case NORMA_ACTIVATION_IDENTITY:
        break;
    }
    return 1;
}

static double activation_curvature(const norma_activation *phi, double x)
{
    switch (phi->kind) {
    case NORMA_ACTIVATION_TANH:
        return -2 * tanh(x) * tanh_slope(x);
    case NORMA_ACTIVATION_SIN:
        return -sin(x);
    case NORMA_ACTIVATION_SIGMOID:
        return -tanh(0.5 * x) * logistic_slope(x);
    case NORMA_ACTIVATION_GELU:
        return (2 - x * x) * normal_density(x);
    case NORMA_ACTIVATION_SELU:
        return x > 0 ? 0 : SELU_SCALE * SELU_ALPHA * exp(x);
    case NORMA_ACTIVATION_EXP:
        return exp(x);
    case NORMA_ACTIVATION_SILU:
        return (2 - x * tanh(0.5 * x)) * logistic_slope(x);
    case NORMA_ACTIVATION_SOFTPLUS:
        return logistic_slope(x);
    case NORMA_ACTIVATION_ERF:
        return -2 * x * TWO_OVER_SQRT_PI * exp(-x * x);
    case NORMA_ACTIVATION_HERMITE:
        return hermite_one((int)phi->parameter, 2, x);
    case NORMA_ACTIVATION_RELU:
    case NORMA_ACTIVATION_LEAKY_RELU:
    case NORMA_ACTIVATION_IDENTITY:
        break;
    }
    return 0;
}

double norma_transfer_value(const norma_transfer *psi, double x)
{
    double value = psi->n_terms > 0 ? hermite_sum(psi->term, psi->n_terms, 0, x)
                                    : norma_activation_value(&psi->activation, x);
    return (value - psi->shift) * psi->factor;
}

double norma_transfer_slope(const norma_transfer *psi, double x)
{
    return psi->factor * (psi->n_terms > 0 ? hermite_sum(psi->term, psi->n_terms, 1, x)
                                           : activation_slope(&psi->activation, x));
}

double norma_transfer_curvature(const norma_transfer *psi, double x)
{
    return psi->factor * (psi->n_terms > 0 ? hermite_sum(psi->term, psi->n_terms, 2, x)
                                           : activation_curvature(&psi->activation, x));
}

double norma_transfer_jump(const norma_transfer *psi)
{
    if (psi->n_terms > 0)
        return 0;
    switch (psi->activation.kind) {
    case NORMA_ACTIVATION_RELU:
        return psi->factor;
    case NORMA_ACTIVATION_LEAKY_RELU:
        return psi->factor * (1 - psi->activation.parameter);
    case NORMA_ACTIVATION_SELU:
        return psi->factor * SELU_SCALE * (1 - SELU_ALPHA);
    default:
        return 0;
    }
}

bool norma_transfer_is_odd(const norma_transfer *psi)
{
    if (psi->shift != 0)
        return false;
    if (psi->n_terms > 0) {
        for (int k = 0; k < psi->n_terms; k += 2)
            if (psi->term[k] != 0)
                return false;
        return true;
    }
    switch (psi->activation.kind) {
    case NORMA_ACTIVATION_IDENTITY:
    case NORMA_ACTIVATION_TANH:
    case NORMA_ACTIVATION_SIN:
    case NORMA_ACTIVATION_ERF:
        return true;
    case NORMA_ACTIVATION_LEAKY_RELU:
        return psi->activation.parameter == 1;
    case NORMA_ACTIVATION_HERMITE:
        return (int)psi->activation.parameter % 2 == 1;
    default:
        return false;
    }
}

bool norma_transfer_is_polynomial(const norma_transfer *psi, int *degree)
{
    *degree = -1;
    if (psi->n_terms > 0)
        *degree = psi->n_terms - 1;
    else if (psi->activation.kind == NORMA_ACTIVATION_IDENTITY)
        *degree = 1;
    else if (psi->activation.kind == NORMA_ACTIVATION_HERMITE)
        *degree = (int)psi->activation.parameter;
    return *degree >= 0;
}

double norma_transfer_reach(const norma_transfer *psi)
{
    int degree = 0;
    return 13 + (norma_transfer_is_polynomial(psi, &degree) ? 2 * sqrt((double)degree) : 0);
}

norma_status norma_transfer_expect(const norma_transfer *psi,
                                   double (*f)(const norma_transfer *, double, const void *),
                                   const void *data, double *out)
{
    enum { POINTS = 32 };
    const double reach = norma_transfer_reach(psi);
    const int panels = (int)ceil(reach);
    const double width = reach / panels;
    double sum = 0;
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(POINTS);
    if (!table)
        return NORMA_FAIL(NORMA_MEMORY, "out of memory in a quadrature");
    for (int panel = panels - 1; panel >= 0; panel--)
        for (size_t i = 0; i < POINTS; i++) {
            double x = 0, w = 0;
            (void)gsl_integration_glfixed_point(panel * width, (panel + 1) * width, i, &x, &w,
                                                table);
            sum += w * normal_density(x) * (f(psi, x, data) + f(psi, -x, data));
        }
    gsl_integration_glfixed_table_free(table);
    *out = sum;
    return NORMA_OK;
}

static double value_of(const norma_transfer *psi, double x, const void *data)
{
    (void)data;
    return norma_transfer_value(psi, x);
}

static double value_squared(const norma_transfer *psi, double x, const void *data)
{
    (void)data;
    double value = norma_transfer_value(psi, x);
    return value * value;
}

static double slope_squared(const norma_transfer *psi, double x, const void *data)
{
    (void)data;
    double value = norma_transfer_slope(psi, x);
    return value * value;
}

static double curvature_squared(const norma_transfer *psi, double x, const void *data)
{
    (void)data;
    double value = norma_transfer_curvature(psi, x);
    return value * value;
}

/* psi of finite degree: sums over its coefficients. */
static void measure_polynomial(const norma_transfer *psi, norma_transfer_moments *out)
{
    int degree = 0;
    (void)norma_transfer_is_polynomial(psi, &degree);
    for (int k = 0; k <= degree; k++) {
        double c = psi->n_terms > 0 ? psi->term[k] : (k == degree ? 1 : 0);
        c = (c - (k == 0 ? psi->shift : 0)) * psi->factor;
        out->mean += k == 0 ? c : 0;
        out->second += c * c;
        out->slope_second += k * c * c;
        out->curvature_second += (double)k * (k - 1) * c * c;
    }
}

/* relu and leaky-relu of slope a: E phi = (1 - a) / sqrt(2 pi), E phi^2 = E phi'^2 = (1 + a^2) / 2.
 */
static void measure_rectifier(const norma_transfer *psi, norma_transfer_moments *out)
{
    double a = psi->activation.kind == NORMA_ACTIVATION_RELU ? 0 : psi->activation.parameter;
    double f = psi->factor, mean = (1 - a) * INV_SQRT_2PI, square = 0.5 * (1 + a * a);
    out->mean = f * (mean - psi->shift);
    out->second = f * f * (square - (2 * mean - psi->shift) * psi->shift);
    out->slope_second = f * f * square;
    out->curvature_second = a == 1 ? 0 : INFINITY;
}

norma_status norma_transfer_measure(const norma_transfer *psi, norma_transfer_moments *out)
{
    int degree = 0;
    *out = (norma_transfer_moments){0};
    if (norma_transfer_is_polynomial(psi, &degree)) {
        measure_polynomial(psi, out);
        return NORMA_OK;
    }
    if (psi->activation.kind == NORMA_ACTIVATION_RELU ||
        psi->activation.kind == NORMA_ACTIVATION_LEAKY_RELU) {
        measure_rectifier(psi, out);
        return NORMA_OK;
    }
    if (!norma_transfer_is_odd(psi))
        NORMA_TRY(norma_transfer_expect(psi, value_of, NULL, &out->mean));
    NORMA_TRY(norma_transfer_expect(psi, value_squared, NULL, &out->second));
    NORMA_TRY(norma_transfer_expect(psi, slope_squared, NULL, &out->slope_second));
    if (norma_transfer_jump(psi) != 0)
        out->curvature_second = INFINITY;
    else
        NORMA_TRY(norma_transfer_expect(psi, curvature_squared, NULL, &out->curvature_second));
    return NORMA_OK;
}

static double value_times_hermite(const norma_transfer *psi, double x, const void *data)
{
    return norma_transfer_value(psi, x) * hermite_one(*(const int *)data, 0, x);
}

norma_status norma_transfer_hermite(const norma_transfer *psi, int n, double *hermite)
{
    int degree = 0;
    const bool polynomial = norma_transfer_is_polynomial(psi, &degree);
    for (int k = 0; k < n; k++) {
        if (!polynomial) {
            NORMA_TRY(norma_transfer_expect(psi, value_times_hermite, &k, &hermite[k]));
            continue;
        }
        double c = k > degree ? 0 : psi->n_terms > 0 ? psi->term[k] : (k == degree ? 1 : 0);
        hermite[k] = (c - (k == 0 ? psi->shift : 0)) * psi->factor;
    }
    return NORMA_OK;
}

norma_status norma_transfer_normalize(norma_transfer *psi, bool centered)
{
    char name[NORMA_TRANSFER_NAME];
    norma_transfer_moments raw;
    psi->shift = 0;
    psi->factor = 1;
    NORMA_TRY(norma_transfer_measure(psi, &raw));
    if (!isfinite(raw.second) || raw.second <= 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "activation %.80s: E phi(X)^2 is %g for X standard normal; mean-field "
                          "theory needs a positive finite number",
                          norma_transfer_format(psi, name), raw.second);
    double variance = raw.second - raw.mean * raw.mean;
    if (centered && !(variance > 1e-14 * raw.second))
        return NORMA_FAIL(NORMA_CONFIG,
                          "activation %.80s is constant; layer normalization after it divides by 0",
                          norma_transfer_format(psi, name));
    psi->shift = centered ? raw.mean : 0;
    psi->factor = 1 / sqrt(centered ? variance : raw.second);
    return NORMA_OK;
}
