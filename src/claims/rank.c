/* RANK20: ranks of batch-normalized representations, M = H H' / N with rows of norm sqrt(N). */
#include "src/claims/family.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH, SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH };

NORMA_CLAIM_DRAW(any)
{
    int64_t d = norma_claim_size(random, 2, 8, WIDTH);
    norma_claim_draw_matrix(random, number, d, d, out);
}

/* Few numbers, so that many replicas are cheap. */
NORMA_CLAIM_DRAW(small)
{
    bool identity = number % 2 == 0; /* where samples scatter least beside their mean */
    int64_t d = identity ? 3 : norma_claim_integer(random, 2, 3);
    norma_claim_draw_matrix(random, identity ? 0 : 7, d, d, out);
}

/* A square H, then the threshold tau in (0, 1). */
NORMA_CLAIM_DRAW(soft)
{
    norma_claim_draw_any(random, number, out);
    out->x[out->n++] = number % 3 == 0 ? 1e-4 : norma_claim_uniform(random);
}

/* A square H of d to 6, then W uniform on [-sqrt 3, sqrt 3] and gamma, and for soft ranks tau. */
NORMA_CLAIM_DRAW(step)
{
    int64_t d = norma_claim_size(random, 2, 6, WIDTH);
    norma_claim_draw_matrix(random, number, d, d, out);
    for (int64_t i = 0; i < d * d; i++)
        out->x[out->n++] = sqrt(3.0) * (2 * norma_claim_uniform(random) - 1);
    out->x[out->n++] = number % 2 ? 1 : 0.1;
    out->x[out->n++] = 0.1 + 0.8 * norma_claim_uniform(random);
}

/* Rank one with entries +-1: H = s t', and gamma at the lemma's limit 1 / (8 B d). */
NORMA_CLAIM_DRAW(rank_one)
{
    norma_claim_draw_step(random, number, out);
    const int64_t d = out->rows;
    double s[WIDTH];
    for (int64_t i = 0; i < d; i++)
        s[i] = norma_claim_uniform(random) < 0.5 ? -1 : 1;
    for (int64_t j = 0; j < d; j++) {
        double t = norma_claim_normal(random);
        for (int64_t i = 0; i < d; i++)
            out->x[i * d + j] = s[i] * t;
    }
    out->x[2 * d * d] = 1 / (8 * sqrt(3.0) * (double)d);
    out->n_free = 0;
}

/* A circulant H: all rows of M then have the same norm. The case is its first row. */
NORMA_CLAIM_DRAW(circulant)
{
    out->rows = 1;
    out->columns = out->n = out->n_free = norma_claim_size(random, 2, 8, WIDTH);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = (number % 4 == 0 ? 0 : number % 4 == 1 ? 0.1 : 1) * norma_claim_normal(random);
    out->x[0] += (double)(number % 2);
    if (number % 4 == 0)
        out->x[0] = 1;
}

/* Positive numbers of sum d: eigenvalues. */
NORMA_CLAIM_DRAW(spectrum)
{
    norma_claim_draw_circulant(random, number, out);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = number % 4 == 0 ? 1 : exp(2 * out->x[i]);
}

/* M of the normalized H; false where a row vanishes. */
static bool covariance(int64_t d, double *h, double *m)
{
    if (!norma_claim_normalize_rows(d, d, 1, h))
        return false;
    norma_claim_product(false, true, d, d, d, h, h, m);
    return true;
}

static bool circulant_covariance(const norma_claim_case *c, double *h, double *m)
{
    const int64_t d = c->columns;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            h[i * d + j] = c->x[(j + d - i) % d];
    return covariance(d, h, m);
}

/* Sums of powers 2, 3, 4 of the eigenvalues of M = H H', by the singular values of H. */
static norma_status powers(int64_t d, const double *h, double *two, double *three)
{
    double s[WIDTH];
    NORMA_TRY(norma_claim_singular(d, d, h, s));
    *two = *three = 0;
    for (int64_t i = 0; i < d; i++) {
        *two += pow(s[i], 4);
        *three += pow(s[i], 6);
    }
    return NORMA_OK;
}

/* Tr(M)^2 / ||M||_F^2, where both are scale free. */
static double stable_rank(int64_t n, const double *s)
{
    double one = 0, two = 0;
    for (int64_t i = 0; i < n; i++) {
        one += (s[i] / s[0]) * (s[i] / s[0]);
        two += pow(s[i] / s[0], 4);
    }
    return one * one / two;
}

NORMA_CLAIM_SIDES(rank_bound)
{
    double s[WIDTH];
    (void)random;
    NORMA_TRY(norma_claim_singular(c->rows, c->columns, c->x, s));
    out->met = s[0] > 0;
    out->left = out->met ? stable_rank(c->rows, s) : 0;
    out->right = 0;
    for (int64_t i = 0; i < c->rows; i++)
        out->right += s[i] > 100 * DBL_EPSILON * s[0] ? 1 : 0;
    out->rounding = 1e-12;
    return NORMA_OK;
}

static double count_above(int64_t d, const double *s, double tau)
{
    double count = 0;
    for (int64_t i = 0; i < d; i++)
        count += s[i] * s[i] >= tau * (1 - 1e-12) ? 1 : 0;
    return count;
}

NORMA_CLAIM_SIDES(soft_rank_bound)
{
    const int64_t d = c->rows;
    double h[SQUARE], s[WIDTH], tau = c->x[d * d];
    (void)random;
    memcpy(h, c->x, (size_t)(d * d) * sizeof *h);
    out->met = norma_claim_normalize_rows(d, d, 1, h);
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(norma_claim_singular(d, d, h, s));
    out->left = (1 - tau) * (1 - tau) * stable_rank(d, s);
    out->right = count_above(d, s, tau);
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* next = BN((1 + gamma W) H); false where a row vanishes. */
static bool step(const norma_claim_case *c, double *h, double *next)
{
    const int64_t d = c->rows;
    memcpy(h, c->x, (size_t)(d * d) * sizeof *h);
    if (!norma_claim_normalize_rows(d, d, 1, h))
        return false;
    return norma_claim_residual_layer(d, c->x[2 * d * d], c->x + d * d, h, next);
}

NORMA_CLAIM_SIDES(soft_rank_falls)
{
    const int64_t d = c->rows;
    double h[SQUARE], next[SQUARE], s[WIDTH], tau = c->x[2 * d * d + 1];
    (void)random;
    out->met = step(c, h, next);
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(norma_claim_singular(d, d, h, s));
    out->right = count_above(d, s, tau);
    NORMA_TRY(norma_claim_singular(d, d, next, s));
    out->left = count_above(d, s, tau);
    out->rounding = 0.5;
    return NORMA_OK;
}

/* The M of rank one stays: <M+, M> / d^2 = 1 for two sign matrices only if they are equal. */
NORMA_CLAIM_SIDES(rank_one_stays)
{
    const int64_t d = c->rows;
    double h[SQUARE], next[SQUARE], m[SQUARE], after[SQUARE];
    (void)random;
    out->met = step(c, h, next);
    if (!out->met)
        return NORMA_OK;
    norma_claim_product(false, true, d, d, d, h, h, m);
    norma_claim_product(false, true, d, d, d, next, next, after);
    out->left = cblas_ddot((int)(d * d), m, 1, after, 1) / (double)(d * d);
    out->right = 1;
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* delta_F(M) = 2 d^2 - 2 ||M||^2 - 8 Tr M^3 + 8 Tr diag(M^2)^2 (43). */
static double change(int64_t d, const double *m)
{
    double cube, diagonal;
    norma_claim_traces(d, m, &cube, &diagonal);
    return 2 * (double)(d * d) - 2 * cblas_ddot((int)(d * d), m, 1, m, 1) - 8 * cube + 8 * diagonal;
}

NORMA_CLAIM_SIDES(change_by_spectrum)
{
    const int64_t d = c->columns;
    double h[SQUARE], m[SQUARE], two, three, n = (double)d;
    (void)random;
    out->met = circulant_covariance(c, h, m);
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(powers(d, h, &two, &three));
    out->left = change(d, m);
    out->right = 2 * n * n - 2 * two - 8 * three + 8 * two * two / n;
    out->rounding = 1e-10 * n * n * n;
    return NORMA_OK;
}

/* Samples of (E ||M+||^2 - ||M||^2) / gamma^2 by W and -W, without the odd powers of gamma. */
NORMA_CLAIM_SIDES(change_by_layers)
{
    const int64_t d = c->rows;
    double h[SQUARE], m[SQUARE], w[SQUARE], next[SQUARE], product[SQUARE], sum = 0;
    const double gamma = 1e-3;
    memcpy(h, c->x, (size_t)(d * d) * sizeof *h);
    out->met = covariance(d, h, m);
    if (!out->met)
        return NORMA_OK;
    norma_claim_uniforms(random, d * d, w);
    for (int64_t i = 0; i < d * d; i++)
        w[i] = sqrt(3.0) * (2 * w[i] - 1);
    norma_claim_product(false, false, d, d, d, w, h, product);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int64_t i = 0; i < d * d; i++)
            next[i] = h[i] + sign * gamma * product[i];
        out->met = out->met && covariance(d, next, w);
        sum += cblas_ddot((int)(d * d), w, 1, w, 1);
    }
    out->left = (sum / 2 - cblas_ddot((int)(d * d), m, 1, m, 1)) / (gamma * gamma);
    out->right = change(d, m);
    out->rounding = 50 * gamma * gamma * (double)(d * d * d * d);
    return NORMA_OK;
}

/* Example 9: -delta_F >= gamma^2 d^2 where all eigenvalues but the first are gamma^2. */
NORMA_CLAIM_SIDES(example_nine)
{
    const double d = c->x[1], e = c->x[0] * c->x[0];
    const double top = d - e * (d - 1);
    (void)random;
    double two = top * top + (d - 1) * e * e, three = pow(top, 3) + (d - 1) * pow(e, 3);
    out->met = e > 1e-8 && e < 0.05 / d;
    out->left = e * d * d;
    out->right = -(2 * d * d - 2 * two - 8 * three + 8 * two * two / d);
    out->rounding = 1e-14 * d * d * d * d;
    return NORMA_OK;
}

NORMA_CLAIM_DRAW(example_nine)
{
    out->rows = out->columns = out->n_free = 1; /* gamma, then d */
    out->n = 2;
    out->x[0] = 1e-3 * exp(5 * norma_claim_uniform(random));
    out->x[1] = (double)(2 + number % 9);
}

/* With rows of equal norm: Tr diag(M^2)^2 <= Tr M^3, equal only for equal nonzero eigenvalues. */
NORMA_CLAIM_SIDES(regularity)
{
    const int64_t d = c->columns;
    double h[SQUARE], m[SQUARE];
    (void)random;
    out->met = circulant_covariance(c, h, m);
    if (!out->met)
        return NORMA_OK;
    norma_claim_traces(d, m, &out->right, &out->left);
    out->rounding = 1e-12 * out->right;
    return NORMA_OK;
}

/* (56): ||lambda||_2^2 <= sqrt(d ||lambda||_3^3) for sum lambda = d. */
NORMA_CLAIM_SIDES(power_means)
{
    double one = 0, two = 0, three = 0, d = (double)c->n;
    (void)random;
    for (int64_t i = 0; i < c->n; i++)
        one += fabs(c->x[i]);
    out->met = one > 0;
    for (int64_t i = 0; i < c->n; i++) {
        double lambda = fabs(c->x[i]) * d / one;
        two += lambda * lambda;
        three += lambda * lambda * lambda;
    }
    out->left = two;
    out->right = sqrt(d * three);
    out->rounding = 1e-12 * out->right;
    return NORMA_OK;
}

/* Prop. 19: gradients (p - y)_k h of two samples with h = a u: |cosine| = 1. */
NORMA_CLAIM_DRAW(gradients)
{
    (void)number;
    out->rows = 1;
    out->columns = norma_claim_size(random, 2, 8, WIDTH);
    out->n = out->n_free = out->columns + 4;
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = norma_claim_normal(random);
}

NORMA_CLAIM_SIDES(collinear)
{
    const int64_t d = c->columns;
    const double *more = c->x + d; /* factors of the two samples, then logits */
    double g[2][WIDTH];
    (void)random;
    for (int s = 0; s < 2; s++)
        for (int64_t j = 0; j < d; j++)
            g[s][j] = -1 / (1 + exp(more[2 + s])) * (more[s] * c->x[j]);
    double norms = cblas_dnrm2((int)d, g[0], 1) * cblas_dnrm2((int)d, g[1], 1);
    out->met = norms > 1e-12;
    out->left = out->met ? fabs(cblas_ddot((int)d, g[0], 1, g[1], 1)) / norms : 0;
    out->right = 1;
    out->rounding = 1e-12;
    return NORMA_OK;
}
