/* CNN24 section 2 and EXP23 section 3: sources with frozen weights whose scales make them equal to
 * a target. A pair is W2 [c2][c1][k2], diag(gamma), W1 [c1][c0][k1]; the composed weight at the
 * position k sums over taps p + q = k. */
#include "src/claims/family.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH, SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH };

/* Weights of a pair; the target is [c2][c0][k1 + k2 - 1]. */
typedef struct pair {
    int64_t c2, c1, c0, k2, k1;
    const double *target, *second, *first;
    const double *skip; /* as the target; NULL: none */
} pair;

static int64_t taps_of(const pair *p)
{
    return p->k1 + p->k2 - 1;
}

static int64_t equations_of(const pair *p)
{
    return p->c2 * p->c0 * taps_of(p);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* Target, skip connection where asked, W2, W1; then k1, k2, c1. Targets have zeros or small entries
 * by `number`. */
static void draw_pair(norma_claim_random *random, int64_t number, bool skip, int64_t lost,
                      int64_t added, norma_claim_case *out)
{
    int64_t shape[5], n;
    do { /* beside the pivot of a row there is another weight */
        n = norma_claim_draw_shape(random, shape);
    } while (n == shape[0]);
    const int64_t c2 = shape[0], c0 = shape[2], k2 = shape[3], k1 = shape[4];
    int64_t c1 = n - lost * c2 + added;
    out->rows = c2;
    out->columns = n / c2;
    out->n = 0;
    norma_claim_append_normals(random, n, out);
    for (int64_t i = 0; i < n; i++)
        if (number % 4 == 1 && i % 3 == 1)
            out->x[i] *= number % 8 == 1 ? 0 : 1e-6;
    if (skip)
        norma_claim_append_normals(random, n, out);
    norma_claim_append_normals(random, c1 * (c2 * k2 + c0 * k1), out);
    out->n_free = out->n;
    out->x[out->n++] = (double)k1;
    out->x[out->n++] = (double)k2;
    out->x[out->n++] = (double)c1;
}

NORMA_CLAIM_DRAW(narrow_pair)
{
    draw_pair(random, number, false, 1, 1, out);
}

NORMA_CLAIM_DRAW(wide_pair)
{
    draw_pair(random, number, false, 0, 0, out);
}

NORMA_CLAIM_DRAW(skip_pair)
{
    draw_pair(random, number, true, 1, 0, out);
}

static pair pair_of(const norma_claim_case *c, bool skip)
{
    const double *end = c->x + c->n;
    pair p = {.c2 = c->rows,
              .c1 = (int64_t)end[-1],
              .k1 = (int64_t)end[-3],
              .k2 = (int64_t)end[-2],
              .target = c->x};
    p.c0 = c->columns / taps_of(&p);
    int64_t n = equations_of(&p);
    p.skip = skip ? c->x + n : NULL;
    p.second = c->x + (skip ? 2 : 1) * n;
    p.first = p.second + p.c2 * p.c1 * p.k2;
    return p;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* product[equations][c1]. */
static void compose(const pair *p, double *product)
{
    norma_claim_compose((const int64_t[5]){p->c2, p->c1, p->c0, p->k2, p->k1}, p->second, p->first,
                        product);
}

/* The pivot of a row of the target: its largest entry. */
static int64_t pivot_of(const pair *p, int64_t i)
{
    int64_t width = p->c0 * taps_of(p), at = i * width;
    for (int64_t j = i * width; j < (i + 1) * width; j++)
        at = fabs(p->target[j]) > fabs(p->target[at]) ? j : at;
    return at;
}

/* The system for gamma_1 with gamma_2 removed by the pivots: rows without those of the pivots, and
 * the right side of a skip connection as printed or as it must be. Returns the number of rows. */
static int64_t reduce(const pair *p, const double *product, bool printed, double *matrix,
                      double *right)
{
    int64_t width = p->c0 * taps_of(p), row = 0;
    for (int64_t i = 0; i < p->c2; i++) {
        int64_t pivot = pivot_of(p, i);
        for (int64_t at = i * width; at < (i + 1) * width; at++) {
            if (at == pivot)
                continue;
            double ratio = p->target[at] / p->target[pivot];
            for (int64_t m = 0; m < p->c1; m++)
                matrix[row * p->c1 + m] =
                    product[at * p->c1 + m] - ratio * product[pivot * p->c1 + m];
            right[row] = 0;
            if (p->skip)
                right[row] = printed ? ratio * p->skip[at] : ratio * p->skip[pivot] - p->skip[at];
            row++;
        }
    }
    return row;
}

/* Composed weights of the source with gamma_1, and gamma_2 by the pivots, against the target. The
 * error of gamma_1 is that of elimination: relative to the largest entry and the sum of |gamma|. */
static void compare_pair(const pair *p, const double *product, const double *gamma, bool pivots,
                         norma_claim_sides *out)
{
    int64_t n = equations_of(p), width = n / p->c2;
    double terms = norma_claim_largest(n * p->c1, product) * cblas_dasum((int)p->c1, gamma, 1);
    double sums[WIDTH] = {0}, scale[WIDTH] = {0};
    for (int64_t at = 0; at < n; at++) {
        sums[at] = p->skip ? p->skip[at] : 0;
        scale[at] = fabs(sums[at]) + terms;
        for (int64_t m = 0; m < p->c1; m++)
            sums[at] += product[at * p->c1 + m] * gamma[m];
    }
    for (int64_t i = 0; i < p->c2; i++) {
        int64_t pivot = pivot_of(p, i);
        double factor = pivots ? p->target[pivot] / sums[pivot] : 1 + 0.5 * (double)i;
        double worst = pivots ? 1 + scale[pivot] / fabs(sums[pivot]) : 1;
        for (int64_t at = i * width; at < (i + 1) * width; at++) {
            sums[at] *= factor;
            scale[at] *= fabs(factor) * worst;
        }
    }
    norma_claim_compare(n, sums, p->target, scale, out);
}

/* right[equations] = the target over gamma_2 = 1, 1.5, 2, ... */
static void divide(const pair *p, double *right)
{
    int64_t n = equations_of(p), width = n / p->c2;
    for (int64_t at = 0; at < n; at++) {
        int64_t row = at / width;
        right[at] = p->target[at] / (1 + 0.5 * (double)row);
    }
}

static bool has_target(const pair *p)
{
    for (int64_t i = 0; i < p->c2; i++)
        if (!(fabs(p->target[pivot_of(p, i)]) > 1e-12))
            return false;
    return true;
}

NORMA_CLAIM_SIDES(narrow_pair)
{
    double product[SQUARE], matrix[SQUARE], right[WIDTH], gamma[WIDTH];
    pair p = pair_of(c, false);
    (void)random;
    out->met = has_target(&p);
    if (!out->met)
        return NORMA_OK;
    compose(&p, product);
    int64_t last = reduce(&p, product, true, matrix, right);
    right[last] = norma_claim_largest(equations_of(&p) * p.c1, product);
    for (int64_t m = 0; m < p.c1; m++) /* a solution that is not 0: its sum is 1 */
        matrix[last * p.c1 + m] = right[last];
    out->met = norma_claim_solve(p.c1, matrix, right, gamma);
    if (out->met)
        compare_pair(&p, product, gamma, true, out);
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(wide_pair)
{
    double product[SQUARE], right[WIDTH], gamma[WIDTH];
    pair p = pair_of(c, false);
    int64_t n = equations_of(&p);
    (void)random;
    compose(&p, product);
    divide(&p, right);
    out->met = norma_claim_solve(n, product, right, gamma);
    if (out->met)
        compare_pair(&p, product, gamma, false, out);
    return NORMA_OK;
}

static norma_status skipped(const norma_claim_case *c, bool printed, norma_claim_sides *out)
{
    double product[SQUARE], matrix[SQUARE], right[WIDTH], gamma[WIDTH];
    pair p = pair_of(c, true);
    out->met = has_target(&p);
    if (!out->met)
        return NORMA_OK;
    compose(&p, product);
    int64_t n = reduce(&p, product, printed, matrix, right);
    out->met = norma_claim_regular(n, matrix) && norma_claim_solve(n, matrix, right, gamma);
    if (out->met)
        compare_pair(&p, product, gamma, true, out);
    return NORMA_OK;
}

NORMA_CLAIM_FORM(skip_printed, skipped(c, true, out))
NORMA_CLAIM_FORM(skip_corrected, skipped(c, false, out))

/* --- deeper sources --------------------------------------------------------------------------- */

/* A target of K taps, then a first kernel of at least two: c0 = c1 = 1. */
NORMA_CLAIM_DRAW(thin_cut)
{
    (void)number;
    out->rows = 1;
    out->columns = norma_claim_size(random, 2, 8, WIDTH);
    out->n = 0;
    norma_claim_append_normals(random, out->columns, out);
    norma_claim_append_normals(random, norma_claim_integer(random, 2, out->columns), out);
    out->n_free = out->n;
}

/* The distance of the target from all multiples of the first kernel, relative to its norm. */
NORMA_CLAIM_SIDES(thin_cut)
{
    const int64_t taps = c->columns, n_first = c->n - taps;
    double basis[WIDTH][WIDTH] = {{0}}, rest[WIDTH];
    (void)random;
    memcpy(rest, c->x, (size_t)taps * sizeof *rest);
    double norm = cblas_dnrm2((int)taps, rest, 1);
    for (int64_t shift = 0; shift + n_first <= taps; shift++) {
        double *v = basis[shift];
        memcpy(v + shift, c->x + taps, (size_t)n_first * sizeof *v);
        norma_claim_project_out(taps, shift, WIDTH, basis[0], v);
        double size = cblas_dnrm2((int)taps, v, 1);
        if (!(size > 1e-4 * cblas_dnrm2((int)n_first, c->x + taps, 1)))
            return NORMA_OK;
        cblas_dscal((int)taps, 1 / size, v, 1);
        cblas_daxpy((int)taps, -cblas_ddot((int)taps, v, 1, rest, 1), v, 1, rest, 1);
    }
    out->met = norm > 1e-12;
    out->left = cblas_dnrm2((int)taps, rest, 1) / norm;
    out->right = 0;
    out->rounding = 1e-9;
    return NORMA_OK;
}

/* Target, W3 [c2][c2 c0], W2 [c2 c0][c0], W1 [c0][c0]. */
NORMA_CLAIM_DRAW(dense)
{
    int64_t c2 = norma_claim_integer(random, 1, 4), c0 = norma_claim_integer(random, 1, 3);
    (void)number;
    out->rows = c2;
    out->columns = c0;
    out->n = 0;
    norma_claim_append_normals(random, c2 * c0 * (1 + c2 + c0) + c0 * c0, out);
    out->n_free = out->n;
}

NORMA_CLAIM_SIDES(dense)
{
    const int64_t c2 = c->rows, c0 = c->columns, n = c2 * c0;
    double first[WIDTH * 4], product[SQUARE], gamma[WIDTH];
    const double *third = c->x + n, *second = third + c2 * n;
    (void)random;
    norma_claim_product(false, false, n, c0, c0, second, second + n * c0, first);
    pair p = {.c2 = c2,
              .c1 = n,
              .c0 = c0,
              .k2 = 1,
              .k1 = 1,
              .target = c->x,
              .second = third,
              .first = first};
    double right[WIDTH];
    compose(&p, product);
    divide(&p, right);
    out->met = norma_claim_solve(n, product, right, gamma);
    if (out->met)
        compare_pair(&p, product, gamma, false, out);
    return NORMA_OK;
}
