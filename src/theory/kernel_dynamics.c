#include "src/theory/kernel_dynamics.h"

#include <float.h>
#include <math.h>

#define PI 3.14159265358979323846
#define TOLERANCE 1e-12
#define N_GRID 2000
#define NEXT_TO_ONE 1e-14
/* Nearer than this to the repelling point 1 the sequence is iterated in 1 - rho. */
#define NEAR_ONE 0.05

/* (1 - kappa(1 - x)) / x - 1: zero at the fixed points other than 1, x = 1 - rho. */
static double excess(const norma_kernel_map *map, double x)
{
    return norma_kernel_map_gap(map, x) / x - 1;
}

/* The zero of excess between two points of different sign. */
static double bisect(const norma_kernel_map *map, double from, double to)
{
    double at_from = excess(map, from);
    for (int i = 0; i < 200 && fabs(to - from) > 4 * DBL_EPSILON * fabs(from); i++) {
        double middle = 0.5 * (from + to), value = excess(map, middle);
        if ((value > 0) == (at_from > 0)) {
            from = middle;
            at_from = value;
        } else {
            to = middle;
        }
    }
    return 0.5 * (from + to);
}

static void add_fixed_point(norma_kernel_dynamics *out, double rho)
{
    if (out->n_fixed_points < NORMA_KERNEL_MAX_FIXED_POINTS)
        out->fixed_point[out->n_fixed_points++] = rho;
}

/* All fixed points, ascending: -1 and 0 exactly where kappa has them, 1 always, and those between
 * by the sign changes of `excess` on a grid that is uniform in arccos(rho). */
static void find_fixed_points(const norma_kernel_map *map, norma_kernel_dynamics *out)
{
    const bool odd = norma_transfer_is_odd(&map->psi);
    const bool centered = out->kernel_case == NORMA_KERNEL_CASE_CENTERED;
    if (odd)
        add_fixed_point(out, -1);
    double before = 2, sign_before = 0;
    /* next to 1 only case 4 has another, where excess tends to kappa'(1) - 1 > 0 */
    const int n_points = out->kernel_case == NORMA_KERNEL_CASE_INNER ? N_GRID : N_GRID - 1;
    for (int i = 1; i <= n_points; i++) {
        double half = 0.5 * PI * (1 - (double)i / N_GRID);
        double x = i < N_GRID ? 2 * sin(half) * sin(half) : NEXT_TO_ONE;
        double value = excess(map, x);
        if (centered && fabs(x - 1) < 1e-9)
            value = 0;
        if (value == 0)
            add_fixed_point(out, centered ? 0 : 1 - x);
        else if (sign_before != 0 && (value > 0) != (sign_before > 0) && fabs(value) > TOLERANCE)
            add_fixed_point(out, 1 - bisect(map, before, x));
        if (value == 0 || fabs(value) > TOLERANCE) {
            before = x;
            sign_before = value;
        }
    }
    add_fixed_point(out, 1);
}

/* The attracting fixed point in (0, 1) of case 4. */
static double inner_attractor(const norma_kernel_dynamics *found)
{
    for (int i = found->n_fixed_points - 1; i >= 0; i--)
        if (found->fixed_point[i] < 1)
            return found->fixed_point[i];
    return NAN;
}

static void set_critical(const norma_kernel_map *map, norma_kernel_dynamics *out)
{
    double jump = norma_transfer_jump(&map->psi), b = jump * jump * sqrt(2) / (3 * PI);
    out->attractor = 1;
    out->rate_printed = 1 - norma_kernel_map_value(map, 0) - norma_kernel_map_slope(map, 0);
    out->rate_corrected = out->rate_printed;
    out->decay_power = jump != 0 ? 2 : 1;
    out->rate_asymptotic = jump != 0 ? 4 / (b * b) : 2 / map->moments.curvature_second;
}

static void set_inner(const norma_kernel_map *map, double at_zero, norma_kernel_dynamics *out)
{
    out->attractor = inner_attractor(out);
    double slope = norma_kernel_map_slope(map, out->attractor);
    out->rate_printed = fmax(fmax(1 - at_zero, slope), (1 - out->attractor) / (2 - slope));
    out->rate_corrected = fmax(1 - at_zero, 1 / (2 - slope));
    out->rate_asymptotic = slope;
}

norma_status norma_kernel_dynamics_init(const norma_kernel_map *map, norma_kernel_dynamics *out)
{
    const double at_one = map->moments.second, slope = map->moments.slope_second;
    const double at_zero = map->moments.mean * map->moments.mean;
    const double slope_zero = norma_kernel_map_slope(map, 0);
    *out = (norma_kernel_dynamics){
        .attractor = NAN, .rate_printed = NAN, .rate_corrected = NAN, .rate_asymptotic = NAN};
    if (!(fabs(at_one - 1) < TOLERANCE))
        return NORMA_FAIL(NORMA_CONFIG, "the kernel map is not normalized: kappa(1) = %.17g",
                          at_one);
    if (at_zero < TOLERANCE && fabs(slope_zero - 1) < TOLERANCE)
        return NORMA_OK;
    if (at_zero < TOLERANCE)
        out->kernel_case = NORMA_KERNEL_CASE_CENTERED;
    else if (slope < 1 - TOLERANCE)
        out->kernel_case = NORMA_KERNEL_CASE_FAST;
    else if (slope <= 1 + TOLERANCE)
        out->kernel_case = NORMA_KERNEL_CASE_CRITICAL;
    else
        out->kernel_case = NORMA_KERNEL_CASE_INNER;
    find_fixed_points(map, out);
    if (out->kernel_case == NORMA_KERNEL_CASE_CENTERED) {
        out->attractor = 0;
        out->rate_printed = 1 / slope;
        out->rate_corrected = 1 / (2 - slope_zero);
        out->rate_asymptotic = slope_zero;
    } else if (out->kernel_case == NORMA_KERNEL_CASE_FAST) {
        out->attractor = 1;
        out->rate_printed = out->rate_corrected = out->rate_asymptotic = slope;
    } else if (out->kernel_case == NORMA_KERNEL_CASE_CRITICAL) {
        set_critical(map, out);
    } else {
        set_inner(map, at_zero, out);
    }
    if (isnan(out->attractor))
        return NORMA_FAIL(NORMA_NUMERIC,
                          "no fixed point of the kernel map was found in (0, 1), "
                          "though kappa(0) = %g > 0 and kappa'(1) = %g > 1",
                          at_zero, slope);
    return NORMA_OK;
}

void norma_kernel_dynamics_iterate(const norma_kernel_map *map,
                                   const norma_kernel_dynamics *dynamics, double start,
                                   int64_t n_layers, double *rho, double *distance)
{
    const double fixed = dynamics->attractor;
    double gap = 1 - start, offset = start - fixed;
    bool from_one = fixed == 1 || gap < NEAR_ONE;
    for (int64_t l = 0; l <= n_layers; l++) {
        if (dynamics->kernel_case == NORMA_KERNEL_CASE_IDENTITY) {
            rho[l] = start;
            distance[l] = NAN;
            continue;
        }
        rho[l] = from_one ? 1 - gap : fixed + offset;
        distance[l] = fixed == 1 ? gap : from_one ? fabs((1 - fixed) - gap) : fabs(offset);
        if (from_one)
            gap = norma_kernel_map_gap(map, gap);
        else
            offset = norma_kernel_map_rise(map, fixed, offset);
        if (from_one && fixed != 1 && gap >= NEAR_ONE) {
            from_one = false;
            offset = (1 - fixed) - gap;
        }
    }
}

double norma_kernel_dynamics_bound(const norma_kernel_dynamics *dynamics, double start,
                                   bool printed, int64_t layer)
{
    const double rate = printed ? dynamics->rate_printed : dynamics->rate_corrected;
    const double depth = (double)layer, distance = fabs(start - dynamics->attractor);
    const double room = 1 - fabs(start);
    switch (dynamics->kernel_case) {
    case NORMA_KERNEL_CASE_CENTERED: {
        double scaled = fabs(start) * pow(rate, depth);
        return room > 0 ? scaled / (room + scaled) : INFINITY;
    }
    case NORMA_KERNEL_CASE_FAST:
        return distance * pow(rate, depth);
    case NORMA_KERNEL_CASE_CRITICAL:
        return distance / (depth * rate * distance + 1);
    case NORMA_KERNEL_CASE_INNER:
        return room > 0 ? distance / room * pow(rate, depth) : INFINITY;
    case NORMA_KERNEL_CASE_IDENTITY:
        break;
    }
    return NAN;
}

double norma_kernel_dynamics_factor(const norma_kernel_dynamics *dynamics, int64_t layer)
{
    if (dynamics->decay_power == 0)
        return dynamics->rate_asymptotic;
    return pow(((double)layer - 1) / (double)layer, dynamics->decay_power);
}

int64_t norma_kernel_dynamics_last_layer(int64_t n_layers, const double *distance)
{
    int64_t l = n_layers;
    while (l > 0 && !(distance[l] >= DBL_MIN))
        l--;
    return l;
}
