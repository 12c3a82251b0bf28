#include "src/theory/transfer.h"

#include <gsl/gsl_integration.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INV_SQRT_2PI 0.39894228040143267794
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
    if (psi.n_terms == 0 && norma_activation_is_hard(&psi.activation))
        return NORMA_FAIL(
            NORMA_CONFIG,
            "activation %s: its derivative jumps away from 0, where the quadrature of "
            "mean fields takes jumps at 0 alone; norma chain runs it",
            norma_activation_name(psi.activation.kind));
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

/* he_degree(x). */
static double hermite_one(int degree, double x)
{
    const norma_activation he = {.kind = NORMA_ACTIVATION_HERMITE, .parameter = degree};
    return norma_activation_value(&he, x);
}

static double normal_density(double x)
{
    return INV_SQRT_2PI * exp(-0.5 * x * x);
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
                                           : norma_activation_derivative(&psi->activation, x));
}

double norma_transfer_curvature(const norma_transfer *psi, double x)
{
    return psi->factor * (psi->n_terms > 0 ? hermite_sum(psi->term, psi->n_terms, 2, x)
                                           : norma_activation_curvature(&psi->activation, x));
}

double norma_transfer_jump(const norma_transfer *psi)
{
    return psi->n_terms > 0 ? 0 : psi->factor * norma_activation_kink(&psi->activation);
}

bool norma_transfer_is_odd(const norma_transfer *psi)
{
    if (psi->shift != 0)
        return false;
    if (psi->n_terms == 0)
        return norma_activation_is_odd(&psi->activation);
    for (int k = 0; k < psi->n_terms; k += 2)
        if (psi->term[k] != 0)
            return false;
    return true;
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
    return norma_transfer_value(psi, x) * hermite_one(*(const int *)data, x);
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
