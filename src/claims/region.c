/* CNN24 Thm 2.4: tanh and sigmoid near 0 in place of the identity. */
#include "src/claims/family.h"

#include <math.h>

enum { WIDTH = NORMA_CLAIM_WIDTH };

/* y - tanh(y) for 0 <= y <= 1 without cancellation. */
static double excess_of_tanh(double y)
{
    if (y > 0.1)
        return y - tanh(y);
    double s = y * y;
    return y * s * (1.0 / 3 - s * (2.0 / 15 - s * (17.0 / 315 - s * (62.0 / 2835))));
}

/* ln Q_1, ln Q_2, ln eps; then 0 for tanh, 1 for sigmoid. */
NORMA_CLAIM_DRAW(scales)
{
    out->rows = 1;
    out->columns = out->n_free = 3;
    out->n = 4;
    out->x[0] = 4 * norma_claim_uniform(random) - 1;
    out->x[1] = 4 * norma_claim_normal(random);
    out->x[2] = -12 * norma_claim_uniform(random);
    out->x[3] = (double)(number % 2);
}

/* The largest error of the activation on [-Q_1, Q_1], times Q_2 / (gamma m), against eps. */
static norma_status scaled(const norma_claim_case *c, bool printed, norma_claim_sides *out)
{
    const bool sigmoid = c->x[3] > 0;
    double q1 = exp(c->x[0]), q2 = exp(c->x[1]), eps = exp(c->x[2]);
    double cubic = printed ? 1 : q1 * q1 * q1;
    double gamma = fmin(sqrt((sigmoid ? 12 : 3) * eps / (q2 * cubic)), 1 / q1), y = gamma * q1;
    /* sigmoid(y) - 1/2 = tanh(y / 2) / 2 */
    double error = sigmoid ? 0.5 * excess_of_tanh(y / 2) : excess_of_tanh(y);
    out->met = y > 1e-6 && fabs(c->x[0]) < 20 && fabs(c->x[1]) < 20 && fabs(c->x[2]) < 20;
    out->left = q2 * error / (gamma * (sigmoid ? 0.25 : 1));
    out->right = eps;
    out->rounding = 1e-9 * (out->left + eps);
    return NORMA_OK;
}

NORMA_CLAIM_FORM(scales_printed, scaled(c, true, out))
NORMA_CLAIM_FORM(scales_corrected, scaled(c, false, out))

/* W2 [channels][taps], then the scaled weights gamma_1 w_1 [channels] of one input channel. */
NORMA_CLAIM_DRAW(taps)
{
    out->rows = norma_claim_size(random, 1, 4, WIDTH);
    out->columns = norma_claim_size(random, 1, 3, 6);
    out->n = out->n_free = out->rows * (out->columns + 1);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = norma_claim_normal(random);
    if (number % 4 == 0)
        for (int64_t i = 0; i < out->n; i++)
            out->x[i] = 1;
}

/* The error of the output at inputs -1 and 1, whichever is the worse at each tap, with tanh at
 * gamma = 1 / (2 Q_1), m = 1; eps is the smallest that the hypothesis allows. */
static norma_status tapped(const norma_claim_case *c, bool sum, norma_claim_sides *out)
{
    const double *first = c->x + c->rows * c->columns;
    double q1 = 0, q2 = 0;
    for (int64_t i = 0; i < c->rows; i++)
        q1 = fmax(q1, fabs(first[i]));
    out->met = q1 > 1e-6 && q1 < 1e6;
    if (!out->met)
        return NORMA_OK;
    double gamma = 0.5 / q1;
    out->left = 0;
    for (int64_t k = 0; k < c->columns; k++) {
        double error = 0, weights = 0;
        for (int64_t i = 0; i < c->rows; i++) {
            double part = excess_of_tanh(gamma * fabs(first[i])) / gamma;
            error += c->x[i * c->columns + k] * copysign(part, first[i]);
            weights += fabs(c->x[i * c->columns + k]);
        }
        out->left += fabs(error);
        q2 = sum ? q2 + weights : fmax(q2, weights);
    }
    out->right = q2 * excess_of_tanh(0.5) / gamma;
    out->rounding = 1e-10 * (out->left + out->right);
    return NORMA_OK;
}

NORMA_CLAIM_FORM(largest_tap, tapped(c, false, out))
NORMA_CLAIM_FORM(all_taps, tapped(c, true, out))
