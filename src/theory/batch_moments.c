#include "src/theory/batch_moments.h"

#include "src/base/mem.h"

#include <gsl/gsl_integration.h>
#include <math.h>
#include <string.h>

#define MAX_POINTS 128 /* of a Gauss-Gegenbauer rule */
#define MAX_NODES 320  /* of a rule in pieces */
#define MAX_LEVELS 4
#define MAX_SPLITS 8
/* standard deviations beyond which a coordinate has no weight */
#define FINE_CUT 8.8
#define COARSE_CUT 7.0
/* Up to this dimension coarse rules are split where the range of a coordinate touches the kinks of
 * later ones; beyond, what is not differentiable there has no weight. */
#define TANGENT_LIMIT 8
#define HALF_PI 1.57079632679489661923
#define FINE_DEGREE 60
#define COARSE_DEGREE 24

void dstev_(const char *jobz, const int *n, double *d, double *e, double *z, const int *ldz,
            double *work, int *info);

struct norma_batch_rule {
    const norma_transfer *psi;
    double scale;
    int64_t n;
    bool kinked, fine;
    double cut;
    int n_points; /* of a Gauss-Gegenbauer rule, or of one piece */
    double node[MAX_LEVELS][MAX_POINTS], weight[MAX_LEVELS][MAX_POINTS];
    double piece_node[MAX_POINTS], piece_weight[MAX_POINTS]; /* on [-1, 1] */
};

/* n_left coordinates remain, with this mean and sum of squared deviations. */
typedef struct row {
    int64_t n_left;
    double mean, square;
} row;

typedef struct nodes {
    int n;
    double x[MAX_NODES], weight[MAX_NODES];
} nodes;

/* The Gauss rule of the density ~ (1 - t^2)^power, power >= -1/2, by Golub and Welsch. */
static norma_status gauss_gegenbauer(double power, int n, double *node, double *weight)
{
    double side[MAX_POINTS], work[2 * MAX_POINTS], *vectors = NULL;
    const double lambda = power + 0.5;
    int info = 0;
    NORMA_TRY(NORMA_ALLOC(vectors, (int64_t)n * n));
    for (int k = 0; k < n; k++) {
        double j = k + 1;
        node[k] = 0;
        side[k] = k == 0 ? sqrt(0.5 / (1 + lambda))
                         : sqrt(j * (j + 2 * lambda - 1) / (4 * (j + lambda) * (j + lambda - 1)));
    }
    dstev_("V", &n, node, side, vectors, &n, work, &info);
    for (int k = 0; k < n; k++)
        weight[k] = vectors[(int64_t)k * n] * vectors[(int64_t)k * n];
    norma_mem_free(vectors);
    return info == 0 ? NORMA_OK
                     : NORMA_FAIL(NORMA_LIBRARY, "LAPACK's dstev: info = %d in a Gauss rule", info);
}

static norma_status fill_pieces(norma_batch_rule *rule)
{
    gsl_integration_glfixed_table *table =
        gsl_integration_glfixed_table_alloc((size_t)rule->n_points);
    if (!table)
        return NORMA_FAIL(NORMA_MEMORY, "out of memory in a quadrature");
    /* a substitution that makes square roots at both ends of a piece differentiable */
    for (int i = 0; i < rule->n_points; i++) {
        double angle = 0, w = 0;
        (void)gsl_integration_glfixed_point(-HALF_PI, HALF_PI, (size_t)i, &angle, &w, table);
        rule->piece_node[i] = sin(angle);
        rule->piece_weight[i] = w * cos(angle);
    }
    gsl_integration_glfixed_table_free(table);
    return NORMA_OK;
}

norma_status norma_batch_rule_create(const norma_transfer *psi, double scale, int64_t n, bool fine,
                                     norma_batch_rule **out)
{
    norma_status status = NORMA_OK;
    norma_batch_rule *rule = NULL;
    int degree = 0;
    const int most = fine ? FINE_DEGREE : COARSE_DEGREE;
    if (norma_transfer_is_polynomial(psi, &degree) && degree > most)
        return NORMA_FAIL(NORMA_CONFIG,
                          "activation of Hermite degree %d: moments over a batch are computed up "
                          "to degree %d",
                          degree, most);
    NORMA_TRY(NORMA_CALLOC(rule, 1));
    rule->psi = psi;
    rule->scale = scale;
    rule->n = n;
    rule->fine = fine;
    rule->cut = fine ? FINE_CUT : COARSE_CUT;
    rule->kinked = norma_transfer_jump(psi) != 0;
    if (rule->kinked) {
        rule->n_points = fine ? 40 : n <= TANGENT_LIMIT ? 12 : 16;
        NORMA_GOTO(status, fill_pieces(rule));
    } else {
        /* a degree of 4 k + 2 exactly, and tanh to the accuracy wanted */
        rule->n_points = fine ? 64 : 28;
        if (2 * degree + 2 > rule->n_points)
            rule->n_points = 2 * degree + 2;
        for (int level = 0; level < MAX_LEVELS && n - level >= 3; level++)
            NORMA_GOTO(status, gauss_gegenbauer(0.5 * (double)(n - level - 4), rule->n_points,
                                                rule->node[level], rule->weight[level]));
    }
    *out = rule;
    return NORMA_OK;
done:
    norma_batch_rule_destroy(&rule);
    return status;
}

void norma_batch_rule_destroy(norma_batch_rule **rule)
{
    NORMA_FREE(*rule);
}

static double value(const norma_batch_rule *rule, double x)
{
    return norma_transfer_value(rule->psi, rule->scale * x);
}

static double slope(const norma_batch_rule *rule, double x)
{
    return rule->scale * norma_transfer_slope(rule->psi, rule->scale * x);
}

/* Angles, t = sin(angle). */
static void add_split(double *split, int *n_splits, double t, double end)
{
    int i = *n_splits;
    double angle = fabs(t) < 1 ? asin(t) : HALF_PI;
    if (!(fabs(angle) < end))
        return;
    for (; i > 0 && split[i - 1] > angle; i--)
        split[i] = split[i - 1];
    split[i] = angle;
    (*n_splits)++;
}

/* Where the coordinate passes 0, and where its range ends once 1, ..., n_later of the other
 * coordinates are 0: integrals over those have a kink there. */
static int find_splits(const norma_batch_rule *rule, const row *r, double reach, int n_later,
                       double end, double *split)
{
    int n_splits = 0;
    const double total = r->mean * (double)r->n_left;
    const double squares = r->square + total * r->mean;
    add_split(split, &n_splits, -r->mean / reach, end);
    if (!rule->fine && r->n_left > TANGENT_LIMIT)
        return n_splits;
    for (int q = 1; q <= n_later && r->n_left - q >= 2; q++) {
        double left = (double)(r->n_left - q), mean = total / left;
        double square = squares - total * mean;
        if (square <= 0)
            break;
        double range = sqrt(square * (left - 1) / left);
        add_split(split, &n_splits, (mean - range - r->mean) / reach, end);
        add_split(split, &n_splits, (mean + range - r->mean) / reach, end);
    }
    return n_splits;
}

/* Between the splits, with weights that sum to 1: the angle has density ~ cos(angle)^(n - 3). */
static void place_pieces(const norma_batch_rule *rule, const row *r, double reach, int n_later,
                         nodes *out)
{
    double split[MAX_SPLITS + 2], sum = 0, from = 0;
    const double power = (double)(r->n_left - 3);
    const double end = fmin(HALF_PI, rule->cut / sqrt((double)r->n_left));
    int n_splits = find_splits(rule, r, reach, n_later, end, split);
    split[n_splits++] = end;
    from = -end;
    out->n = 0;
    for (int s = 0; s < n_splits; s++) {
        double half = 0.5 * (split[s] - from), middle = 0.5 * (split[s] + from);
        for (int i = 0; i < rule->n_points && half > 0; i++) {
            double angle = middle + half * rule->piece_node[i];
            double w = half * rule->piece_weight[i] * pow(cos(angle), power);
            out->x[out->n] = r->mean + reach * sin(angle);
            out->weight[out->n++] = w;
            sum += w;
        }
        from = split[s];
    }
    for (int i = 0; i < out->n; i++)
        out->weight[i] /= sum;
}

/* The first of the row's remaining coordinates; n_later more follow in the integral. */
static void place_nodes(const norma_batch_rule *rule, const row *r, int n_later, nodes *out)
{
    const double left = (double)r->n_left, reach = sqrt(r->square * (left - 1) / left);
    const int64_t level = rule->n - r->n_left;
    if (r->n_left == 1 || reach == 0) {
        out->n = 1;
        out->x[0] = r->mean;
        out->weight[0] = 1;
    } else if (r->n_left == 2) {
        out->n = 2;
        out->x[0] = r->mean - reach;
        out->x[1] = r->mean + reach;
        out->weight[0] = out->weight[1] = 0.5;
    } else if (rule->kinked) {
        place_pieces(rule, r, reach, n_later, out);
    } else {
        out->n = rule->n_points;
        for (int i = 0; i < out->n; i++) {
            out->x[i] = r->mean + reach * rule->node[level][i];
            out->weight[i] = rule->weight[level][i];
        }
    }
}

/* The other coordinates' row, given that one is x. */
static row given(const row *r, double x)
{
    double left = (double)r->n_left, off = x - r->mean;
    double square = r->square - off * off * left / (left - 1);
    row rest = {r->n_left - 1, r->mean - off / (left - 1), square > 0 ? square : 0};
    return rest;
}

void norma_batch_measure_gram(const norma_batch_rule *rule, double mean, double square, double *a2,
                              double *aa)
{
    const row whole = {rule->n, mean, square};
    nodes first, second;
    *a2 = 0;
    *aa = 0;
    place_nodes(rule, &whole, 1, &first);
    for (int i = 0; i < first.n; i++) {
        double a = value(rule, first.x[i]), b = 0;
        *a2 += first.weight[i] * a * a;
        if (rule->n < 2 || a == 0)
            continue;
        const row rest = given(&whole, first.x[i]);
        place_nodes(rule, &rest, 0, &second);
        for (int j = 0; j < second.n; j++)
            b += second.weight[j] * value(rule, second.x[j]);
        *aa += first.weight[i] * a * b;
    }
}

void norma_batch_measure_pair(const norma_batch_rule *rule, double mean, double square,
                              norma_batch_pair *out)
{
    const row whole = {rule->n, mean, square};
    nodes first, second;
    *out = (norma_batch_pair){0};
    place_nodes(rule, &whole, 1, &first);
    for (int i = 0; i < first.n; i++) {
        double x = first.x[i], w = first.weight[i], a = value(rule, x), q = slope(rule, x);
        double wa = w * a, wq = w * q;
        out->a2 += wa * a;
        out->a2x += wa * a * x;
        out->a2xx += wa * a * x * x;
        out->a4 += wa * a * a * a;
        out->q2 += wq * q;
        out->q2x += wq * q * x;
        out->q2xx += wq * q * x * x;
        if (rule->n < 2)
            continue;
        double b = 0, bb = 0, bx = 0, p = 0, px = 0;
        const row rest = given(&whole, x);
        place_nodes(rule, &rest, 0, &second);
        for (int j = 0; j < second.n; j++) {
            double y = second.x[j], v = second.weight[j], c = value(rule, y);
            double va = v * c, vq = v * slope(rule, y);
            b += va;
            bb += va * c;
            bx += va * y;
            p += vq;
            px += vq * y;
        }
        out->aa += wa * b;
        out->aax += wa * b * x;
        out->aaxx += wa * b * x * x;
        out->aaxy += wa * x * bx;
        out->a31 += wa * a * a * b;
        out->a22 += wa * a * bb;
        out->qq += wq * p;
        out->qqx += wq * p * x;
        out->qqxy += wq * x * px;
    }
}

/* E a_1 ... a_k over a row. */
static double mean_product(const norma_batch_rule *rule, const row *r, int k)
{
    nodes at;
    double sum = 0;
    place_nodes(rule, r, k - 1, &at);
    for (int i = 0; i < at.n; i++) {
        double term = at.weight[i] * value(rule, at.x[i]);
        if (k > 1 && term != 0) {
            const row rest = given(r, at.x[i]);
            term *= mean_product(rule, &rest, k - 1);
        }
        sum += term;
    }
    return sum;
}

void norma_batch_measure_products(const norma_batch_rule *rule, double mean, double square,
                                  double *a211, double *a1111)
{
    const row whole = {rule->n, mean, square};
    nodes at;
    *a211 = 0;
    *a1111 = 0;
    if (rule->n < 3)
        return;
    place_nodes(rule, &whole, 3, &at);
    for (int i = 0; i < at.n; i++) {
        double a = value(rule, at.x[i]);
        const row rest = given(&whole, at.x[i]);
        if (a == 0)
            continue;
        *a211 += at.weight[i] * a * a * mean_product(rule, &rest, 2);
        if (rule->n >= 4)
            *a1111 += at.weight[i] * a * mean_product(rule, &rest, 3);
    }
}
