/* THESIS section 6.2 and appendix C: X := BN(W X) over several layers, W Haar or orthogonal factors
 * that a case holds. psi is the isometry gap. */
#include "src/claims/family.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = NORMA_CLAIM_WIDTH,
    SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH,
    LAYERS = 6,          /* of Jacobians */
    GRADIENT_LAYERS = 4, /* whose weights have gradients */
    MOST = 1000          /* layers until the gap is small */
};

/* The identity with noise, whose gap is about (d - 1) s^2: below 1 / (16 d); then the layers. Every
 * second case has the largest width, where bounds are nearly met. */
NORMA_CLAIM_DRAW(near_samples)
{
    int64_t d = number % 2 ? norma_claim_size(random, 2, 6, WIDTH) : WIDTH;
    double s = (0.2 + 0.8 * norma_claim_uniform(random)) / (5 * (double)d);
    out->rows = out->columns = d;
    out->n = 0;
    norma_claim_append_normals(random, d * d, out);
    for (int64_t i = 0; i < d * d; i++)
        out->x[i] = (i % (d + 1) == 0 ? 1 : 0) + s * out->x[i];
    out->n_free = out->n;
    out->x[out->n++] = (double)(1 + number / 2 % 3);
}

/* Of large gaps. Every second case is nearly collinear, where bounds are nearly met. One
 * direction and a small matrix near the identity add up: no replica comes near a singular matrix.
 */
NORMA_CLAIM_DRAW(far_samples)
{
    if (number % 2) { /* a diagonal matrix, corner 5, has no gap */
        norma_claim_draw_square(random, number % 8 == 5 ? 7 : number, out);
        return;
    }
    int64_t d = norma_claim_integer(random, 4, 6);
    out->rows = out->columns = d;
    out->n = 0;
    norma_claim_append_normals(random, d * d, out);
    for (int64_t i = 0; i < d * d; i++)
        out->x[i] = 1 + 0.5 * (double)(i % d) + 1e-8 * ((i % (d + 1) == 0) + 0.1 * out->x[i]);
    out->n_free = out->n;
}

/* Two samples at an angle; the first case lies just above the threshold. */
NORMA_CLAIM_DRAW(threshold_samples)
{
    double gap =
        number % 2 ? 3 * norma_claim_uniform(random) : 1.0 / 32 + 1e-5 * (double)(1 + number);
    double cosine = sqrt(-expm1(-2 * gap));
    out->rows = out->columns = 2;
    out->n = out->n_free = 4;
    out->x[0] = 1;
    out->x[1] = 0;
    out->x[2] = cosine;
    out->x[3] = sqrt(1 - cosine * cosine);
}

/* X, then `n` further squares. */
static void draw_deep(norma_claim_random *random, int64_t number, int n, norma_claim_case *out)
{
    int64_t d = norma_claim_size(random, 2, 4, 6);
    norma_claim_draw_matrix(random, number, d, d, out);
    norma_claim_append_normals(random, n * d * d, out);
    out->n_free = out->n;
}

NORMA_CLAIM_DRAW(deep_samples)
{
    draw_deep(random, number, LAYERS, out);
}

/* The weights, then the direction of the linear loss. */
NORMA_CLAIM_DRAW(gradient_samples)
{
    draw_deep(random, number, GRADIENT_LAYERS + 1, out);
}

/* *gap = psi of x [d][d], whose rows get norm 1; infinite where it has no rank. */
static norma_status begin(const norma_claim_case *c, double *x, double *gap)
{
    double rounding;
    memcpy(x, c->x, (size_t)(c->rows * c->rows) * sizeof *x);
    *gap = INFINITY;
    if (!norma_claim_normalize_rows(c->rows, c->rows, 1, x))
        return NORMA_OK;
    return norma_claim_isometry(c->rows, c->rows, x, gap, &rounding);
}

/* x := BN(W x), W Haar. */
static norma_status advance(norma_claim_random *random, int64_t d, double *x, double *gap)
{
    double q[SQUARE], next[SQUARE], rounding;
    NORMA_TRY(norma_claim_haar(random, d, q));
    norma_claim_product(false, false, d, d, d, q, x, next);
    *gap = INFINITY;
    if (!norma_claim_normalize_rows(d, d, 1, next))
        return NORMA_OK;
    memcpy(x, next, (size_t)(d * d) * sizeof *x);
    return norma_claim_isometry(d, d, x, gap, &rounding);
}

NORMA_CLAIM_SIDES(two_layers)
{
    const double d = (double)c->rows;
    double x[SQUARE], gap, after = INFINITY;
    NORMA_TRY(begin(c, x, &gap));
    for (int layer = 0; layer < 2 && isfinite(gap); layer++)
        NORMA_TRY(advance(random, c->rows, x, &after));
    out->met = isfinite(gap) && isfinite(after) && gap > 1e-6;
    out->left = after;
    out->right = gap * exp(-1 / fmax(2 * d * d, 32 * d * d * d * gap));
    out->rounding = 1e-10;
    return NORMA_OK;
}

static norma_status one_layer(const norma_claim_case *c, norma_claim_random *random, bool near,
                              norma_claim_sides *out)
{
    const double d = (double)c->rows;
    double x[SQUARE], gap, after = INFINITY;
    NORMA_TRY(begin(c, x, &gap));
    out->met = isfinite(gap) && gap > 1e-6 && near == (gap <= 1 / (16 * d));
    if (!out->met)
        return NORMA_OK;
    NORMA_TRY(advance(random, c->rows, x, &after));
    out->met = isfinite(after);
    out->left = after;
    out->right = near ? gap * (1 - 1 / (2 * d * d)) : gap - 1 / (32 * d * d * d);
    out->rounding = 1e-10;
    return NORMA_OK;
}

NORMA_CLAIM_FORM(gap_near, one_layer(c, random, true, out))
NORMA_CLAIM_FORM(gap_far, one_layer(c, random, false, out))

NORMA_CLAIM_SIDES(stopping_time)
{
    const double d = (double)c->rows;
    double x[SQUARE], gap;
    int layers = 0;
    NORMA_TRY(begin(c, x, &gap));
    out->met = isfinite(gap) && gap > 1 / (16 * d);
    for (double now = gap; out->met && now > 1 / (16 * d) && layers < MOST; layers++)
        NORMA_TRY(advance(random, c->rows, x, &now));
    out->left = layers;
    out->right = 512 * pow(d, 4) * gap * gap;
    out->rounding = 1e-10;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(second_phase)
{
    const double d = (double)c->rows, n_layers = c->x[c->n - 1];
    double x[SQUARE], gap, after = INFINITY;
    NORMA_TRY(begin(c, x, &gap));
    out->met = isfinite(gap) && gap > 1e-6 && gap <= 1 / (16 * d);
    out->left = 0;
    for (int layer = 0; out->met && layer < (int)n_layers; layer++) {
        NORMA_TRY(advance(random, c->rows, x, &after));
        out->met = isfinite(after);
        out->left += sqrt(d * fmax(after, 0));
    }
    double slow = 32 * pow(d, 4);
    out->right = slow * sqrt(d * gap) * -expm1(-n_layers / slow);
    out->rounding = 1e-10;
    return NORMA_OK;
}

/* h = W x with the orthogonal factor of the case's square `layer`, stored in w; rows to norm 1 in x
 * and their norms before. False where something vanishes. */
static bool step(const norma_claim_case *c, int layer, double *w, double *x, double *norms)
{
    const int64_t d = c->rows;
    double h[SQUARE];
    const double *raw = c->x + (layer + 1) * d * d;
    if (!norma_claim_regular(d, raw) || !norma_claim_orthogonalize(d, raw, w))
        return false;
    norma_claim_product(false, false, d, d, d, w, x, h);
    for (int64_t i = 0; i < d; i++)
        norms[i] = cblas_dnrm2((int)d, h + i * d, 1);
    memcpy(x, h, (size_t)(d * d) * sizeof *x);
    return norma_claim_normalize_rows(d, d, 1, x);
}

/* ||J_BN|| is the largest 1 / norm of a row: a projection of norm 1 over it. */
NORMA_CLAIM_SIDES(log_norms)
{
    const double d = (double)c->rows;
    double x[SQUARE], w[SQUARE], norms[WIDTH], gap;
    (void)random;
    NORMA_TRY(begin(c, x, &gap));
    out->met = gap < 30;
    out->left = 0;
    for (int layer = 0; out->met && layer < LAYERS; layer++) {
        out->met = step(c, layer, w, x, norms);
        double least = norms[0];
        for (int64_t i = 1; out->met && i < c->rows; i++)
            least = fmin(least, norms[i]);
        out->left -= out->met ? log(least) : 0;
    }
    out->right = pow(d, 5) * (pow(fmax(gap, 0), 3) - expm1(-LAYERS / (32 * pow(d, 4))));
    out->rounding = 1e-9;
    return NORMA_OK;
}

/* v := W' (v off x, over the norms): the gradient before a layer; *norm = that of its weights. */
static void go_back(int64_t d, const double *w, const double *x, const double *before,
                    const double *norms, double *v, double *norm)
{
    double h[SQUARE], weights[SQUARE];
    for (int64_t i = 0; i < d; i++) {
        const double *row = x + i * d;
        double along = cblas_ddot((int)d, v + i * d, 1, row, 1);
        for (int64_t j = 0; j < d; j++)
            h[i * d + j] = (v[i * d + j] - along * row[j]) / norms[i];
    }
    norma_claim_product(false, true, d, d, d, h, before, weights);
    *norm = cblas_dnrm2((int)(d * d), weights, 1);
    norma_claim_product(true, false, d, d, d, w, h, v);
}

/* The largest of the layers. */
NORMA_CLAIM_SIDES(log_gradients)
{
    const int64_t d = c->rows;
    double x[GRADIENT_LAYERS + 1][SQUARE], w[GRADIENT_LAYERS][SQUARE];
    double norms[GRADIENT_LAYERS][WIDTH], v[SQUARE], gap, most = 0;
    (void)random;
    NORMA_TRY(begin(c, x[0], &gap));
    out->met = gap < 30;
    for (int layer = 0; out->met && layer < GRADIENT_LAYERS; layer++) {
        memcpy(x[layer + 1], x[layer], sizeof x[layer]);
        out->met = step(c, layer, w[layer], x[layer + 1], norms[layer]);
    }
    if (!out->met)
        return NORMA_OK;
    memcpy(v, c->x + (GRADIENT_LAYERS + 1) * d * d, (size_t)(d * d) * sizeof *v);
    double size = cblas_dnrm2((int)(d * d), v, 1);
    cblas_dscal((int)(d * d), 1 / size, v, 1);
    for (int layer = GRADIENT_LAYERS - 1; layer >= 0; layer--) {
        double norm = 0;
        go_back(d, w[layer], x[layer + 1], x[layer], norms[layer], v, &norm);
        most = fmax(most, norm);
    }
    out->met = size > 1e-12 && most > 0;
    out->left = log(most);
    out->right = pow((double)d, 5) * (pow(fmax(gap, 0), 3) + 1);
    out->rounding = 1e-9;
    return NORMA_OK;
}
