/* EXP23 section 3: pairs of layers whose ReLUs are opened by biases, two pairs for a target of low
 * rank, and deep sources that take their input block by block. */
#include "src/claims/family.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH, SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH };

/* gamma[c2 c0] with W2 diag(gamma) W1 = target, W2 [c2][c2 c0], W1 [c2 c0][c0]. *terms bounds what
 * elimination has summed. */
static bool solve_pair(int64_t c2, int64_t c0, const double *target, const double *second,
                       const double *first, double *gamma, double *terms)
{
    const int64_t n = c2 * c0;
    double matrix[SQUARE];
    norma_claim_compose((const int64_t[5]){c2, n, c0, 1, 1}, second, first, matrix);
    bool solved = norma_claim_solve(n, matrix, target, gamma);
    *terms = norma_claim_largest(n * n, matrix) * cblas_dasum((int)n, gamma, 1);
    return solved;
}

/* y[c2] = W2 (relu(gamma o W1 x + b) - b), b the least bias that opens every unit for |x| <= size;
 * scale[c2] bounds its terms and those of an error `terms` in each composed weight. */
static void run_pair(int64_t c2, int64_t c0, const double *second, const double *first,
                     const double *gamma, double terms, double size, const double *x, double *y,
                     double *scale)
{
    const int64_t n = c2 * c0;
    memset(y, 0, (size_t)c2 * sizeof *y);
    for (int64_t i = 0; i < c2; i++)
        scale[i] = terms * cblas_dasum((int)c0, x, 1);
    for (int64_t m = 0; m < n; m++) {
        const double *row = first + m * c0;
        double bias = fabs(gamma[m]) * cblas_dnrm2((int)c0, row, 1) * size;
        double unit = fmax(gamma[m] * cblas_ddot((int)c0, row, 1, x, 1) + bias, 0);
        for (int64_t i = 0; i < c2; i++) {
            y[i] += second[i * n + m] * (unit - bias);
            scale[i] += fabs(second[i * n + m]) * 2 * bias;
        }
    }
}

/* x / max(1, |x|). */
static void into_ball(int64_t n, const double *from, double *x)
{
    double norm = cblas_dnrm2((int)n, from, 1);
    for (int64_t i = 0; i < n; i++)
        x[i] = from[i] / fmax(1, norm);
}

/* Target, W2, W1, x. */
NORMA_CLAIM_DRAW(opened_pair)
{
    int64_t c2 = norma_claim_integer(random, 1, 3), c0 = norma_claim_integer(random, 1, 4);
    out->rows = c2;
    out->columns = c0;
    out->n = 0;
    norma_claim_append_normals(random, c2 * c0 * (1 + c2 + c0) + c0, out);
    out->n_free = out->n;
    for (int64_t i = 0; number % 4 == 1 && i < c2 * c0; i += 2)
        out->x[i] = 0;
}

NORMA_CLAIM_SIDES(opened_pair)
{
    const int64_t c2 = c->rows, c0 = c->columns, n = c2 * c0;
    const double *second = c->x + n, *first = second + c2 * n;
    double gamma[WIDTH], x[WIDTH], y[WIDTH], expected[WIDTH], scale[WIDTH], terms;
    (void)random;
    out->met = solve_pair(c2, c0, c->x, second, first, gamma, &terms);
    if (!out->met)
        return NORMA_OK;
    into_ball(c0, first + n * c0, x);
    run_pair(c2, c0, second, first, gamma, terms, 1, x, y, scale);
    norma_claim_product(false, false, c2, 1, c0, c->x, x, expected);
    norma_claim_compare(c2, y, expected, scale, out);
    return NORMA_OK;
}

/* B [r][c0], then A [c2][r], W2 and W1 of the pair for B, those of the pair for A, x; then r. */
NORMA_CLAIM_DRAW(low_rank)
{
    int64_t r = norma_claim_size(random, 1, 2, 3), c2 = norma_claim_integer(random, 2, 4);
    int64_t c0 = norma_claim_integer(random, 2, 4);
    (void)number;
    out->rows = r;
    out->columns = c0;
    out->n = 0;
    norma_claim_append_normals(random, r * c0 * (1 + r + c0) + c2 * r * (1 + c2 + r) + c0, out);
    out->n_free = out->n;
    out->x[out->n++] = (double)c2;
}

NORMA_CLAIM_SIDES(low_rank)
{
    const int64_t r = c->rows, c0 = c->columns, c2 = (int64_t)c->x[c->n - 1];
    const double *b = c->x, *a = b + r * c0, *inner2 = a + c2 * r, *inner1 = inner2 + r * r * c0;
    const double *outer2 = inner1 + r * c0 * c0, *outer1 = outer2 + c2 * c2 * r;
    const double *input = outer1 + c2 * r * r;
    double gamma[WIDTH], x[WIDTH], middle[WIDTH], scale[WIDTH], more[WIDTH], y[WIDTH];
    double exact[WIDTH], expected[WIDTH], terms;
    (void)random;
    out->met = solve_pair(r, c0, b, inner2, inner1, gamma, &terms);
    if (!out->met)
        return NORMA_OK;
    into_ball(c0, input, x);
    run_pair(r, c0, inner2, inner1, gamma, terms, 1, x, middle, scale);
    for (int64_t i = 0; i < r; i++) { /* the units between the pairs: opened and closed */
        double bias = cblas_dnrm2((int)c0, b + i * c0, 1);
        middle[i] = fmax(middle[i] + bias, 0) - bias;
    }
    out->met = solve_pair(c2, r, a, outer2, outer1, gamma, &terms);
    if (!out->met)
        return NORMA_OK;
    run_pair(c2, r, outer2, outer1, gamma, terms, cblas_dnrm2((int)(r * c0), b, 1), middle, y,
             more);
    double first = scale[cblas_idamax((int)r, scale, 1)];
    for (int64_t i = 0; i < c2; i++)
        more[i] += first * cblas_dasum((int)r, a + i * r, 1);
    norma_claim_product(false, false, r, 1, c0, b, x, exact);
    norma_claim_product(false, false, c2, 1, r, a, exact, expected);
    norma_claim_compare(c2, y, expected, more, out);
    return NORMA_OK;
}

/* Target [d][d], read-out [d][d k], then for each block W [d k][d k] and A [d k][k]; then k. */
NORMA_CLAIM_DRAW(blocks)
{
    static const int64_t sizes[5][2] = {{2, 1}, {3, 1}, {4, 1}, {2, 2}, {4, 2}};
    const int64_t d = sizes[number % 5][0], k = sizes[number % 5][1], width = d * k;
    out->rows = out->columns = d;
    out->n = 0;
    norma_claim_append_normals(random, d * d + d * width + d / k * width * (width + k), out);
    out->n_free = out->n;
    out->x[out->n++] = (double)k;
}

/* left[d][width] := left diag(gamma) W, and sizes by absolute values. */
static void advance(int64_t d, int64_t width, const double *gamma, const double *w, double *left,
                    double *sizes)
{
    double scaled[SQUARE], absolute[SQUARE], weights[SQUARE];
    for (int64_t i = 0; i < d * width; i++) {
        scaled[i] = left[i] * gamma[i % width];
        absolute[i] = sizes[i] * fabs(gamma[i % width]);
    }
    for (int64_t i = 0; i < width * width; i++)
        weights[i] = fabs(w[i]);
    norma_claim_product(false, false, d, width, width, scaled, w, left);
    norma_claim_product(false, false, d, width, width, absolute, weights, sizes);
}

/* Block i of the target by the gammas of layer i: columns i k to (i + 1) k of the source are left
 * diag(gamma) W A. The last block is solved first, for its gammas scale all others. */
NORMA_CLAIM_SIDES(blocks)
{
    const int64_t d = c->rows, k = (int64_t)c->x[c->n - 1], width = d * k, n = d / k;
    const double *layers = c->x + d * d + d * width;
    double left[SQUARE], sizes[SQUARE], source[SQUARE], scale[SQUARE];
    (void)random;
    memcpy(left, c->x + d * d, (size_t)(d * width) * sizeof *left);
    for (int64_t i = 0; i < d * width; i++)
        sizes[i] = fabs(left[i]);
    for (int64_t block = n - 1; block >= 0; block--) {
        const double *w = layers + block * width * (width + k), *a = w + width * width;
        double features[SQUARE], part[SQUARE], matrix[SQUARE], gamma[WIDTH];
        norma_claim_product(false, false, width, k, width, w, a, features);
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < k; j++) {
                part[i * k + j] = c->x[i * d + block * k + j];
                for (int64_t m = 0; m < width; m++)
                    matrix[(i * k + j) * width + m] = left[i * width + m] * features[m * k + j];
            }
        out->met = norma_claim_solve(width, matrix, part, gamma);
        if (!out->met)
            return NORMA_OK;
        double terms =
            norma_claim_largest(width * width, matrix) * cblas_dasum((int)width, gamma, 1);
        advance(d, width, gamma, w, left, sizes);
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < k; j++) {
                int64_t at = i * d + block * k + j;
                source[at] = 0;
                scale[at] = terms;
                for (int64_t m = 0; m < width; m++) {
                    source[at] += left[i * width + m] * a[m * k + j];
                    scale[at] += sizes[i * width + m] * fabs(a[m * k + j]);
                }
            }
    }
    norma_claim_compare(d * d, source, c->x, scale, out);
    return NORMA_OK;
}
