/* THESIS chapter 4, section 6.2 and appendix C: the isometry I(M) = det(M)^(1/n) / (tr M / n) of
 * Gram matrices, and what normalization does to it. psi = -log I. */
#include "src/claims/family.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH, SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH };

NORMA_CLAIM_DRAW(wide)
{
    int64_t rows = norma_claim_size(random, 2, 6, WIDTH);
    norma_claim_draw_matrix(random, number, rows, norma_claim_size(random, rows, 8, WIDTH), out);
}

NORMA_CLAIM_DRAW(square)
{
    int64_t d = norma_claim_size(random, 2, 6, WIDTH);
    norma_claim_draw_matrix(random, number, d, d, out);
}

/* A square matrix X, then a second one whose orthogonal factor is W. */
NORMA_CLAIM_DRAW(rotation)
{
    norma_claim_draw_square(random, number, out);
    for (int64_t i = 0; i < out->rows * out->rows; i++)
        out->x[out->n + i] = norma_claim_normal(random);
    out->n += out->rows * out->rows;
    out->n_free = out->n;
}

/* Eigenvalues as a vector of 1 x d, positive: equal ones, small ones, of all scales. */
NORMA_CLAIM_DRAW(eigenvalues)
{
    static const double scales[4] = {1e-3, 0.1, 1, 20};
    out->rows = 1;
    out->columns = out->n = out->n_free = norma_claim_size(random, 2, 8, WIDTH);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = scales[number % 4] * norma_claim_normal(random);
    if (number % 4 == 1) { /* one apart from seven equal others, where the bounds are nearly met */
        memset(out->x, 0, sizeof out->x);
        out->columns = out->n = out->n_free = 8;
        out->x[0] = (number % 8 == 1 ? 0.02 : -0.02) * (double)(1 + number / 8 % 25);
    } else if (number % 3 == 0) {
        for (int64_t i = 1; i < out->n; i++)
            out->x[i] = 0;
    }
    if (number % 16 == 5)
        out->x[0] = -400;
}

static void row_norms(int64_t rows, int64_t columns, const double *a, double *norms)
{
    for (int64_t i = 0; i < rows; i++)
        norms[i] = cblas_dnrm2((int)columns, a + i * columns, 1);
}

/* I(M) <= 1 and, at 1, which M? */
NORMA_CLAIM_SIDES(unit_range)
{
    double gap, rounding;
    (void)random;
    NORMA_TRY(norma_claim_isometry(c->rows, c->columns, c->x, &gap, &rounding));
    out->met = isfinite(gap);
    out->left = exp(-gap);
    out->right = 1;
    out->rounding = rounding;
    return NORMA_OK;
}

/* ||M - 1||_F where I(M) = 1 to rounding: as printed it is 0. */
NORMA_CLAIM_SIDES(only_identity)
{
    double m[SQUARE], gap, rounding;
    (void)random;
    NORMA_TRY(norma_claim_isometry(c->rows, c->columns, c->x, &gap, &rounding));
    norma_claim_product(false, true, c->rows, c->rows, c->columns, c->x, c->x, m);
    for (int64_t i = 0; i < c->rows; i++)
        m[i * c->rows + i] -= 1;
    out->met = fabs(gap) <= rounding;
    out->left = cblas_dnrm2((int)(c->rows * c->rows), m, 1);
    out->right = 0;
    out->rounding = 1e-6;
    return NORMA_OK;
}

NORMA_CLAIM_DRAW(multiple)
{
    norma_claim_draw_square(random, 0, out);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] *= number == 0 ? 1 : exp(norma_claim_normal(random));
    if (number > 0)
        for (int64_t i = 1; i < out->rows; i++)
            out->x[i * out->columns + i] = out->x[0];
    out->n_free = 0;
}

/* Isometry before and after the rows are normalized: the bound's two sides. */
static norma_status gain_of(int64_t rows, int64_t columns, const double *before,
                            const double *normalized, norma_claim_sides *out)
{
    double norms[WIDTH] = {0}, gap[2], rounding[2];
    row_norms(rows, columns, before, norms);
    NORMA_TRY(norma_claim_isometry(rows, columns, before, &gap[0], &rounding[0]));
    NORMA_TRY(norma_claim_isometry(rows, columns, normalized, &gap[1], &rounding[1]));
    out->met = isfinite(gap[0]) && isfinite(gap[1]);
    out->left = exp(-gap[0]) * norma_claim_spread(rows, norms);
    out->right = exp(-gap[1]);
    out->rounding = rounding[0] * out->left + rounding[1] * out->right;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(normalization_gain)
{
    double to[SQUARE];
    (void)random;
    memcpy(to, c->x, (size_t)(c->rows * c->columns) * sizeof *to);
    out->met = false;
    if (!norma_claim_normalize_rows(c->rows, c->columns, 1, to))
        return NORMA_OK;
    return gain_of(c->rows, c->columns, c->x, to, out);
}

/* Layer normalization of (5.13): each sample (row) is centred, then scaled. */
NORMA_CLAIM_SIDES(centred_gain)
{
    double to[SQUARE];
    (void)random;
    out->met = false;
    for (int64_t i = 0; i < c->rows; i++) {
        double mean = 0;
        for (int64_t j = 0; j < c->columns; j++)
            mean += c->x[i * c->columns + j] / (double)c->columns;
        for (int64_t j = 0; j < c->columns; j++)
            to[i * c->columns + j] = c->x[i * c->columns + j] - mean;
    }
    if (!norma_claim_normalize_rows(c->rows, c->columns, 1, to))
        return NORMA_OK;
    return gain_of(c->rows, c->columns, c->x, to, out);
}

NORMA_CLAIM_SIDES(rotation_gain)
{
    const int64_t d = c->rows;
    double q[SQUARE], before[SQUARE], after[SQUARE], norms[WIDTH] = {0}, gap[2], rounding[2];
    (void)random;
    out->met = false;
    if (!norma_claim_orthogonalize(d, c->x + d * d, q))
        return NORMA_OK;
    norma_claim_product(false, false, d, d, d, q, c->x, before);
    memcpy(after, before, sizeof after);
    row_norms(d, d, before, norms);
    if (!norma_claim_normalize_rows(d, d, 1, after))
        return NORMA_OK;
    NORMA_TRY(norma_claim_isometry(d, d, c->x, &gap[0], &rounding[0]));
    NORMA_TRY(norma_claim_isometry(d, d, after, &gap[1], &rounding[1]));
    out->met = isfinite(gap[0]) && isfinite(gap[1]);
    out->left = exp(-gap[0]) * norma_claim_spread(d, norms);
    out->right = exp(-gap[1]);
    out->rounding = (rounding[0] + 1e-13) * out->left + (rounding[1] + 1e-13) * out->right;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(best_rotation)
{
    const int64_t d = c->rows;
    double u[SQUARE], after[SQUARE], values[WIDTH], gap, rounding;
    (void)random;
    out->met = false;
    NORMA_TRY(norma_claim_singular(d, d, c->x, values));
    if (!(values[d - 1] > 1e-6 * values[0]))
        return NORMA_OK;
    NORMA_TRY(norma_claim_left_vectors(d, d, c->x, u));
    norma_claim_product(true, false, d, d, d, u, c->x, after);
    if (!norma_claim_normalize_rows(d, d, 1, after))
        return NORMA_OK;
    NORMA_TRY(norma_claim_isometry(d, d, after, &gap, &rounding));
    out->met = isfinite(gap);
    out->left = exp(-gap);
    out->right = 1;
    out->rounding = rounding + 1e3 * DBL_EPSILON * values[0] / values[d - 1];
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(largest_eigenvalue)
{
    double to[SQUARE], values[WIDTH];
    (void)random;
    memcpy(to, c->x, (size_t)(c->rows * c->columns) * sizeof *to);
    out->met = norma_claim_normalize_rows(c->rows, c->columns, 1, to);
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(norma_claim_singular(c->rows, c->columns, to, values));
    out->left = values[0] * values[0];
    out->right = 1;
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* Eigenvalues exp(x), scaled to sum d: *least and *most of them, *logs = d psi. */
static void spectrum_of(const norma_claim_case *c, double *least, double *most, double *sum_psi)
{
    const int64_t d = c->columns;
    double top = c->x[0], low = c->x[0], sum = 0, logs = 0;
    for (int64_t i = 0; i < d; i++) {
        top = fmax(top, c->x[i]);
        low = fmin(low, c->x[i]);
    }
    for (int64_t i = 0; i < d; i++) {
        sum += exp(c->x[i] - top);
        logs += c->x[i] - top;
    }
    double log_scale = log((double)d) - log(sum); /* log lambda_i = x_i - top + log_scale */
    *least = low - top + log_scale;
    *most = log_scale;
    *sum_psi = fmax(0, -(logs + (double)d * log_scale));
}

/* psi <= c / (16 d) leaves the eigenvalues in [1 - c, 1 + c]: c is the least that psi allows. */
NORMA_CLAIM_SIDES(near_one)
{
    double least, most, sum_psi;
    (void)random;
    spectrum_of(c, &least, &most, &sum_psi);
    out->left = fmax(fabs(expm1(least)), fabs(expm1(most)));
    out->right = 16 * sum_psi;
    out->met = out->right <= 1 && out->left > 1e-6;
    out->rounding = 1e-13;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(near_one_restricted)
{
    NORMA_TRY(norma_claim_sides_near_one(c, random, out));
    out->met = out->met && out->right >= 0.5;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(least_eigenvalue)
{
    double least, most, sum_psi;
    (void)random;
    spectrum_of(c, &least, &most, &sum_psi);
    out->met = true;
    out->left = -least;
    out->right = sum_psi + 1;
    out->rounding = 1e-13 * out->right;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(least_eigenvalue_near)
{
    double least, most, sum_psi;
    (void)random;
    spectrum_of(c, &least, &most, &sum_psi);
    out->met = sum_psi <= 1.0 / 16 && sum_psi > 1e-10;
    out->left = -least;
    out->right = 2 * sqrt(sum_psi);
    out->rounding = 1e-9;
    return NORMA_OK;
}

/* ||J_BN(X)||: the largest singular value of the blocks (1 - x x' / |x|^2) / |x|. */
static norma_status jacobian_norm(const norma_claim_case *c, double *out)
{
    const int64_t n = c->columns;
    double block[SQUARE], values[WIDTH];
    *out = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        const double *x = c->x + i * n;
        double norm = cblas_dnrm2((int)n, x, 1);
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = 0; q < n; q++)
                block[p * n + q] = ((p == q ? 1 : 0) - (x[p] / norm) * (x[q] / norm)) / norm;
        NORMA_TRY(norma_claim_singular(n, n, block, values));
        *out = fmax(*out, values[0]);
    }
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(jacobian)
{
    double values[WIDTH], norm;
    (void)random;
    NORMA_TRY(norma_claim_singular(c->rows, c->columns, c->x, values));
    double least = values[c->rows - 1];
    out->met = least > 1e-8 * values[0];
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(jacobian_norm(c, &norm));
    out->left = norm * norm;
    out->right = 1 / (least * least);
    out->rounding = 1e3 * DBL_EPSILON * out->right * values[0] / least;
    return NORMA_OK;
}

/* log ||J_BN(X)|| <= d psi + 1 for X of trace d: the norm scales with 1 / sqrt(tr / d). */
NORMA_CLAIM_SIDES(log_norm)
{
    double gap, rounding, norm;
    (void)random;
    NORMA_TRY(norma_claim_isometry(c->rows, c->columns, c->x, &gap, &rounding));
    out->met = isfinite(gap);
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(jacobian_norm(c, &norm));
    double size = cblas_dnrm2((int)(c->rows * c->columns), c->x, 1);
    out->left = log(norm) + log(size) - 0.5 * log((double)c->rows);
    out->right = (double)c->rows * gap + 1;
    out->rounding = (double)c->rows * rounding + 1e-12 * (1 + fabs(log(norm)));
    return NORMA_OK;
}

/* A diagonal matrix with one tiny row: where the bound of the Jacobian is nearly met. */
NORMA_CLAIM_DRAW(thin)
{
    norma_claim_draw_square(random, number, out);
    if (number % 2 == 0)
        return;
    for (int64_t i = 0; i < out->rows; i++)
        for (int64_t j = 0; j < out->columns; j++)
            out->x[i * out->columns + j] = i != j   ? 0
                                           : i == 0 ? exp(-21 - 0.1 * (double)number)
                                                    : 1;
}

NORMA_CLAIM_SIDES(least_row)
{
    double values[WIDTH], norms[WIDTH] = {0};
    (void)random;
    NORMA_TRY(norma_claim_singular(c->rows, c->columns, c->x, values));
    row_norms(c->rows, c->columns, c->x, norms);
    double least = values[c->rows - 1], row = norms[0];
    for (int64_t i = 1; i < c->rows; i++)
        row = fmin(row, norms[i]);
    out->met = least > 1e-8 * values[0];
    out->left = least * least;
    out->right = row * row;
    out->rounding = 1e3 * DBL_EPSILON * out->left * values[0] / fmax(least, DBL_MIN);
    return NORMA_OK;
}

/* E I(BN(W X)) against I(X) / (1 - sum (lambda - 1)^2 / (2 d^2 (d + 2))), X = BN(X). */
static norma_status rotated(const norma_claim_case *c, norma_claim_random *random, double *gap,
                            double *gap_after, double *factor)
{
    const int64_t d = c->rows;
    double x[SQUARE], q[SQUARE], after[SQUARE], values[WIDTH], rounding, sum = 0;
    *gap = *gap_after = INFINITY;
    memcpy(x, c->x, (size_t)(d * d) * sizeof *x);
    if (!norma_claim_normalize_rows(d, d, 1, x))
        return NORMA_OK;
    NORMA_TRY(norma_claim_singular(d, d, x, values));
    for (int64_t i = 0; i < d; i++)
        sum += (values[i] * values[i] - 1) * (values[i] * values[i] - 1);
    *factor = 1 - sum / (2 * (double)(d * d * (d + 2)));
    NORMA_TRY(norma_claim_isometry(d, d, x, gap, &rounding));
    NORMA_TRY(norma_claim_haar(random, d, q));
    norma_claim_product(false, false, d, d, d, q, x, after);
    if (!norma_claim_normalize_rows(d, d, 1, after))
        return NORMA_OK;
    return norma_claim_isometry(d, d, after, gap_after, &rounding);
}

NORMA_CLAIM_SIDES(isometry_rise)
{
    double gap, after, factor = 1;
    NORMA_TRY(rotated(c, random, &gap, &after, &factor));
    out->met = isfinite(gap) && isfinite(after);
    out->left = exp(-gap) / factor;
    out->right = exp(-after);
    out->rounding = 1e-10;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(gap_fall)
{
    double gap, after, factor = 1;
    NORMA_TRY(rotated(c, random, &gap, &after, &factor));
    out->met = isfinite(gap) && isfinite(after) && gap > 1e-6;
    out->left = after;
    out->right = gap + log(factor);
    out->rounding = 1e-10;
    return NORMA_OK;
}
