/* RANK20: H := BN((1 + gamma W) H) over many layers, rows of norm 1 here; M = H H'. */
#include "src/claims/family.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = NORMA_CLAIM_WIDTH,
    SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH,
    SHORT = 3,    /* layers of a chain whose signs are looked at */
    WARM_UP = 10, /* layers before means are taken */
    LAYERS = 30   /* of the means */
};

/* gamma, then d. */
NORMA_CLAIM_DRAW(residual)
{
    out->rows = out->columns = out->n_free = 1;
    out->n = 2;
    out->x[0] = number % 4 == 0 ? 0.99 : norma_claim_uniform(random);
    out->x[1] = number % 4 == 0 ? WIDTH : (double)norma_claim_integer(random, 2, WIDTH);
}

/* The first two columns of a frame in one layer: W is normal in any frame, so that the diagonal of
 * the triangular factor of [e1 e2] + gamma Z has the growth of all layers. */
NORMA_CLAIM_SIDES(second_exponent)
{
    const int64_t d = (int64_t)c->x[1];
    double columns[2 * WIDTH], *first = columns, *second = columns + d;
    norma_claim_normals(random, 2 * d, columns);
    cblas_dscal((int)(2 * d), c->x[0], columns, 1);
    first[0] += 1;
    second[1] += 1;
    double norm = cblas_dnrm2((int)d, first, 1);
    double along = cblas_ddot((int)d, first, 1, second, 1) / norm;
    cblas_daxpy((int)d, -along / norm, first, 1, second, 1);
    out->met = c->x[0] > 0.05;
    out->left = log(cblas_dnrm2((int)d, second, 1));
    out->right = log(norm);
    out->rounding = 1e-10;
    return NORMA_OK;
}

/* d, then gamma. */
static void draw_chain(int64_t d, double gamma, norma_claim_case *out)
{
    out->rows = out->columns = 1;
    out->n = 2;
    out->n_free = 0;
    out->x[0] = (double)d;
    out->x[1] = gamma;
}

NORMA_CLAIM_DRAW(short_chain)
{
    (void)random;
    draw_chain(2 + number % 2, number % 4 < 2 ? 1 : 0.1, out);
}

/* Every fourth case has d = 4, where the sides come nearer than for fewer. */
NORMA_CLAIM_DRAW(full_rank)
{
    int64_t d = number % 4 == 0 ? 4 : norma_claim_size(random, 2, 4, 8);
    draw_chain(d, number % 2 ? 0.5 : 1, out);
}

/* h := BN((1 + gamma W) h), W uniform on [-sqrt 3, sqrt 3]; false where a row vanishes. */
static bool advance(norma_claim_random *random, int64_t d, double gamma, double *h)
{
    double w[SQUARE], next[SQUARE];
    norma_claim_uniforms(random, d * d, w);
    for (int64_t i = 0; i < d * d; i++)
        w[i] = gamma * sqrt(3.0) * (2 * w[i] - 1);
    bool good = norma_claim_residual_layer(d, 1, w, h, next);
    memcpy(h, next, (size_t)(d * d) * sizeof *h);
    return good;
}

static void set_identity(int64_t d, double *h)
{
    memset(h, 0, (size_t)(d * d) * sizeof *h);
    for (int64_t i = 0; i < d; i++)
        h[i * d + i] = 1;
}

NORMA_CLAIM_SIDES(sign_of_overlap)
{
    const int64_t d = (int64_t)c->x[0];
    double h[SQUARE];
    set_identity(d, h);
    out->met = true;
    for (int layer = 0; layer < SHORT; layer++)
        out->met = out->met && advance(random, d, c->x[1], h);
    out->left = cblas_ddot((int)d, h, 1, h + d, 1) > 0 ? 1 : 0;
    out->right = 0.5;
    out->rounding = 1e-12;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(mean_rank)
{
    const int64_t d = (int64_t)c->x[0];
    double h[SQUARE], cubes = 0, squares = 0, n = (double)d;
    set_identity(d, h);
    out->met = true;
    out->right = 0;
    for (int layer = 0; out->met && layer < WARM_UP + LAYERS; layer++) {
        double m[SQUARE], cube, diagonal;
        out->met = advance(random, d, c->x[1], h);
        if (!out->met || layer < WARM_UP)
            continue;
        norma_claim_product(false, true, d, d, d, h, h, m);
        norma_claim_traces(d, m, &cube, &diagonal);
        out->right += n * n / cblas_ddot((int)(d * d), m, 1, m, 1) / LAYERS;
        cubes += cube;
        squares += diagonal;
    }
    out->left = out->met ? sqrt(fmax(1 - squares / cubes, 0) * n) : 0;
    out->rounding = 1e-10;
    return NORMA_OK;
}

/* H = s t' as for Lemma 6, with W and gamma. */
NORMA_CLAIM_DRAW(two_patterns)
{
    norma_claim_draw_rank_one(random, number, out);
}

/* Does M of H, with the sign of its first row as it is or turned, stay the same in one layer? */
static bool stays(const norma_claim_case *c, double sign)
{
    const int64_t d = c->rows;
    double h[SQUARE], next[SQUARE];
    memcpy(h, c->x, (size_t)(d * d) * sizeof *h);
    cblas_dscal((int)d, sign, h, 1);
    if (!norma_claim_normalize_rows(d, d, 1, h) ||
        !norma_claim_residual_layer(d, c->x[2 * d * d], c->x + d * d, h, next))
        return false;
    for (int64_t i = 1; i < d; i++) {
        double before = cblas_ddot((int)d, h, 1, h + i * d, 1);
        double after = cblas_ddot((int)d, next, 1, next + i * d, 1);
        if (!(fabs(before - after) < 1e-10))
            return false;
    }
    return true;
}

/* Two patterns that stay carry two invariant laws: the hypothesis of one law is not met. */
NORMA_CLAIM_SIDES(two_patterns)
{
    double s[WIDTH];
    (void)random;
    NORMA_TRY(norma_claim_singular(c->rows, c->rows, c->x, s));
    out->met = !(stays(c, 1) && stays(c, -1));
    out->left = 2;
    out->right = 0;
    for (int64_t i = 0; i < c->rows; i++)
        out->right += s[i] > 1e-10 * s[0] ? 1 : 0;
    out->rounding = 0;
    return NORMA_OK;
}

/* beta, then ln d. */
NORMA_CLAIM_DRAW(leading)
{
    out->rows = out->columns = 1;
    out->n = out->n_free = 2;
    out->x[0] = number % 2 ? norma_claim_uniform(random) : 0.3 * norma_claim_uniform(random);
    out->x[1] = 20 + 20 * norma_claim_uniform(random);
}

/* Rows of equal norm: alpha = |l|_2^4 / (d |l|_3^3). */
NORMA_CLAIM_SIDES(regularity_of_leading)
{
    const double beta = c->x[0], d = exp(c->x[1]), top = exp(beta * c->x[1]);
    const double rest = (d - top) / (d - 1);
    (void)random;
    out->met = beta > 0.01 && beta < 1 && c->x[1] >= 20 && c->x[1] <= 100;
    double two = top * top + (d - 1) * rest * rest;
    double three = top * top * top + (d - 1) * rest * rest * rest;
    out->left = two * two / (d * three);
    out->right = 0.9;
    out->rounding = 1e-9;
    return NORMA_OK;
}
