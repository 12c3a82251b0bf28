#include "src/theory/kernel_quadrature.h"

#include <gsl/gsl_integration.h>
#include <math.h>

#define PI 3.14159265358979323846
#define INV_SQRT_2PI 0.39894228040143267794
/* The rule's error is exp(-2 pi distance / step), 1e-21 at the nearest poles of tanh. */
#define STEP 0.2
#define N_STEPS 50
#define N_RADII 64
#define N_ANGLES 32
#define RADIUS 12.0

double norma_kernel_quadrature_smooth(const norma_transfer *psi, norma_kernel_function f,
                                      double theta)
{
    const double along = cos(0.5 * theta), across = sin(0.5 * theta);
    double weight[N_STEPS + 1], sum = 0;
    for (int k = 0; k <= N_STEPS; k++)
        weight[k] = STEP * INV_SQRT_2PI * exp(-0.5 * (STEP * k) * (STEP * k));
    for (int i = -N_STEPS; i <= N_STEPS; i++) {
        double u = along * STEP * i, inner = 0;
        for (int j = N_STEPS; j >= 1; j--) {
            double v = across * STEP * j;
            inner += 2 * weight[j] * (f(psi, u + v) * f(psi, u - v));
        }
        double center = f(psi, u);
        inner += weight[0] * center * center;
        sum += weight[i < 0 ? -i : i] * inner;
    }
    return sum;
}

typedef struct rule {
    double node[N_RADII > N_ANGLES ? N_RADII : N_ANGLES];
    double weight[N_RADII > N_ANGLES ? N_RADII : N_ANGLES];
} rule;

static bool make_rule(size_t n, double from, double to, rule *out)
{
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(n);
    if (!table)
        return false;
    for (size_t i = 0; i < n; i++)
        (void)gsl_integration_glfixed_point(from, to, i, &out->node[i], &out->weight[i], table);
    gsl_integration_glfixed_table_free(table);
    return true;
}

double norma_kernel_quadrature_kinked(const norma_transfer *psi, norma_kernel_function f,
                                      double theta)
{
    rule radius, angle;
    double sum = 0;
    if (!make_rule(N_RADII, 0, RADIUS, &radius) || !make_rule(N_ANGLES, 0, 1, &angle))
        return NAN;
    /* X = r cos(a), Y = r cos(a - theta): signs change at these angles. */
    const double edge[5] = {theta - 0.5 * PI, 0.5 * PI, theta + 0.5 * PI, 1.5 * PI,
                            theta + 1.5 * PI};
    for (int sector = 0; sector < 4; sector++) {
        double width = edge[sector + 1] - edge[sector];
        for (int i = 0; i < N_ANGLES && width > 0; i++) {
            double a = edge[sector] + width * angle.node[i], inner = 0;
            double x = cos(a), y = cos(a - theta);
            for (int k = 0; k < N_RADII; k++) {
                double r = radius.node[k];
                inner += radius.weight[k] * r * exp(-0.5 * r * r) * f(psi, r * x) * f(psi, r * y);
            }
            sum += width * angle.weight[i] * inner;
        }
    }
    return sum / (2 * PI);
}

double norma_kernel_quadrature_given_zero(const norma_transfer *psi, norma_kernel_function f,
                                          double theta)
{
    rule half;
    double sum = 0;
    if (!make_rule(N_RADII, 0, RADIUS, &half))
        return NAN;
    for (int k = 0; k < N_RADII; k++) {
        double z = half.node[k], y = sin(theta) * z;
        sum += half.weight[k] * INV_SQRT_2PI * exp(-0.5 * z * z) * (f(psi, y) + f(psi, -y));
    }
    return sum;
}
