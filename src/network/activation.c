#include "src/network/activation.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static norma_status read_parameter(const char *text, norma_activation *activation)
{
    const norma_activation_descriptor *d = &norma_activation_table[activation->kind];
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
    return (norma_activation){(norma_activation_kind)i,
                              norma_activation_table[i].default_parameter};
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
    if (colon && !norma_activation_table[i].parameter)
        return NORMA_FAIL(NORMA_CONFIG, "activation %s takes no parameter",
                          norma_activation_table[i].name);
    if (colon)
        NORMA_TRY(read_parameter(colon + 1, &activation));
    if (isnan(activation.parameter))
        return NORMA_FAIL(NORMA_CONFIG, "activation %s needs its %s, as in %s:3",
                          norma_activation_table[i].name, norma_activation_table[i].parameter,
                          norma_activation_table[i].name);
    *out = activation;
    return NORMA_OK;
}

const char *norma_activation_format(const norma_activation *activation,
                                    char out[NORMA_ACTIVATION_TEXT])
{
    const norma_activation_descriptor *d = &norma_activation_table[activation->kind];
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
    return norma_activation_table[kind].name;
}

double norma_activation_value(const norma_activation *activation, double x)
{
    return norma_activation_table[activation->kind].value(x, activation->parameter);
}

double norma_activation_derivative(const norma_activation *activation, double x)
{
    return norma_activation_table[activation->kind].derivative(x, activation->parameter);
}

double norma_activation_curvature(const norma_activation *activation, double x)
{
    return norma_activation_table[activation->kind].curvature(x, activation->parameter);
}

double norma_activation_kink(const norma_activation *activation)
{
    const norma_activation_descriptor *d = &norma_activation_table[activation->kind];
    return d->kink ? d->kink(activation->parameter) : 0;
}

bool norma_activation_is_hard(const norma_activation *activation)
{
    return norma_activation_table[activation->kind].hard;
}

bool norma_activation_is_odd(const norma_activation *activation)
{
    return norma_activation_table[activation->kind].odd ||
           (activation->kind == NORMA_ACTIVATION_LEAKY_RELU && activation->parameter == 1) ||
           (activation->kind == NORMA_ACTIVATION_HERMITE && (int)activation->parameter % 2 == 1);
}

void norma_activation_apply(const norma_activation *activation, int64_t n, double *x)
{
    const norma_activation_descriptor *d = &norma_activation_table[activation->kind];
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
    return norma_activation_table[activation->kind].homogeneous ||
           (activation->kind == NORMA_ACTIVATION_HERMITE && activation->parameter == 1);
}

/* phi at an end of an interval, which may be infinite. */
static double value_at_end(const norma_activation *activation, double x)
{
    if (activation->kind == NORMA_ACTIVATION_RELU)
        return x < 0 ? 0 : x;
    double value = norma_activation_value(activation, x);
    if (isnan(value) && isinf(x)) /* a constant of a hard one, see its table */
        return norma_activation_value(activation, copysign(DBL_MAX, x));
    return value;
}

void norma_activation_interval(const norma_activation *activation, double lo, double hi,
                               double *out_lo, double *out_hi)
{
    double a = value_at_end(activation, lo);
    double b = value_at_end(activation, hi);
    double lowest_at = norma_activation_table[activation->kind].lowest_at;
    *out_lo = fmin(a, b);
    *out_hi = fmax(a, b);
    if (lowest_at < 0 && lo < lowest_at && lowest_at < hi)
        *out_lo = norma_activation_value(activation, lowest_at);
}
