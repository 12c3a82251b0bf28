#include "src/theory/limit_law.h"

#include "src/base/mem.h"

#include <gsl/gsl_poly.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Steps of the table of a distribution function over an interval of the support. */
#define N_STEPS 512
/* Coefficients of a polynomial: of twice the degree of all kinds together. */
#define MAX_COEFFICIENTS (2 * NORMA_LIMIT_MAX_KINDS + 3)
/* Leading coefficients below this part of the largest are rounding. */
#define NEGLIGIBLE 1e-13

typedef struct interval {
    double low, high;          /* in s, before scaling */
    double before;             /* mass below */
    double mass[N_STEPS + 1];  /* from low to a node, nodes equal in angle */
    double slope[N_STEPS + 1]; /* d mass / d angle */
} interval;

struct norma_limit_law {
    norma_limit_population population;
    double ratio, scale;
    int n_intervals;
    interval *intervals; /* owned; none where one variance has a closed form */
};

norma_status norma_limit_population_init(const norma_kernel *kernel, norma_limit_population *out)
{
    int64_t width = kernel->composite.width;
    int64_t n_taps = norma_kernel_taps(kernel->composite);
    memset(out, 0, sizeof *out);
    for (int64_t k = 0; k < n_taps; k++) {
        const int64_t at[2] = {k / width, k % width};
        const int64_t first[2] = {kernel->first.height, kernel->first.width};
        const int64_t second[2] = {kernel->second.height, kernel->second.width};
        double pairs = 1;
        for (int axis = 0; axis < 2; axis++) {
            int64_t from = at[axis] >= first[axis] ? at[axis] - first[axis] + 1 : 0;
            int64_t to = at[axis] < second[axis] ? at[axis] : second[axis] - 1;
            pairs *= (double)(to - from + 1);
        }
        int kind = 0;
        while (kind < out->n_kinds && out->variance[kind] != pairs)
            kind++;
        if (kind == NORMA_LIMIT_MAX_KINDS)
            return NORMA_FAIL(NORMA_LIMIT,
                              "the rows of this kernel split have more than %d variances: its "
                              "limit law is not computed",
                              NORMA_LIMIT_MAX_KINDS);
        out->variance[kind] = pairs;
        out->share[kind] += 1 / (double)n_taps;
        out->n_kinds = kind < out->n_kinds ? out->n_kinds : kind + 1;
    }
    return NORMA_OK;
}

/* product[n + 2] *= (1 + t x), of n + 1 coefficients before. */
static void multiply_by(double *product, int n, double t)
{
    product[n + 1] = 0;
    for (int i = n + 1; i > 0; i--)
        product[i] += t * product[i - 1];
}

/* product = the product of (1 + t_k x)^power over all kinds but `without`; its degree. */
static int multiply_all(const norma_limit_population *p, int without, int power, double *product)
{
    int degree = 0;
    product[0] = 1;
    for (int k = 0; k < p->n_kinds; k++)
        for (int i = 0; i < power && k != without; i++)
            multiply_by(product, degree++, p->variance[k]);
    return degree;
}

/* The roots of a polynomial with n coefficients, lowest first; how many. */
static int find_roots(double *coefficients, int n, double *roots)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(coefficients[i]));
    while (n > 1 && fabs(coefficients[n - 1]) <= NEGLIGIBLE * largest)
        n--;
    if (n < 2)
        return 0;
    gsl_poly_complex_workspace *w = gsl_poly_complex_workspace_alloc((size_t)n);
    int failed = w ? gsl_poly_complex_solve(coefficients, (size_t)n, w, roots) : 1;
    gsl_poly_complex_workspace_free(w);
    return failed ? 0 : n - 1;
}

/* z - z(m) and its derivative by m, in complex numbers (re, im). */
static void evaluate(const norma_limit_population *p, double y, const double *m, double z,
                     double *value, double *slope)
{
    double size = m[0] * m[0] + m[1] * m[1];
    double inverse[2] = {m[0] / size, -m[1] / size};
    value[0] = z + inverse[0];
    value[1] = inverse[1];
    slope[0] = -(inverse[0] * inverse[0] - inverse[1] * inverse[1]);
    slope[1] = -2 * inverse[0] * inverse[1];
    for (int k = 0; k < p->n_kinds; k++) {
        double t = p->variance[k];
        double one[2] = {1 + t * m[0], t * m[1]};
        double square = one[0] * one[0] + one[1] * one[1];
        double over[2] = {one[0] / square, -one[1] / square};
        double factor = y * p->share[k] * t;
        value[0] -= factor * over[0];
        value[1] -= factor * over[1];
        slope[0] += factor * t * (over[0] * over[0] - over[1] * over[1]);
        slope[1] += factor * t * 2 * over[0] * over[1];
    }
}

/* Newton's steps that take away the rounding of the roots of a polynomial. */
static void polish(const norma_limit_population *p, double y, double z, double *m)
{
    for (int step = 0; step < 3; step++) {
        double value[2];
        double slope[2];
        evaluate(p, y, m, z, value, slope);
        double square = slope[0] * slope[0] + slope[1] * slope[1];
        if (!(square > 0))
            return;
        double change[2] = {(value[0] * slope[0] + value[1] * slope[1]) / square,
                            (value[1] * slope[0] - value[0] * slope[1]) / square};
        if (hypot(change[0], change[1]) > 0.01 * hypot(m[0], m[1]))
            return;
        m[0] -= change[0];
        m[1] -= change[1];
    }
}

/* Im m of the solution in the upper half plane at z > 0; 0 outside the support. */
static double solve_companion(const norma_limit_population *p, double y, double z)
{
    double sum[MAX_COEFFICIENTS] = {0};
    double product[MAX_COEFFICIENTS];
    double roots[2 * MAX_COEFFICIENTS];
    double best[2] = {0, 0};
    int degree = multiply_all(p, -1, 1, product);
    for (int i = 0; i <= degree; i++) {
        sum[i] -= product[i];
        sum[i + 1] -= z * product[i];
    }
    for (int k = 0; k < p->n_kinds; k++) {
        int fewer = multiply_all(p, k, 1, product);
        for (int i = 0; i <= fewer; i++)
            sum[i + 1] += y * p->share[k] * p->variance[k] * product[i];
    }
    int n_roots = find_roots(sum, degree + 2, roots);
    for (int64_t r = 0; r < n_roots; r++)
        if (roots[2 * r + 1] > best[1])
            memcpy(best, roots + 2 * r, sizeof best);
    if (best[1] > 0)
        polish(p, y, z, best);
    return best[1] > 0 ? best[1] : 0;
}

static double plain_density(double ratio, double variance, double s)
{
    double x = s * s / variance;
    double low = (sqrt(ratio) - 1) * (sqrt(ratio) - 1);
    double high = (sqrt(ratio) + 1) * (sqrt(ratio) + 1);
    if (!(x > low || (low == 0 && x == 0)) || x >= high)
        return 0;
    if (x == 0)
        return sqrt(high) / (pi * sqrt(variance));
    return sqrt((x - low) * (high - x)) / (pi * s * fmin(1, ratio));
}

/* With x = c + h cos(angle) the distribution function has a closed form. */
static double plain_cdf(double ratio, double variance, double s)
{
    double x = s * s / variance;
    double low = fabs(sqrt(ratio) - 1);
    double high = sqrt(ratio) + 1;
    if (x <= low * low)
        return 0;
    if (x >= high * high)
        return 1;
    double c = 1 + ratio;
    double h = 2 * sqrt(ratio);
    double cosine = fmax(-1, fmin(1, (x - c) / h));
    double angle = acos(cosine);
    double turn = low > 0 ? 2 * atan(low / high * tan(angle / 2)) : 0;
    double rest = c * (pi - angle) + h * sin(angle) - low * high * (pi - turn);
    return fmax(0, fmin(1, rest / (2 * pi * fmin(1, ratio))));
}

static double general_density(const norma_limit_law *law, double s)
{
    double y = 1 / law->ratio;
    double at = s > 0 ? s : 1e-6 * law->intervals[0].high; /* a hard edge is level */
    double companion = solve_companion(&law->population, y, at * at * y);
    return 2 * at * companion / (pi * fmin(1, law->ratio));
}

/* The ends of the intervals of the support, in z, in order; how many. */
static int find_edges(const norma_limit_population *p, double y, double *edges)
{
    double sum[MAX_COEFFICIENTS] = {0};
    double product[MAX_COEFFICIENTS];
    double roots[2 * MAX_COEFFICIENTS];
    int n_edges = 0;
    int degree = multiply_all(p, -1, 2, sum);
    for (int k = 0; k < p->n_kinds; k++) {
        int fewer = multiply_all(p, k, 2, product);
        for (int i = 0; i <= fewer; i++)
            sum[i + 2] -= y * p->share[k] * p->variance[k] * p->variance[k] * product[i];
    }
    int n_roots = find_roots(sum, degree + 1, roots);
    if (n_roots < degree)
        edges[n_edges++] = 0;
    for (int64_t r = 0; r < n_roots; r++) {
        double m[2] = {roots[2 * r], 0};
        double value[2];
        double slope[2];
        if (fabs(roots[2 * r + 1]) > 1e-7 * hypot(m[0], roots[2 * r + 1]))
            continue;
        evaluate(p, y, m, 0, value, slope);
        edges[n_edges++] = fmax(0, -value[0]);
    }
    for (int i = 1; i < n_edges; i++)
        for (int j = i; j > 0 && edges[j] < edges[j - 1]; j--) {
            double larger = edges[j - 1];
            edges[j - 1] = edges[j];
            edges[j] = larger;
        }
    return n_edges;
}

/* d s / d angle times the density, s = middle - half cos(angle). */
static double slope_at(const norma_limit_law *law, const interval *part, double angle)
{
    double middle = (part->low + part->high) / 2;
    double half = (part->high - part->low) / 2;
    return general_density(law, middle - half * cos(angle)) * half * sin(angle);
}

static void fill_table(const norma_limit_law *law, interval *part)
{
    double width = pi / N_STEPS;
    part->mass[0] = 0;
    part->slope[0] = 0;
    for (int i = 1; i <= N_STEPS; i++) {
        double middle = slope_at(law, part, (i - 0.5) * width);
        part->slope[i] = i < N_STEPS ? slope_at(law, part, i * width) : 0;
        part->mass[i] =
            part->mass[i - 1] + width * (part->slope[i - 1] + 4 * middle + part->slope[i]) / 6;
    }
}

static norma_status fill_tables(norma_limit_law *law)
{
    double edges[2 * MAX_COEFFICIENTS];
    double y = 1 / law->ratio;
    double total = 0;
    int n_edges = find_edges(&law->population, y, edges);
    if (n_edges < 2 || n_edges % 2 != 0)
        return NORMA_FAIL(NORMA_NUMERIC, "the support of the limit law has %d ends", n_edges);
    law->n_intervals = n_edges / 2;
    NORMA_TRY(NORMA_CALLOC(law->intervals, law->n_intervals));
    for (int64_t i = 0; i < law->n_intervals; i++) {
        law->intervals[i].low = sqrt(edges[2 * i] / y);
        law->intervals[i].high = sqrt(edges[2 * i + 1] / y);
    }
    for (int i = 0; i < law->n_intervals; i++) {
        fill_table(law, law->intervals + i);
        law->intervals[i].before = total;
        total += law->intervals[i].mass[N_STEPS];
    }
    if (fabs(total - 1) > 1e-3)
        return NORMA_FAIL(NORMA_NUMERIC, "the limit law has the mass %.6g on its support", total);
    return NORMA_OK;
}

norma_status norma_limit_law_create(const norma_limit_population *population, double ratio,
                                    double scale, norma_limit_law **out)
{
    norma_limit_law *law = NULL;
    norma_status status = NORMA_CALLOC(law, 1);
    NORMA_GOTO(status, status);
    law->population = *population;
    law->ratio = ratio;
    law->scale = scale;
    if (population->n_kinds > 1)
        NORMA_GOTO(status, fill_tables(law));
    *out = law;
    law = NULL;
done:
    norma_limit_law_destroy(&law);
    return status;
}

double norma_limit_law_density(const norma_limit_law *law, double s)
{
    s /= law->scale;
    if (law->n_intervals == 0)
        return plain_density(law->ratio, law->population.variance[0], s) / law->scale;
    for (int i = 0; i < law->n_intervals; i++)
        if (s >= law->intervals[i].low && s <= law->intervals[i].high)
            return general_density(law, s) / law->scale;
    return 0;
}

/* Cubic between two nodes of the table. */
static double interpolate(const interval *part, double s)
{
    double middle = (part->low + part->high) / 2;
    double half = (part->high - part->low) / 2;
    double place = acos(fmax(-1, fmin(1, (middle - s) / half))) / pi * N_STEPS;
    int i = place < N_STEPS - 1 ? (int)place : N_STEPS - 1;
    double x = place - i;
    double width = pi / N_STEPS;
    double rise = part->mass[i + 1] - part->mass[i];
    double from = part->slope[i] * width;
    double to = part->slope[i + 1] * width;
    return part->mass[i] + x * (from + x * (3 * rise - 2 * from - to + x * (from + to - 2 * rise)));
}

double norma_limit_law_cdf(const norma_limit_law *law, double s)
{
    double mass = 0;
    s /= law->scale;
    if (law->n_intervals == 0)
        return plain_cdf(law->ratio, law->population.variance[0], s);
    const interval *last = law->intervals + law->n_intervals - 1;
    if (s >= last->high)
        return 1;
    for (int i = 0; i < law->n_intervals; i++) {
        const interval *part = law->intervals + i;
        if (s > part->low)
            mass = part->before + (s < part->high ? interpolate(part, s) : part->mass[N_STEPS]);
    }
    return fmax(0, fmin(1, mass / (last->before + last->mass[N_STEPS])));
}

double norma_limit_law_low(const norma_limit_law *law)
{
    double low = law->n_intervals > 0
                     ? law->intervals[0].low
                     : fabs(sqrt(law->ratio) - 1) * sqrt(law->population.variance[0]);
    return law->scale * low;
}

double norma_limit_law_high(const norma_limit_law *law)
{
    double high = law->n_intervals > 0 ? law->intervals[law->n_intervals - 1].high
                                       : (sqrt(law->ratio) + 1) * sqrt(law->population.variance[0]);
    return law->scale * high;
}

void norma_limit_law_destroy(norma_limit_law **law)
{
    if (*law) {
        NORMA_FREE((*law)->intervals);
        NORMA_FREE(*law);
    }
}

double norma_limit_outlier(double theta, double y, double ratio)
{
    return theta > sqrt(y) ? sqrt((1 + theta) * (1 + y / theta) * ratio) : NAN;
}

double norma_limit_hard_edge_above(double t)
{
    return exp(-t * t / 2 - t);
}

double norma_limit_hard_edge_quantile(double p)
{
    return sqrt(1 - 2 * log(p)) - 1;
}
