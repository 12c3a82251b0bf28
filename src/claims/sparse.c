/* EXP23 Thm 3 and RF section 4: weights that are masked at random. Masks are small enough to sum
 * over all of them. */
#include "src/claims/family.h"

#include <math.h>
#include <string.h>

enum { WIDTH = NORMA_CLAIM_WIDTH, SQUARE = NORMA_CLAIM_WIDTH * NORMA_CLAIM_WIDTH, PLACES = 16 };

static double bit(norma_claim_random *random, double probability)
{
    return norma_claim_uniform(random) < probability ? 1 : 0;
}

/* --- rank ------------------------------------------------------------------------------------- */

NORMA_CLAIM_DRAW(width)
{
    out->rows = out->columns = out->n = out->n_free = 1;
    out->x[0] = floor(2 * exp(14 * norma_claim_uniform(random) * (number % 2 ? 1 : 0.2)));
}

/* 2 d^2 rows and columns without zeros of a mask of density p have the probability
 * (1 - (1 - p)^d)^(2 d^2): the p at which that is 1 - 1 / d. */
NORMA_CLAIM_SIDES(dead_features)
{
    const double d = c->x[0];
    (void)random;
    out->met = d >= 2 && d < 1e8;
    double empty = -expm1(log1p(-1 / d) / (2 * d * d)); /* (1 - p)^d */
    out->left = -expm1(log(empty) / d);
    out->right = sqrt(log(d) / d);
    return NORMA_OK;
}

/* W2 [c2][c1][k2] and W1 [c1][c0][k1] of c1 = c2 c0 K channels, their masks; then k2, k1, c0. */
NORMA_CLAIM_DRAW(masked_pair)
{
    static const double densities[3] = {0.35, 0.5, 0.7};
    int64_t shape[5], n = norma_claim_draw_shape(random, shape);
    const int64_t c2 = shape[0], c0 = shape[2], k2 = shape[3], k1 = shape[4];
    int64_t n_weights = n * (c2 * k2 + c0 * k1);
    out->rows = c2;
    out->columns = n * k2;
    out->n = 0;
    norma_claim_append_normals(random, n_weights, out);
    out->n_free = out->n;
    for (int64_t i = 0; i < n_weights; i++)
        out->x[out->n++] = bit(random, densities[number % 3]);
    out->x[out->n++] = (double)k2;
    out->x[out->n++] = (double)k1;
    out->x[out->n++] = (double)c0;
}

/* An augmenting path for column m of the support. */
static bool augment(int64_t n, const double *support, int64_t m, int *partner, bool *seen)
{
    for (int64_t i = 0; i < n; i++) {
        if (!(support[i * n + m] > 0) || seen[i])
            continue;
        seen[i] = true;
        if (partner[i] < 0 || augment(n, support, partner[i], partner, seen)) {
            partner[i] = (int)m;
            return true;
        }
    }
    return false;
}

static double matching_of(int64_t n, const double *support)
{
    int partner[WIDTH], size = 0;
    for (int64_t i = 0; i < n; i++)
        partner[i] = -1;
    for (int64_t m = 0; m < n; m++) {
        bool seen[WIDTH] = {false};
        size += augment(n, support, m, partner, seen) ? 1 : 0;
    }
    return size;
}

NORMA_CLAIM_SIDES(support_rank)
{
    const double *end = c->x + c->n;
    const int64_t k2 = (int64_t)end[-3], k1 = (int64_t)end[-2], c0 = (int64_t)end[-1];
    const int64_t c1 = c->columns / k2, n_second = c->rows * c->columns;
    const int64_t n_weights = n_second + c1 * c0 * k1;
    const int64_t shape[5] = {c->rows, c1, c0, k2, k1};
    double weights[NORMA_CLAIM_NUMBERS], product[SQUARE], support[SQUARE], s[WIDTH];
    (void)random;
    for (int64_t i = 0; i < n_weights; i++)
        weights[i] = c->x[i] * c->x[n_weights + i];
    norma_claim_compose(shape, weights, weights + n_second, product);
    norma_claim_compose(shape, c->x + n_weights, c->x + n_weights + n_second, support);
    NORMA_TRY(norma_claim_singular(c1, c1, product, s));
    out->met = true;
    out->left = 0;
    for (int64_t i = 0; i < c1; i++)
        out->left += s[i] > 1e-13 * s[0] ? 1 : 0;
    out->right = matching_of(c1, support);
    out->rounding = 0;
    return NORMA_OK;
}

/* p, then d, then which of the d^2 places belong to S. */
NORMA_CLAIM_DRAW(places)
{
    const int64_t d = norma_claim_integer(random, 2, 4);
    const double density = norma_claim_uniform(random);
    out->rows = out->columns = out->n_free = 1;
    out->x[0] = number % 2 ? norma_claim_uniform(random) : exp(-5 * norma_claim_uniform(random));
    out->x[1] = (double)d;
    for (int64_t i = 0; i < d * d; i++)
        out->x[2 + i] = bit(random, density);
    if (number % 4 == 0) /* one place alone */
        for (int64_t i = 0; i < d * d; i++)
            out->x[2 + i] = i == 0 ? 1 : 0;
    out->n = 2 + d * d;
}

/* P(sum over l of u_l sum of v_j, j in A_l, = 0), A_l the bits of row l. */
static double nothing_left(int64_t d, double p, const unsigned *rows)
{
    double sum = 0;
    for (unsigned u = 0; u < 1u << d; u++) {
        unsigned united = 0;
        for (int64_t l = 0; l < d; l++)
            united |= u >> l & 1 ? rows[l] : 0;
        int ones = __builtin_popcount(u);
        sum += pow(p, ones) * pow(1 - p, (int)d - ones + __builtin_popcount(united));
    }
    return sum;
}

/* Bits and lengths of the rows of S; how many places it has. */
static int64_t read_places(const norma_claim_case *c, unsigned *rows, int64_t *lengths)
{
    const int64_t d = (int64_t)c->x[1];
    int64_t n = 0;
    for (int64_t l = 0; l < d; l++) {
        rows[l] = 0;
        for (int64_t j = 0; j < d; j++)
            rows[l] |= c->x[2 + l * d + j] > 0 ? 1u << j : 0;
        lengths[l] = __builtin_popcount(rows[l]);
        n += lengths[l];
    }
    return n;
}

NORMA_CLAIM_SIDES(places)
{
    const int64_t d = (int64_t)c->x[1];
    const double p = c->x[0], q = p * p / (2 * (double)d);
    unsigned rows[PLACES];
    int64_t lengths[PLACES] = {0}, n = read_places(c, rows, lengths);
    (void)random;
    out->met = p > 1e-3 && p <= 1 && n > 0;
    out->left = nothing_left(d, p, rows);
    out->right = pow(1 - q, (double)n);
    out->rounding = 1e-13;
    return NORMA_OK;
}

NORMA_CLAIM_SIDES(places_step)
{
    const int64_t d = (int64_t)c->x[1];
    const double p = c->x[0];
    unsigned rows[PLACES];
    int64_t lengths[PLACES] = {0}, n = read_places(c, rows, lengths), h = 0, above;
    (void)random;
    do { /* the smallest h of at most h rows of at least h places */
        h++;
        above = 0;
        for (int64_t l = 0; l < d; l++)
            above += lengths[l] >= h ? 1 : 0;
    } while (above > h);
    for (int64_t l = 0; l < d; l++)
        rows[l] = (1u << lengths[l]) - 1; /* all rows from the left, for the largest overlap */
    double side = pow(1 - p, (double)h);
    out->met = p > 1e-3 && p < 1 && n > 0;
    out->left = nothing_left(d, p, rows);
    out->right = side * (2 - side);
    out->rounding = 1e-13;
    return NORMA_OK;
}

/* --- matching --------------------------------------------------------------------------------- */

/* p, then c2 and c0, then the places of the target. */
static void draw_target(norma_claim_random *random, int64_t number, bool disjoint,
                        norma_claim_case *out)
{
    const int64_t c2 = norma_claim_integer(random, 2, 3), c0 = norma_claim_integer(random, 2, 3);
    out->rows = out->columns = out->n_free = 1;
    out->x[0] = norma_claim_uniform(random);
    out->x[1] = (double)c2;
    out->x[2] = (double)c0;
    out->n = 3 + c2 * c0;
    for (int64_t i = 0; i < c2; i++)
        for (int64_t j = 0; j < c0; j++) {
            double own = bit(random, 0.5);
            if (disjoint)
                own = i == j ? 1 : 0;
            else if (number % 4 == 0) /* one row alone: there the bound is attained */
                own = i == 0 ? own : 0;
            out->x[3 + i * c0 + j] = own;
        }
}

NORMA_CLAIM_DRAW(target_mask)
{
    draw_target(random, number, false, out);
}

NORMA_CLAIM_DRAW(disjoint_mask)
{
    draw_target(random, number, true, out);
}

/* Does some order of the rows fit? Rows are sets of bits. */
static bool fits(int64_t c2, const unsigned *target, const unsigned *features)
{
    for (int o = 0; o < (c2 == 2 ? 2 : 6); o++) {
        bool all = true;
        for (int64_t i = 0; i < c2; i++)
            all = all && (target[i] & ~features[norma_claim_orders[o][i]]) == 0;
        if (all)
            return true;
    }
    return false;
}

NORMA_CLAIM_SIDES(match_probability)
{
    const int64_t c2 = (int64_t)c->x[1], c0 = (int64_t)c->x[2], n = c2 * c0;
    const double p = c->x[0];
    unsigned target[3] = {0}, row = (1u << c0) - 1;
    (void)random;
    out->met = p > 0.01 && p < 1;
    out->left = 0;
    out->right = 1;
    for (int64_t i = 0; i < c2; i++) {
        for (int64_t j = 0; j < c0; j++)
            target[i] |= c->x[3 + i * c0 + j] > 0 ? 1u << j : 0;
        int degree = __builtin_popcount(target[i]);
        out->right *= -expm1((double)c2 * log1p(-pow(p, degree)));
    }
    for (unsigned mask = 0; mask < 1u << n; mask++) {
        unsigned features[3] = {mask & row, mask >> c0 & row, mask >> 2 * c0 & row};
        int ones = __builtin_popcount(mask);
        if (fits(c2, target, features))
            out->left += pow(p, ones) * pow(1 - p, (int)n - ones);
    }
    out->rounding = 1e-12 * out->right;
    return NORMA_OK;
}

/* q, p, delta; then c0. */
NORMA_CLAIM_DRAW(candidates)
{
    out->rows = 1;
    out->columns = out->n_free = 3;
    out->n = 4;
    for (int i = 0; i < 3; i++)
        out->x[i] = 0.05 + 0.9 * norma_claim_uniform(random);
    out->x[3] = (double)norma_claim_integer(random, 2, 60);
    if (number == 0) {
        out->x[0] = 0.2;
        out->x[1] = 0.8;
        out->x[2] = 0.2;
        out->x[3] = 50;
    }
}

/* 1 - delta against the probability that one of the k candidates holds the row. */
NORMA_CLAIM_SIDES(candidates)
{
    const double q = c->x[0], p = c->x[1], delta = c->x[2], c0 = c->x[3];
    (void)random;
    out->met = q > 0.01 && q < 0.99 && p > 0.01 && p < 0.99 && delta > 0.01 && delta < 0.99;
    if (!out->met)
        return NORMA_OK;
    double k = ceil(log(delta) / log1p(-pow(1 - q * (1 - p), c0)) - 1e-9);
    out->left = 1 - delta;
    out->right = 0;
    double share = pow(1 - q, c0); /* of rows with D places */
    for (int64_t i = 0; i <= (int64_t)c0; i++) {
        double degree = (double)i;
        out->right += share * -expm1(k * log1p(-pow(p, degree)));
        share *= (c0 - degree) / (degree + 1) * q / (1 - q);
    }
    out->met = k < 1e12;
    out->rounding = 1e-9;
    return NORMA_OK;
}
