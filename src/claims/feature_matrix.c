/* RF: the feature matrix M [c2 c0][c1] of W2 [c2][c1] and W1 [c1][c0]. */
#include "src/claims/family.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH, SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH, STEPS = 5 };

/* W2 [c2][c1], then W1 [c1][c0], then c0. */
static void draw_features(norma_claim_random *random, int64_t c2, int64_t c0, int64_t c1,
                          norma_claim_case *out)
{
    out->rows = c2;
    out->columns = c1;
    out->n = 0;
    norma_claim_append_normals(random, c1 * (c2 + c0), out);
    out->n_free = out->n;
}

static void features_of(int64_t c2, int64_t c1, int64_t c0, const double *second,
                        const double *first, double *m)
{
    norma_claim_compose((const int64_t[5]){c2, c1, c0, 1, 1}, second, first, m);
}

/* Every second case repeats its first feature. */
NORMA_CLAIM_DRAW(repeated)
{
    int64_t c2 = norma_claim_integer(random, 2, 3), c0 = norma_claim_integer(random, 2, 3);
    int64_t c1 = c2 * c0;
    draw_features(random, c2, c0, c1, out);
    for (int64_t i = 0; number % 2 == 0 && i < c2; i++)
        out->x[i * c1 + 1] = out->x[i * c1];
    for (int64_t j = 0; number % 2 == 0 && j < c0; j++)
        out->x[c2 * c1 + c0 + j] = out->x[c2 * c1 + j];
    out->n_free = 0;
    out->x[out->n++] = (double)c0;
}

NORMA_CLAIM_SIDES(rank_of_features)
{
    const int64_t c2 = c->rows, c1 = c->columns, c0 = (int64_t)c->x[c->n - 1];
    const double *first = c->x + c2 * c1;
    double m[SQUARE], s[WIDTH], second_values[WIDTH], first_values[WIDTH];
    (void)random;
    features_of(c2, c1, c0, c->x, first, m);
    NORMA_TRY(norma_claim_singular(c2, c1, c->x, second_values));
    NORMA_TRY(norma_claim_singular(c1, c0, first, first_values));
    NORMA_TRY(norma_claim_singular(c1, c1, m, s));
    out->met = second_values[c2 - 1] > 1e-3 * second_values[0] &&
               first_values[c0 - 1] > 1e-3 * first_values[0];
    out->left = (double)(c2 * c0);
    out->right = 0;
    for (int64_t i = 0; i < c1; i++)
        out->right += s[i] > 1e-12 * s[0] ? 1 : 0;
    out->rounding = 0;
    return NORMA_OK;
}

/* c1 / n: one number. */
NORMA_CLAIM_DRAW(ratio)
{
    out->rows = out->columns = out->n = out->n_free = 1;
    out->x[0] = exp((number % 2 ? 3 : 0.5) * (2 * norma_claim_uniform(random) - 1));
}

/* The integral of sqrt((s^2 - a^2)(b^2 - s^2)) / (pi s by), a, b = |sqrt(r) -+ 1|, by
 * s^2 = 1 + r + 2 sqrt(r) cos(t), where the midpoint rule converges as r^(-nodes / 2). */
static double mass_of(double r, double by)
{
    enum { NODES = 1500 };
    const double pi = acos(-1.0), half = 2 * sqrt(r);
    double sum = 0;
    for (int i = 0; i < NODES; i++) {
        double t = pi * (i + 0.5) / NODES, sine = sin(t);
        sum += sine * sine / (1 + r + half * cos(t));
    }
    return half * half / (2 * by) * sum / NODES;
}

static norma_status integrate(const norma_claim_case *c, bool printed, norma_claim_sides *out)
{
    double r = c->x[0];
    out->met = r > 1e-3 && r < 1e3 && fabs(log(r)) > 0.04;
    if (!out->met)
        return NORMA_OK;
    double lambda = fmax(r, 1 / r);
    out->left = printed ? mass_of(lambda, lambda) : mass_of(r, fmin(1, r));
    out->right = 1;
    out->rounding = 1e-9;
    return NORMA_OK;
}

NORMA_CLAIM_FORM(printed_density, integrate(c, true, out))
NORMA_CLAIM_FORM(density, integrate(c, false, out))

/* Two squares of c1 = c^2 rows, whose orthogonal factors hold the weights: c rows each. */
NORMA_CLAIM_DRAW(orthogonal_weights)
{
    const int64_t c1 = number % 2 ? 9 : 4;
    out->rows = out->columns = c1;
    out->n = 0;
    norma_claim_append_normals(random, 2 * c1 * c1, out);
    out->n_free = out->n;
}

/* The largest cosine of two columns of M. */
NORMA_CLAIM_SIDES(columns)
{
    const int64_t c1 = c->rows, n = c1 == 9 ? 3 : 2;
    double second[SQUARE], first[SQUARE];
    (void)random;
    out->met = norma_claim_regular(c1, c->x) && norma_claim_regular(c1, c->x + c1 * c1) &&
               norma_claim_orthogonalize(c1, c->x, second) &&
               norma_claim_orthogonalize(c1, c->x + c1 * c1, first);
    out->left = out->right = 0;
    out->rounding = 1e-10;
    for (int64_t a = 0; out->met && a < c1; a++)
        for (int64_t b = 0; b < a; b++) {
            double cosine = 1;
            for (int side = 0; side < 2; side++) {
                const double *w = side ? first : second;
                double dot = cblas_ddot((int)n, w + a, (int)c1, w + b, (int)c1);
                double norms =
                    cblas_dnrm2((int)n, w + a, (int)c1) * cblas_dnrm2((int)n, w + b, (int)c1);
                cosine *= norms > 1e-6 ? fabs(dot) / norms : 0;
            }
            out->left = fmax(out->left, cosine);
        }
    return NORMA_OK;
}

/* Weights [c2][c0], then as many samples x and outputs y as c0. */
NORMA_CLAIM_DRAW(descent)
{
    int64_t c2 = norma_claim_integer(random, 1, 3), c0 = norma_claim_integer(random, 1, 3);
    (void)number;
    out->rows = c2;
    out->columns = c0;
    out->n = 0;
    norma_claim_append_normals(random, c2 * c0 + c0 * (c0 + c2), out);
    out->n_free = out->n;
}

/* One step on the squared error of y = W x; in the source of id-cond features the middle unit
 * i c0 + j takes input j and gives output i. */
static void step_of_weights(int64_t c2, int64_t c0, const double *data, double rate, double *w)
{
    double gradient[SQUARE] = {0};
    for (int64_t s = 0; s < c0; s++) {
        const double *x = data + s * (c0 + c2), *y = x + c0;
        for (int64_t i = 0; i < c2; i++) {
            double error = cblas_ddot((int)c0, w + i * c0, 1, x, 1) - y[i];
            cblas_daxpy((int)c0, error, x, 1, gradient + i * c0, 1);
        }
    }
    cblas_daxpy((int)(c2 * c0), -rate, gradient, 1, w, 1);
}

static void step_of_scales(int64_t c2, int64_t c0, const double *data, double rate, double *gamma)
{
    const int64_t c1 = c2 * c0;
    double second[SQUARE] = {0}, first[SQUARE] = {0}, gradient[WIDTH] = {0};
    for (int64_t m = 0; m < c1; m++) {
        second[m / c0 * c1 + m] = 1;
        first[m * c0 + m % c0] = 1;
    }
    for (int64_t s = 0; s < c0; s++) {
        const double *x = data + s * (c0 + c2), *y = x + c0;
        double unit[WIDTH], scaled[WIDTH], output[WIDTH], back[WIDTH];
        norma_claim_product(false, false, c1, 1, c0, first, x, unit);
        for (int64_t m = 0; m < c1; m++)
            scaled[m] = gamma[m] * unit[m];
        norma_claim_product(false, false, c2, 1, c1, second, scaled, output);
        for (int64_t i = 0; i < c2; i++)
            output[i] -= y[i];
        norma_claim_product(true, false, c1, 1, c2, second, output, back);
        for (int64_t m = 0; m < c1; m++)
            gradient[m] += back[m] * unit[m];
    }
    cblas_daxpy((int)c1, -rate, gradient, 1, gamma, 1);
}

NORMA_CLAIM_SIDES(descent)
{
    const int64_t c2 = c->rows, c0 = c->columns, n = c2 * c0;
    double w[SQUARE], gamma[SQUARE], scale[WIDTH];
    (void)random;
    memcpy(w, c->x, (size_t)n * sizeof *w);
    memcpy(gamma, c->x, (size_t)n * sizeof *gamma);
    double data = cblas_dnrm2((int)(c->n - n), c->x + n, 1), rate = 0.5 / (1 + data * data);
    for (int step = 0; step < STEPS; step++) {
        step_of_weights(c2, c0, c->x + n, rate, w);
        step_of_scales(c2, c0, c->x + n, rate, gamma);
    }
    for (int64_t i = 0; i < n; i++)
        scale[i] = cblas_dnrm2((int)n, c->x, 1) + 1;
    norma_claim_compare(n, gamma, w, scale, out);
    return NORMA_OK;
}

/* Fewer features than weights: W2, W1, then the target [c2][c0]; then c0. */
NORMA_CLAIM_DRAW(permuted)
{
    int64_t c2 = norma_claim_integer(random, 2, 3), c0 = norma_claim_integer(random, 1, 3);
    (void)number;
    draw_features(random, c2, c0, norma_claim_integer(random, 1, c2 * c0 - 1), out);
    norma_claim_append_normals(random, c2 * c0, out);
    out->n_free = out->n;
    out->x[out->n++] = (double)c0;
}

/* The rows of the target in order `which`. */
static void permute(int64_t c2, int64_t c0, int which, const double *target, double *v)
{
    for (int64_t i = 0; i < c2; i++)
        memcpy(v + i * c0, target + norma_claim_orders[which][i] * c0, (size_t)c0 * sizeof *v);
}

/* The squared distance of v from the columns of m [n][c1], which are made orthonormal. */
static double distance2(int64_t n, int64_t c1, const double *m, double *v)
{
    double basis[WIDTH][WIDTH];
    for (int64_t k = 0; k < c1; k++) {
        cblas_dcopy((int)n, m + k, (int)c1, basis[k], 1);
        norma_claim_project_out(n, k, WIDTH, basis[0], basis[k]);
        cblas_dscal((int)n, 1 / cblas_dnrm2((int)n, basis[k], 1), basis[k], 1);
        cblas_daxpy((int)n, -cblas_ddot((int)n, basis[k], 1, v, 1), basis[k], 1, v, 1);
    }
    return cblas_ddot((int)n, v, 1, v, 1);
}

static norma_status align(const norma_claim_case *c, bool printed, norma_claim_sides *out)
{
    const int64_t c2 = c->rows, c1 = c->columns, c0 = (int64_t)c->x[c->n - 1], n = c2 * c0;
    const double *target = c->x + c1 * (c2 + c0);
    double m[SQUARE], square[SQUARE] = {0}, s[WIDTH], u[SQUARE], v[WIDTH];
    features_of(c2, c1, c0, c->x, c->x + c2 * c1, m);
    for (int64_t i = 0; i < n; i++)
        memcpy(square + i * n, m + i * c1, (size_t)c1 * sizeof *m);
    NORMA_TRY(norma_claim_singular(n, n, square, s));
    double size = cblas_ddot((int)n, target, 1, target, 1);
    out->met = s[c1 - 1] > 1e-3 * s[0] && size > 1e-12;
    /* the last r components are a matter of the basis unless they hold all of the others */
    if (printed)
        out->met = out->met && 2 * c1 > n && s[n - c1 - 1] > (1 + 1e-3) * s[n - c1];
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(norma_claim_left_vectors(n, n, square, u));
    out->left = out->right = INFINITY;
    for (int which = 0; which < (c2 == 2 ? 2 : 6); which++) {
        double sum = 0;
        permute(c2, c0, which, target, v);
        for (int64_t k = printed ? n - c1 : c1; k < n; k++)
            sum += pow(cblas_ddot((int)n, u + k, (int)n, v, 1), 2);
        out->right = fmin(out->right, sum);
        out->left = fmin(out->left, distance2(n, c1, m, v));
    }
    out->rounding = 1e-10 * size;
    return NORMA_OK;
}

NORMA_CLAIM_FORM(last_rank, align(c, true, out))
NORMA_CLAIM_FORM(last_others, align(c, false, out))
