#include "src/theory/gram_map.h"

#include <gsl/gsl_integration.h>
#include <math.h>

#define HALF_PI 1.57079632679489661923
#define MAX_PANELS 16 /* on one side of pi / 2 */
#define CUT 8.8       /* standard deviations beyond which the angle has no weight */
#define FINE_POINTS 32
#define PIECE_POINTS 20     /* of the shorter panels where psi has a kink */
#define MOST_LOG_RATIO 23.0 /* ln(1e10) */
#define LEAST_RATIO 1e-10

static void add_edge(double *edge, int *n_edges, double offset, double end)
{
    int i = *n_edges;
    if (!(offset > 0 && offset < end) || i >= MAX_PANELS)
        return;
    for (; i > 0 && edge[i - 1] > offset; i--)
        edge[i] = edge[i - 1];
    edge[i] = offset;
    (*n_edges)++;
}

/* Distances from pi / 2 at which panels end: geometric from 1 / sqrt(ratio), where the row's mean
 * changes its sign, and at the angles where one to four coordinates begin to pass 0. */
static int place_edges(int64_t n, bool kinked, double ratio, double *edge)
{
    const double end = fmin(HALF_PI, CUT / sqrt((double)n));
    int n_edges = 0;
    if (ratio > 4)
        for (int k = 0; k < 10; k++)
            add_edge(edge, &n_edges, 2 * pow(8, k) / sqrt(ratio), end);
    for (int64_t q = 1; kinked && q <= 4 && q < n; q++)
        add_edge(edge, &n_edges, HALF_PI - atan(sqrt(ratio * (double)q / (double)(n - q))), end);
    edge[n_edges++] = end;
    return n_edges;
}

/* A node at pi / 2 + offset. */
static void add_node(norma_gram_nodes *out, int64_t n, double ratio, double offset, double weight)
{
    const double side = cos(offset), along = -sin(offset); /* sine and cosine of the angle */
    const double stretched = sqrt(ratio) * along, length2 = stretched * stretched + side * side;
    if (out->n == NORMA_GRAM_MAX_NODES)
        return;
    out->mean[out->n] = stretched / sqrt(length2);
    out->square[out->n] = (double)n * side * side / length2;
    out->weight[out->n] = weight * pow(side, (double)(n - 2));
    out->spread[out->n++] = length2;
}

norma_status norma_gram_nodes_place(int64_t n, bool centered, bool kinked, double ratio, int points,
                                    norma_gram_nodes *out)
{
    double edge[MAX_PANELS + 1], sum = 0;
    out->n = 0;
    if (centered || n == 1) {
        const double means[2] = {centered ? 0 : -1, 1};
        out->n = centered ? 1 : 2;
        for (int i = 0; i < out->n; i++) {
            out->mean[i] = means[i];
            out->square[i] = centered ? (double)n : 0;
            out->weight[i] = 1.0 / out->n;
            out->spread[i] = centered ? (double)(n - 1) / (double)n : 1;
        }
        return NORMA_OK;
    }
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc((size_t)points);
    if (!table)
        return NORMA_FAIL(NORMA_MEMORY, "out of memory in a quadrature");
    int n_edges = place_edges(n, kinked, ratio, edge);
    double from = 0;
    for (int k = 0; k < n_edges; k++) {
        for (size_t i = 0; i < (size_t)points; i++) {
            double angle = 0, w = 0, half = 0.5 * (edge[k] - from);
            (void)gsl_integration_glfixed_point(-HALF_PI, HALF_PI, i, &angle, &w, table);
            double offset = from + half * (1 + sin(angle));
            add_node(out, n, ratio, offset, w * half * cos(angle));
            add_node(out, n, ratio, -offset, w * half * cos(angle));
        }
        from = edge[k];
    }
    gsl_integration_glfixed_table_free(table);
    for (int i = 0; i < out->n; i++)
        sum += out->weight[i];
    for (int i = 0; i < out->n; i++)
        out->weight[i] /= sum;
    return NORMA_OK;
}

double norma_gram_ratio(int64_t n, const norma_gram *gram)
{
    const double across = gram->diagonal - gram->off;
    return n == 1 ? 1 : across > 0 ? 1 + (double)n * gram->off / across : INFINITY;
}

/* All samples equal up to sign: x is (1, ..., 1) or its negative. */
static double collapsed_level(const norma_transfer *phi, double scale)
{
    double plus = norma_transfer_value(phi, scale), minus = norma_transfer_value(phi, -scale);
    return 0.5 * (plus * plus + minus * minus);
}

static norma_status check(int64_t n, bool centered, double radius)
{
    if (n < (centered ? 2 : 1))
        return NORMA_FAIL(
            NORMA_CONFIG, "batch normalization %s needs a batch of at least %d, not %lld",
            centered ? "with centring" : "without centring", centered ? 2 : 1, (long long)n);
    if (!(radius > 0))
        return NORMA_FAIL(NORMA_CONFIG, "the norm of a row must be positive, not %g", radius);
    return NORMA_OK;
}

static norma_status apply(const norma_batch_rule *rule, const norma_transfer *phi, int64_t n,
                          bool centered, double ratio, norma_gram *out)
{
    static const norma_gram zero;
    norma_gram_nodes at;
    const bool kinked = norma_transfer_jump(phi) != 0;
    NORMA_TRY(norma_gram_nodes_place(n, centered, kinked, ratio,
                                     kinked ? PIECE_POINTS : FINE_POINTS, &at));
    *out = zero;
    for (int i = 0; i < at.n; i++) {
        double a2 = 0, aa = 0;
        norma_batch_measure_gram(rule, at.mean[i], at.square[i], &a2, &aa);
        out->diagonal += at.weight[i] * a2;
        out->off += at.weight[i] * aa;
    }
    return NORMA_OK;
}

norma_status norma_gram_map_apply(const norma_transfer *phi, int64_t n, bool centered,
                                  double radius, double ratio, norma_gram *out)
{
    norma_batch_rule *rule = NULL;
    NORMA_TRY(check(n, centered, radius));
    if (!centered && !(ratio >= 0))
        return NORMA_FAIL(NORMA_CONFIG, "a Gram matrix of negative eigenvalue: ratio %g", ratio);
    const double scale = radius / sqrt((double)n);
    if (!centered && isinf(ratio)) {
        out->diagonal = out->off = collapsed_level(phi, scale);
        return NORMA_OK;
    }
    NORMA_TRY(norma_batch_rule_create(phi, scale, n, true, &rule));
    norma_status status = apply(rule, phi, n, centered, ratio, out);
    norma_batch_rule_destroy(&rule);
    return status;
}

/* ln of F's ratio, less ln of its argument's; -infinity where F's is 0. */
static norma_status growth(const norma_batch_rule *rule, const norma_transfer *phi, int64_t n,
                           double log_ratio, double *out)
{
    norma_gram gram;
    NORMA_TRY(apply(rule, phi, n, false, exp(log_ratio), &gram));
    double ratio = norma_gram_ratio(n, &gram);
    *out = ratio < LEAST_RATIO ? -INFINITY : log(ratio) - log_ratio;
    return NORMA_OK;
}

/* The zero of growth nearest to ratio 1 on the side that it points to; 0 or infinity when there is
 * none. */
static norma_status find_ratio(const norma_batch_rule *rule, const norma_transfer *phi, int64_t n,
                               double *ratio)
{
    double near = 0, far = 0, at_near = 0, at_far = 0;
    NORMA_TRY(growth(rule, phi, n, 0, &at_near));
    const double side = at_near < 0 ? -1 : 1;
    bool found = at_near == 0;
    *ratio = found ? 1 : side < 0 ? 0 : INFINITY;
    if (found || isinf(at_near))
        return NORMA_OK;
    for (int k = 0; !found && fabs(near) < MOST_LOG_RATIO; k++) {
        far = near + side * 0.25 * pow(1.5, k);
        NORMA_TRY(growth(rule, phi, n, far, &at_far));
        found = side * at_far <= 0;
        if (!found) {
            near = far;
            at_near = at_far;
        }
    }
    for (int i = 0; found && i < 100; i++) { /* Illinois: false position, halved */
        double middle = (near * at_far - far * at_near) / (at_far - at_near), value = 0;
        NORMA_TRY(growth(rule, phi, n, middle, &value));
        *ratio = exp(middle);
        if (fabs(value) < 1e-15 || fabs(far - near) < 1e-13)
            break;
        if (value * at_far < 0) {
            near = far;
            at_near = at_far;
        } else {
            at_near *= 0.5;
        }
        far = middle;
        at_far = value;
    }
    return NORMA_OK;
}

norma_status norma_gram_map_solve(const norma_transfer *phi, int64_t n, bool centered,
                                  double radius, norma_gram_fixed_point *out)
{
    norma_batch_rule *rule = NULL;
    NORMA_TRY(check(n, centered, radius));
    const double scale = radius / sqrt((double)n);
    *out = (norma_gram_fixed_point){.ratio = centered ? 0 : 1};
    NORMA_TRY(norma_batch_rule_create(phi, scale, n, true, &rule));
    norma_status status = NORMA_OK;
    if (!centered && n > 1 && !norma_transfer_is_odd(phi))
        NORMA_GOTO(status, find_ratio(rule, phi, n, &out->ratio));
    out->collapsed = isinf(out->ratio);
    if (out->collapsed)
        out->gram.diagonal = out->gram.off = collapsed_level(phi, scale);
    else
        NORMA_GOTO(status, apply(rule, phi, n, centered, out->ratio, &out->gram));
    out->collapsed = n > 1 && !(out->gram.diagonal - out->gram.off > 1e-10 * out->gram.diagonal);
done:
    norma_batch_rule_destroy(&rule);
    return status;
}
