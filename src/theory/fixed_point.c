#include "src/theory/fixed_point.h"

#include <gsl/gsl_integration.h>
#include <math.h>

#define HALF_PI 1.57079632679489661923
#define N_POINTS 96

/* What both integrals share. Angles: t = sin(angle) has density ~ cos(angle)^(m - 2). */
typedef struct sphere {
    const norma_nonlinearity *phi;
    const gsl_integration_glfixed_table *table;
    int64_t m;
    double scale; /* x = scale * t */
    double rho;   /* correlation of two coordinates */
} sphere;

/* The angle beyond which cos^power has no weight in double precision. */
static double cut_off(int64_t power)
{
    double angle = 9 / sqrt((double)power + 1);
    return angle < HALF_PI ? angle : HALF_PI;
}

/* Integral of f cos^power over [from, to], and of cos^power alone. */
static void integrate_piece(const sphere *s, int64_t power, double from, double to,
                            double (*f)(const sphere *, double), double *sum, double *weight)
{
    for (size_t i = 0; i < N_POINTS && to > from; i++) {
        double angle = 0, w = 0;
        (void)gsl_integration_glfixed_point(from, to, i, &angle, &w, s->table);
        w *= pow(cos(angle), (double)power);
        *sum += w * f(s, angle);
        *weight += w;
    }
}

/* Mean of f over angles of density ~ cos^power, split at up to three interior points. */
static double average(const sphere *s, int64_t power, const double *splits, int n_splits,
                      double (*f)(const sphere *, double))
{
    double sum = 0, weight = 0, end = cut_off(power), from = -end;
    for (int i = 0; i < n_splits; i++)
        if (splits[i] > from && splits[i] < end) {
            integrate_piece(s, power, from, splits[i], f, &sum, &weight);
            from = splits[i];
        }
    integrate_piece(s, power, from, end, f, &sum, &weight);
    return sum / weight;
}

static double squared(const sphere *s, double angle)
{
    double value = norma_nonlinearity_value(s->phi, s->scale * sin(angle));
    return value * value;
}

/* The second coordinate given the first: x_j = along + across * sin(other angle). */
typedef struct slice {
    sphere s; /* first, so that a slice is handed on as its sphere */
    double along, across;
} slice;

static double second_value(const sphere *s, double angle)
{
    const slice *given = (const slice *)s;
    return norma_nonlinearity_value(s->phi, given->along + given->across * sin(angle));
}

/* phi(x_i) E[phi(x_j) | x_i]. */
static double product(const sphere *s, double angle)
{
    double t = sin(angle);
    slice given = {*s, s->scale * s->rho * t, s->scale * sqrt(1 - s->rho * s->rho) * cos(angle)};
    double value = norma_nonlinearity_value(s->phi, s->scale * t);
    double kink = given.across > 0 ? -given.along / given.across : 2;
    double split = fabs(kink) < 1 ? asin(kink) : 2;
    double mean = 0;
    if (s->m == 2)
        mean = 0.5 * (norma_nonlinearity_value(s->phi, given.along - given.across) +
                      norma_nonlinearity_value(s->phi, given.along + given.across));
    else
        mean = average(&given.s, s->m - 3, &split, 1, second_value);
    return value * mean;
}

/* In dimension 1 the coordinates are +-1: both equal up to the sign of rho. */
static void on_a_line(const sphere *s, double *diagonal, double *off)
{
    double plus = norma_nonlinearity_value(s->phi, s->scale);
    double minus = norma_nonlinearity_value(s->phi, -s->scale);
    *diagonal = 0.5 * (plus * plus + minus * minus);
    *off = s->rho < 0 ? plus * minus : 0;
}

norma_status norma_fixed_point_bn(const norma_nonlinearity *phi, int64_t n, bool centered,
                                  double row_norm, double *diagonal, double *off)
{
    const int64_t m = centered ? n - 1 : n;
    if (m < 1 || !(row_norm > 0))
        return NORMA_FAIL(NORMA_CONFIG,
                          "the fixed point of batch normalization needs a batch of at least %d, "
                          "not %lld",
                          centered ? 2 : 1, (long long)n);
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(N_POINTS);
    if (!table)
        return NORMA_FAIL(NORMA_MEMORY, "out of memory in a quadrature");
    sphere s = {phi, table, m, row_norm * sqrt((double)m / (double)n),
                centered ? -1 / (double)m : 0};
    if (m == 1) {
        on_a_line(&s, diagonal, off);
    } else {
        /* phi's kink at 0 is met by x_j where |along| = across, and by x_i at 0. */
        double edge = asin(sqrt(1 - s.rho * s.rho));
        const double splits[3] = {-edge, 0, edge};
        *diagonal = average(&s, m - 2, splits, 3, squared);
        *off = average(&s, m - 2, splits, 3, product);
    }
    gsl_integration_glfixed_table_free(table);
    return NORMA_OK;
}
