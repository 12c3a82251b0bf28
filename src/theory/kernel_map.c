#include "src/theory/kernel_map.h"

#include "src/theory/kernel_quadrature.h"

#include <gsl/gsl_integration.h>
#include <math.h>

#define PI 3.14159265358979323846
#define N_POINTS 32

static bool is_rectifier(const norma_transfer *psi)
{
    return psi->n_terms == 0 && (psi->activation.kind == NORMA_ACTIVATION_RELU ||
                                 psi->activation.kind == NORMA_ACTIVATION_LEAKY_RELU);
}

static bool has_closed_form(const norma_transfer *psi)
{
    int degree = 0;
    if (norma_transfer_is_polynomial(psi, &degree) || is_rectifier(psi))
        return true;
    return psi->activation.kind == NORMA_ACTIVATION_ERF ||
           psi->activation.kind == NORMA_ACTIVATION_EXP ||
           psi->activation.kind == NORMA_ACTIVATION_SIN;
}

/* The square of psi's k-th Hermite coefficient, psi a polynomial. */
static double squared_term(const norma_transfer *psi, int degree, int k)
{
    double c = psi->n_terms > 0 ? psi->term[k] : (k == degree ? 1 : 0);
    c = (c - (k == 0 ? psi->shift : 0)) * psi->factor;
    return c * c;
}

/* The derivative of given order of sum c_k^2 rho^k, by Horner's rule. */
static double polynomial(const norma_transfer *psi, int degree, int order, double rho)
{
    double sum = 0;
    for (int k = degree; k >= order; k--) {
        double falling = order == 0 ? 1 : order == 1 ? k : (double)k * (k - 1);
        sum = sum * rho + falling * squared_term(psi, degree, k);
    }
    return sum;
}

/* Slope below 0 of relu and leaky-relu: phi = a x + (1 - a) relu(x), and so
 * kappa = a rho + (1 - a)^2 kappa_relu. */
static double rectifier(const norma_transfer *psi, int order, double theta)
{
    double a = psi->activation.kind == NORMA_ACTIVATION_RELU ? 0 : psi->activation.parameter;
    double b = (1 - a) * (1 - a) / (2 * PI);
    if (order == 0)
        return a * cos(theta) + b * (sin(theta) + (PI - theta) * cos(theta));
    if (order == 1)
        return a + b * (PI - theta);
    return b == 0 ? 0 : b / sin(theta);
}

static double arc_sine(int order, double rho)
{
    double z = 2 * rho / 3, root = sqrt((1 - z) * (1 + z));
    if (order == 0)
        return 2 / PI * asin(z);
    return order == 1 ? 4 / (3 * PI * root) : 8 * z / (9 * PI * root * root * root);
}

/* The closed forms for phi itself: factor and shift are the caller's. rho = cos(theta). */
static double closed_form(const norma_transfer *psi, int order, double rho, double theta)
{
    if (is_rectifier(psi))
        return rectifier(psi, order, theta);
    switch (psi->activation.kind) {
    case NORMA_ACTIVATION_ERF:
        return arc_sine(order, rho);
    case NORMA_ACTIVATION_EXP:
        return exp(1 + rho);
    default: /* sin: e^-1 sinh(rho) */
        return exp(-1) * (order == 1 ? cosh(rho) : sinh(rho));
    }
}

/* The derivative of given order by quadrature, psi with its factor. */
static double by_quadrature(const norma_transfer *psi, int order, double theta)
{
    const norma_kernel_function f = order == 0   ? norma_transfer_value
                                    : order == 1 ? norma_transfer_slope
                                                 : norma_transfer_curvature;
    const double jump = norma_transfer_jump(psi);
    if (jump == 0)
        return norma_kernel_quadrature_smooth(psi, f, theta);
    double sum = norma_kernel_quadrature_kinked(psi, f, theta);
    if (order == 2) { /* the point mass against the regular part, and against itself */
        double half = norma_kernel_quadrature_given_zero(psi, f, theta) / sqrt(2 * PI);
        sum += 2 * jump * half + jump * jump / (2 * PI * fabs(sin(theta)));
    }
    return sum;
}

/* rho = cos(theta); both are given since each is exact where the other is not. */
static double evaluate(const norma_kernel_map *map, int order, double rho, double theta)
{
    const norma_transfer *psi = &map->psi;
    int degree = 0;
    if (norma_transfer_is_polynomial(psi, &degree))
        return polynomial(psi, degree, order, rho);
    if (!map->closed)
        return by_quadrature(psi, order, theta);
    double square = psi->factor * psi->factor, value = closed_form(psi, order, rho, theta);
    if (order > 0 || psi->shift == 0)
        return square * value;
    /* E (phi(X) - s)(phi(Y) - s) = E phi(X) phi(Y) - 2 s E phi + s^2, E phi = shift + mean */
    double mean = psi->shift + map->moments.mean / psi->factor;
    return square * (value - (2 * mean - psi->shift) * psi->shift);
}

/* kappa'(cos(theta)): closed form or interpolation. */
static double slope_at(const norma_kernel_map *map, double theta)
{
    if (map->closed)
        return evaluate(map, 1, cos(theta), theta);
    double t = 2 * theta / PI - 1, b1 = 0, b2 = 0;
    for (int k = NORMA_KERNEL_MAP_N_CHEBYSHEV - 1; k >= 1; k--) {
        double next = 2 * t * b1 - b2 + map->chebyshev[k];
        b2 = b1;
        b1 = next;
    }
    return t * b1 - b2 + map->chebyshev[0];
}

static void fit_slope(norma_kernel_map *map)
{
    enum { N = NORMA_KERNEL_MAP_N_CHEBYSHEV };
    double value[N];
    for (int i = 0; i < N; i++)
        value[i] = by_quadrature(&map->psi, 1, 0.5 * PI * (1 + cos(PI * (i + 0.5) / N)));
    for (int k = 0; k < N; k++) {
        double sum = 0;
        for (int i = 0; i < N; i++)
            sum += value[i] * cos(PI * k * (i + 0.5) / N);
        map->chebyshev[k] = sum * (k == 0 ? 1.0 : 2.0) / N;
    }
}

norma_status norma_kernel_map_init(const norma_transfer *psi, norma_kernel_map *out)
{
    *out = (norma_kernel_map){.psi = *psi, .closed = has_closed_form(psi)};
    NORMA_TRY(norma_transfer_measure(psi, &out->moments));
    if (!out->closed)
        fit_slope(out);
    return NORMA_OK;
}

norma_status norma_kernel_map_init_variant(const norma_transfer *phi, norma_kernel_variant variant,
                                           norma_kernel_map *out)
{
    norma_transfer psi = *phi;
    NORMA_TRY(norma_transfer_normalize(&psi, variant == NORMA_KERNEL_POST_LN));
    return norma_kernel_map_init(&psi, out);
}

double norma_kernel_map_value(const norma_kernel_map *map, double rho)
{
    return rho == 1 ? map->moments.second : evaluate(map, 0, rho, acos(rho));
}

double norma_kernel_map_slope(const norma_kernel_map *map, double rho)
{
    return rho == 1 ? map->moments.slope_second : evaluate(map, 1, rho, acos(rho));
}

double norma_kernel_map_curvature(const norma_kernel_map *map, double rho)
{
    if (fabs(rho) == 1 && norma_transfer_jump(&map->psi) != 0)
        return INFINITY;
    return rho == 1 ? map->moments.curvature_second : evaluate(map, 2, rho, acos(rho));
}

/* Integral of kappa'(cos t) sin t over t in [from, to]: kappa(cos from) - kappa(cos to). */
static double integrate(const norma_kernel_map *map, double from, double to)
{
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(N_POINTS);
    double sum = 0;
    if (!table)
        return NAN;
    for (size_t i = 0; i < N_POINTS; i++) {
        double t = 0, w = 0;
        (void)gsl_integration_glfixed_point(from, to, i, &t, &w, table);
        sum += w * slope_at(map, t) * sin(t);
    }
    gsl_integration_glfixed_table_free(table);
    return sum;
}

double norma_kernel_map_gap(const norma_kernel_map *map, double x)
{
    int degree = 0;
    if (x >= 0.5)
        return map->moments.second - norma_kernel_map_value(map, 1 - x);
    if (!norma_transfer_is_polynomial(&map->psi, &degree))
        return integrate(map, 0, 2 * asin(sqrt(0.5 * x)));
    double sum = 0;
    for (int k = 1; k <= degree; k++)
        sum -= squared_term(&map->psi, degree, k) * expm1(k * log1p(-x));
    return sum;
}

/* sum c_k^2 ((rho + x)^k - rho^k) = x times a sum without cancellation where x is small. */
static double polynomial_rise(const norma_transfer *psi, int degree, double rho, double x)
{
    double sum = 0, quotient = 0, power = 1; /* ((rho + x)^k - rho^k) / x and rho^k */
    for (int k = 1; k <= degree; k++) {
        quotient = (rho + x) * quotient + power;
        power *= rho;
        sum += squared_term(psi, degree, k) * quotient;
    }
    return x * sum;
}

double norma_kernel_map_rise(const norma_kernel_map *map, double rho, double x)
{
    int degree = 0;
    if (norma_transfer_is_polynomial(&map->psi, &degree))
        return polynomial_rise(&map->psi, degree, rho, x);
    const double room = 1 - fmax(fabs(rho), fabs(rho + x));
    if (fabs(x) > fmin(0.05, room))
        return norma_kernel_map_value(map, rho + x) - norma_kernel_map_value(map, rho);
    /* Short and away from +-1, where kappa' is analytic: the mean slope times x. */
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(N_POINTS);
    double sum = 0;
    if (!table)
        return NAN;
    for (size_t i = 0; i < N_POINTS; i++) {
        double u = 0, w = 0;
        (void)gsl_integration_glfixed_point(0, 1, i, &u, &w, table);
        sum += w * slope_at(map, acos(rho + u * x));
    }
    gsl_integration_glfixed_table_free(table);
    return x * sum;
}
