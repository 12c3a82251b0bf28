/* THESIS chapter 2 and appendix A: V(H) = || H'H / ||H||_F^2 - 1 / n ||_F and the least singular
 * value of H with ||H||_F = 1, hatV = 1 / n - sigma_n^2. A case holds singular values. */
#include "src/claims/family.h"
#include "src/theory/lyapunov.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH };

NORMA_CLAIM_DRAW(values)
{
    out->rows = 1;
    out->columns = out->n = out->n_free = norma_claim_size(random, 2, 8, WIDTH);
    for (int64_t i = 0; i < out->n; i++)
        out->x[i] = norma_claim_normal(random);
    if (number % 4 == 0) /* one apart from equal others */
        for (int64_t i = 1; i < out->n; i++)
            out->x[i] = number % 8 == 0 ? 0.2 : 0;
    if (number % 8 == 0) {
        out->columns = out->n = out->n_free = 8;
        for (int64_t i = 1; i < out->n; i++)
            out->x[i] = 0.2;
    }
    if (number % 8 == 4)
        out->columns = out->n = out->n_free = 2;
}

/* Two values, of which every second case has one that vanishes: there sides come together. */
NORMA_CLAIM_DRAW(two_values)
{
    out->rows = 1;
    out->columns = out->n = out->n_free = 2;
    out->x[0] = 1;
    out->x[1] = number % 2 ? norma_claim_uniform(random) : 0;
}

/* Six equal values, or any. */
NORMA_CLAIM_DRAW(six_values)
{
    out->rows = 1;
    out->columns = out->n = out->n_free = 6;
    for (int64_t i = 0; i < 6; i++)
        out->x[i] = number % 2 ? norma_claim_normal(random) : 1;
}

/* squares[n] = the squared values, of sum 1; *least = the smallest. */
static bool squares_of(const norma_claim_case *c, double *squares, double *least)
{
    double sum = 0;
    *least = 1;
    for (int64_t i = 0; i < c->n; i++)
        sum += c->x[i] * c->x[i];
    for (int64_t i = 0; i < c->n; i++) {
        squares[i] = c->x[i] * c->x[i] / sum;
        *least = fmin(*least, squares[i]);
    }
    return sum > 0 && isfinite(sum);
}

static double gap_of(int64_t n, const double *squares)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (squares[i] - 1 / (double)n) * (squares[i] - 1 / (double)n);
    return sqrt(sum);
}

NORMA_CLAIM_SIDES(gap_by_least)
{
    double squares[WIDTH], least;
    (void)random;
    out->met = squares_of(c, squares, &least);
    out->left = gap_of(c->n, squares);
    out->right = 2 * (double)c->n * (1 / (double)c->n - least);
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* W2^2 of the laws of W H and G / sqrt(n): sum of (sigma - 1 / sqrt(n))^2. */
NORMA_CLAIM_SIDES(wasserstein)
{
    double squares[WIDTH], least, n = (double)c->n;
    (void)random;
    out->met = squares_of(c, squares, &least);
    out->left = 0;
    for (int64_t i = 0; i < c->n; i++)
        out->left += pow(sqrt(squares[i]) - 1 / sqrt(n), 2);
    out->right = 2 * n * gap_of(c->n, squares);
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* m[n][n] = the mean of d products u u', u = w o sigma made a unit vector. */
static void covariance(norma_claim_random *random, int64_t d, int64_t n, const double *squares,
                       double *m)
{
    double u[WIDTH];
    memset(m, 0, (size_t)(n * n) * sizeof *m);
    for (int64_t k = 0; k < d; k++) {
        double sum = 0;
        norma_claim_normals(random, n, u);
        for (int64_t i = 0; i < n; i++) {
            u[i] *= sqrt(squares[i]);
            sum += u[i] * u[i];
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                m[i * n + j] += u[i] * u[j] / sum / (double)d;
    }
}

/* E ||C - E C||_F^2 by two copies: half of the squared distance. */
NORMA_CLAIM_SIDES(concentration)
{
    enum { D = 8 };
    double squares[WIDTH], least, a[WIDTH * WIDTH], b[WIDTH * WIDTH];
    out->met = squares_of(c, squares, &least);
    covariance(random, D, c->n, squares, a);
    covariance(random, D, c->n, squares, b);
    out->left = 0;
    for (int64_t i = 0; i < c->n * c->n; i++)
        out->left += (a[i] - b[i]) * (a[i] - b[i]) / 2;
    out->right = 1.0 / D;
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* E hatV of the next layer, d = 12, for two samples. */
NORMA_CLAIM_SIDES(contraction)
{
    enum { D = 12 };
    double squares[WIDTH], least, m[4];
    out->met = c->n == 2 && squares_of(c, squares, &least);
    if (!out->met)
        return NORMA_OK;
    covariance(random, D, 2, squares, m);
    double half = (m[0] - m[3]) / 2;
    out->left = sqrt(half * half + m[1] * m[1]); /* 1 / 2 - least eigenvalue, trace 1 */
    out->right = (1 - 2.0 / 3 * least) * (0.5 - least) + 1 / sqrt((double)D);
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* 1 / n - p_n, p_n = E sigma_n^2 w_n^2 / sum sigma^2 w^2, for the least value. */
NORMA_CLAIM_SIDES(contraction_mean)
{
    double squares[WIDTH] = {0}, least, w[WIDTH] = {0}, sum = 0, n = (double)c->n;
    out->met = squares_of(c, squares, &least);
    int64_t at = 0;
    norma_claim_normals(random, c->n, w);
    for (int64_t i = 0; i < c->n; i++) {
        at = squares[i] < squares[at] ? i : at;
        sum += squares[i] * w[i] * w[i];
    }
    out->left = 1 / n - squares[at] * w[at] * w[at] / sum;
    out->right = (1 - 2.0 / 3 * least) * (1 / n - least);
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* n singular values, then d and the number of layers. */
NORMA_CLAIM_DRAW(chain)
{
    int64_t n = norma_claim_size(random, 2, 4, 8);
    out->rows = 1;
    out->columns = out->n_free = n;
    out->n = n + 2;
    for (int64_t i = 0; i < n; i++)
        out->x[i] = number % 2 ? norma_claim_normal(random) : 1;
    out->x[n] = (double)norma_claim_integer(random, n, 60);
    out->x[n + 1] = (double)norma_claim_integer(random, 1, 4);
}

/* V after some layers, in the frame of the singular vectors of each. */
NORMA_CLAIM_SIDES(chain_gap)
{
    const int64_t n = c->columns;
    const double d = c->x[n], layers = c->x[n + 1], alpha = 1 / sqrt((double)n);
    double squares[WIDTH] = {0}, m[WIDTH * WIDTH], sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += c->x[i] * c->x[i];
    out->met = sum > 0;
    for (int64_t i = 0; i < n; i++)
        squares[i] = c->x[i] * c->x[i] / sum;
    for (int layer = 0; out->met && layer <= (int)layers; layer++) {
        covariance(random, (int64_t)d, n, squares, m);
        NORMA_TRY(norma_claim_singular(n, n, m, squares));
    }
    out->left = gap_of(n, squares);
    out->right = 2 * pow(1 - 2 * alpha / 3, layers) + 3 * (double)n / (alpha * sqrt(d));
    out->rounding = 1e-10;
    return NORMA_OK;
}

/* Two values, equal in every second case: there the sides come nearest. */
NORMA_CLAIM_DRAW(near_values)
{
    norma_claim_draw_two_values(random, number, out);
    out->x[1] = number % 2 ? out->x[1] : 1;
}

/* p_2 = sigma_2 / (sigma_1 + sigma_2) for two samples, since w_1 / w_2 is Cauchy. */
NORMA_CLAIM_SIDES(prediction)
{
    enum { D = 12 };
    double squares[WIDTH] = {0}, least, m[4];
    out->met = c->n == 2 && squares_of(c, squares, &least);
    if (!out->met)
        return NORMA_OK;
    covariance(random, D, 2, squares, m);
    double half = (m[0] - m[3]) / 2, gap = sqrt(half * half + m[1] * m[1]);
    double share = sqrt(least) / (sqrt(least) + sqrt(1 - least));
    out->left = (gap - (0.5 - share)) * (gap - (0.5 - share));
    out->right = 1.0 / D;
    out->rounding = 1e-12;
    return NORMA_OK;
}

/* d, then i. */
NORMA_CLAIM_DRAW(frame)
{
    int64_t d = norma_claim_size(random, 3, 8, WIDTH);
    out->rows = out->columns = 1;
    out->n = 2;
    out->n_free = 0;
    out->x[0] = number ? (double)d : 8;
    out->x[1] = number ? (double)norma_claim_integer(random, 1, d) : 1;
}

/* One layer in the frame of the chain's vectors, where W is normal again: the growth of sigma_i is
 * the entry i of the triangular factor's diagonal. */
static norma_status grow(const norma_claim_case *c, norma_claim_random *random, double factor,
                         norma_claim_sides *out)
{
    const int64_t d = (int64_t)c->x[0], last = (int64_t)c->x[1];
    double columns[WIDTH * WIDTH] = {0}, norm = 0;
    norma_claim_normals(random, d * last, columns);
    for (int64_t k = 0; k < last; k++) {
        double *column = columns + k * d;
        for (int64_t s = 0; s < k; s++) {
            const double *before = columns + s * d;
            cblas_daxpy((int)d, -cblas_ddot((int)d, before, 1, column, 1), before, 1, column, 1);
        }
        norm = cblas_dnrm2((int)d, column, 1);
        cblas_dscal((int)d, 1 / norm, column, 1);
    }
    out->met = true;
    out->left = 2 * log(norm);
    out->right = factor * norma_lyapunov_gaussian(d, last, 1);
    out->rounding = 1e-10;
    return NORMA_OK;
}

NORMA_CLAIM_FORM(growth_printed, grow(c, random, 1, out))
NORMA_CLAIM_FORM(growth, grow(c, random, 2, out))
