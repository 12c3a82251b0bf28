/* THESIS chapter 3: Gram matrices of chains h := W phi(BN(h)) with centring, near their fixed point
 * G*. */
#include "src/claims/family.h"
#include "src/theory/gram_fluctuation.h"

#include <math.h>

enum { SAMPLES = 4, PAIRS = 6 };

/* n, d, and the activation: 0 relu, 1 tanh. */
NORMA_CLAIM_DRAW(batch)
{
    out->rows = 1;
    out->columns = out->n = 3;
    out->n_free = 0;
    out->x[0] = (double)(3 + number / 2 % 6);
    out->x[1] = floor(out->x[0] * exp(0.2 + 7 * norma_claim_uniform(random)));
    out->x[2] = (double)(number % 2);
}

NORMA_CLAIM_SIDES(level)
{
    const double n = c->x[0], d = c->x[1];
    norma_transfer phi;
    norma_gram_fluctuation found;
    (void)random;
    NORMA_TRY(norma_transfer_parse(c->x[2] > 0 ? "tanh" : "relu", &phi));
    NORMA_TRY(norma_gram_fluctuation_compute(&phi, (int64_t)n, true, &found));
    out->met = isfinite(found.stationary2) && d > n;
    out->left = sqrt(found.stationary2 / d);
    out->right = n / sqrt(d) * sqrt(log(d / n));
    out->rounding = 1e-9;
    return NORMA_OK;
}

/* The entries of G* of tanh, then d. Zero where G* is not found: the hypothesis is not met. */
NORMA_CLAIM_DRAW(gaussian_rows)
{
    static const double widths[3] = {16, 64, 256};
    norma_transfer phi;
    norma_gram_fixed_point found = {.gram = {0, 0}};
    (void)random;
    out->rows = 1;
    out->columns = out->n = 3;
    out->n_free = 0;
    if (norma_transfer_parse("tanh", &phi) == NORMA_OK &&
        norma_gram_map_solve(&phi, SAMPLES, true, 2, &found) != NORMA_OK)
        found.gram = (norma_gram){0, 0};
    out->x[0] = found.gram.diagonal;
    out->x[1] = found.gram.off;
    out->x[2] = widths[number % 3];
}

/* lower[n][n] = the Cholesky factor of g. */
static void factor(double g[SAMPLES][SAMPLES], double lower[SAMPLES][SAMPLES])
{
    for (int i = 0; i < SAMPLES; i++)
        for (int j = 0; j < SAMPLES; j++) {
            double sum = g[i][j];
            for (int k = 0; k < j && j <= i; k++)
                sum -= lower[i][k] * lower[j][k];
            lower[i][j] = j > i ? 0 : j == i ? sqrt(fmax(sum, 0)) : sum / lower[j][j];
        }
}

/* mean[n][n] = the mean of a a' over d rows N(0, lower lower'), a = the row or tanh of BN of it. */
static void gram(norma_claim_random *random, double d, double lower[SAMPLES][SAMPLES], bool layer,
                 double mean[SAMPLES][SAMPLES])
{
    for (int i = 0; i < SAMPLES; i++)
        for (int j = 0; j < SAMPLES; j++)
            mean[i][j] = 0;
    for (int row = 0; row < (int)d; row++) {
        double z[SAMPLES], a[SAMPLES], sum = 0, squares = 0;
        norma_claim_normals(random, SAMPLES, z);
        for (int i = 0; i < SAMPLES; i++) {
            a[i] = 0;
            for (int k = 0; k <= i; k++)
                a[i] += lower[i][k] * z[k];
            sum += a[i] / SAMPLES;
        }
        for (int i = 0; i < SAMPLES; i++)
            squares += (a[i] - sum) * (a[i] - sum) / SAMPLES;
        for (int i = 0; layer && i < SAMPLES; i++)
            a[i] = tanh((a[i] - sum) / sqrt(squares));
        for (int i = 0; i < SAMPLES; i++)
            for (int j = 0; j < SAMPLES; j++)
                mean[i][j] += a[i] * a[j] / d;
    }
}

/* d times the mean squared deviation of the entries off the diagonal, after one layer; for rows
 * N(0, G*) it is G_ii^2 + G_ij^2. */
NORMA_CLAIM_SIDES(variances)
{
    const double diagonal = c->x[0], off = c->x[1], d = c->x[2];
    double g[SAMPLES][SAMPLES], lower[SAMPLES][SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        for (int j = 0; j < SAMPLES; j++)
            g[i][j] = i == j ? diagonal : off;
    out->met = diagonal > 0;
    factor(g, lower);
    gram(random, d, lower, true, g);
    factor(g, lower);
    gram(random, d, lower, false, g);
    out->left = 0;
    for (int i = 1; i < SAMPLES; i++)
        for (int j = 0; j < i; j++)
            out->left += d * (g[i][j] - off) * (g[i][j] - off) / PAIRS;
    out->right = diagonal * diagonal + off * off;
    out->rounding = 1e-9;
    return NORMA_OK;
}
