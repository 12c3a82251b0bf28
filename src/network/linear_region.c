#include "src/network/linear_region.h"

#include <float.h>
#include <math.h>

#define SQRT_HALF 0.70710678118654752440

/* Bisections of a logarithm over the whole range of doubles, and of a real below 1000, to their
 * last bit. */
enum { N_BISECTIONS = 80 };

/* Nothing is asked for: so many times the floor, where rounding is small beside epsilon. */
static const double default_over_floor = 10;

bool norma_linear_region_is_exact(const norma_activation *activation)
{
    return norma_activation_is_homogeneous(activation) || norma_activation_is_hard(activation);
}

bool norma_linear_region_needs_demand(const norma_activation *activation)
{
    return !norma_activation_is_homogeneous(activation);
}

/* |phi(x) - x| for x at which it falls with x. */
static double distance_from_identity(norma_activation_kind kind, double x)
{
    if (kind == NORMA_ACTIVATION_GELU)
        return 0.5 * x * erfc(x * SQRT_HALF);
    if (kind == NORMA_ACTIVATION_SILU)
        return x / (1 + exp(x));
    return log1p(exp(-x)); /* softplus */
}

/* From where on |phi(x) - x| falls, a little above the maximum for gelu and silu. */
static double falls_from(norma_activation_kind kind)
{
    if (kind == NORMA_ACTIVATION_GELU)
        return 0.752;
    return kind == NORMA_ACTIVATION_SILU ? 1.279 : 0;
}

/* The least x with |phi(t) - t| <= distance for all t >= x, rounded up. */
static double find_low(norma_activation_kind kind, double distance)
{
    double below = falls_from(kind);
    double above = 1000;
    if (distance_from_identity(kind, below) <= distance)
        return below;
    for (int k = 0; k < N_BISECTIONS; k++) {
        double middle = 0.5 * (below + above);
        if (distance_from_identity(kind, middle) <= distance)
            above = middle;
        else
            below = middle;
    }
    return above;
}

/* The region of tanh (factor 3) or sigmoid (factor 12) for an output error epsilon. */
static void set_odd(norma_linear_region *region, double factor, const norma_linear_demand *demand,
                    double epsilon)
{
    double q1 = demand->reach;
    region->scale = 1;
    if (q1 > 0)
        region->scale = fmin(sqrt(factor * epsilon / demand->gain / q1) / q1, 1 / q1);
    region->high = region->scale * q1 * (1 + 1e-12); /* g z is rounded as well */
    region->low = -region->high;
}

/* The region of a hard activation whose piece [middle - half, middle + half] has this slope and
 * constant; a little less of it, for the rounding of g z + b. */
static void set_piece(norma_linear_region *region, double middle, double half,
                      const norma_linear_demand *demand)
{
    double inside = half - 16 * demand->roundoff * (fabs(middle) + half);
    if (demand->reach > inside)
        region->scale = inside / demand->reach;
    region->middle = middle;
    region->low = middle - half;
    region->high = middle + half;
}

/* The region of a hard activation. */
static void set_hard(norma_linear_region *region, const norma_activation *activation,
                     const norma_linear_demand *demand)
{
    double parameter = activation->parameter;
    *region = (norma_linear_region){.scale = 1, .slope = 1, .low = -DBL_MAX, .high = DBL_MAX};
    switch (activation->kind) {
    case NORMA_ACTIVATION_RELU6:
        set_piece(region, 3, 3, demand);
        break;
    case NORMA_ACTIVATION_HARD_SIGMOID:
        region->slope = parameter;
        region->constant = 0.5;
        set_piece(region, 0, 0.5 / parameter, demand);
        break;
    case NORMA_ACTIVATION_CLIP:
        set_piece(region, 0, parameter, demand);
        break;
    default: /* hard-swish */
        region->shifted = true;
        region->low = 3;
        region->start = 3 + 16 * demand->roundoff * (3 + demand->reach);
        break;
    }
}

static void set_region(norma_linear_region *region, norma_activation_kind kind,
                       const norma_linear_demand *demand, double epsilon)
{
    *region = (norma_linear_region){.scale = 1, .slope = 1, .low = -DBL_MAX, .high = DBL_MAX};
    switch (kind) {
    case NORMA_ACTIVATION_TANH:
        set_odd(region, 3, demand, epsilon);
        break;
    case NORMA_ACTIVATION_SIGMOID:
        set_odd(region, 12, demand, epsilon);
        region->slope = 0.25;
        region->constant = 0.5;
        break;
    case NORMA_ACTIVATION_GELU:
    case NORMA_ACTIVATION_SILU:
    case NORMA_ACTIVATION_SOFTPLUS:
        region->shifted = true;
        region->low = find_low(kind, 0.5 * epsilon / demand->gain); /* the rest is rounding's */
        region->start = region->low * (1 + 16 * demand->roundoff);
        break;
    case NORMA_ACTIVATION_RELU:
    case NORMA_ACTIVATION_LEAKY_RELU:
        region->shifted = true;
        region->low = 0;
        break;
    default: /* identity */
        break;
    }
}

/* Bound of the rounding of an output: four times the roundoff of the sum of the magnitudes
 * that enter. */
static double rounding(norma_activation_kind kind, const norma_linear_demand *demand,
                       double epsilon)
{
    norma_linear_region region;
    set_region(&region, kind, demand, epsilon);
    double argument = region.scale * demand->reach;
    if (region.shifted)
        argument += region.low + demand->reach;
    return 4 * demand->roundoff * demand->gain *
           (argument / region.scale + region.constant / (region.slope * region.scale));
}

/* The least epsilon that is not below its own rounding; the latter falls as epsilon grows. */
static double find_floor(norma_activation_kind kind, const norma_linear_demand *demand)
{
    double below = log(1e-300);
    double above = log(1e300);
    for (int k = 0; k < N_BISECTIONS; k++) {
        double middle = 0.5 * (below + above);
        double epsilon = exp(middle);
        if (epsilon >= rounding(kind, demand, epsilon))
            above = middle;
        else
            below = middle;
    }
    return exp(above);
}

norma_status norma_linear_region_init(norma_linear_region *region,
                                      const norma_activation *activation,
                                      const norma_linear_demand *demand)
{
    double epsilon = demand->epsilon;
    if (!norma_linear_region_needs_demand(activation)) {
        set_region(region, activation->kind, demand, 0);
        return NORMA_OK;
    }
    if (!isfinite(demand->reach) || !isfinite(demand->gain))
        return NORMA_FAIL(NORMA_NUMERIC, "pre-activations up to %g with weights of %g: not finite",
                          demand->reach, demand->gain);
    if (norma_activation_is_hard(activation)) {
        set_hard(region, activation, demand);
        return NORMA_OK;
    }
    double least = find_floor(activation->kind, demand);
    if (isnan(epsilon))
        epsilon = default_over_floor * least;
    if (epsilon < least)
        return NORMA_FAIL(NORMA_CONFIG,
                          "epsilon %g is not attainable with %s: rounding leaves %.3g (unit "
                          "roundoff %.2g, pre-activations up to %.3g, output weights %.3g); ask "
                          "for that or more",
                          epsilon, norma_activation_name(activation->kind), least, demand->roundoff,
                          demand->reach, demand->gain);
    set_region(region, activation->kind, demand, epsilon);
    region->epsilon = epsilon;
    region->floor = least;
    return NORMA_OK;
}

double norma_linear_region_shift(const norma_linear_region *region, double lo)
{
    return region->shifted ? region->start - lo : region->middle;
}
