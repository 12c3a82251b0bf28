#include "src/theory/gram_fluctuation.h"

#include <math.h>
#include <string.h>

#define SMALL_BATCH 8 /* up to which the outer integral is split at kinks as well */

/* E a_i a_j z_k z_l over a row, by which indices are equal: that is all that permutations leave. */
typedef struct quartic {
    double iiii, iikk, iiik, iikl; /* i = j:  z_i^2, z_k^2, z_i z_k, z_k z_l */
    double ijii, ijij, ijkk, ijik, ijkl;
} quartic;

/* Sums over the nodes of the outer integral. */
typedef struct integrals {
    double a2, aa;         /* G* */
    quartic derivative;    /* with weight omega and z = G*^-1 h: h^T G*^-1 D G*^-1 h */
    double trace, sum;     /* E omega sum z_i^2, E omega (sum z_i)^2 */
    quartic noise;         /* with z = a */
    double gradient[2][2]; /* of I and 11^T: trace and sum of the matrix that they become */
} integrals;

int64_t norma_gram_multiplicity(norma_gram_kind kind, int64_t n)
{
    switch (kind) {
    case NORMA_GRAM_SCALAR:
        return 1;
    case NORMA_GRAM_VECTOR:
        return n - 1;
    default:
        return n > 3 ? n * (n - 3) / 2 : 0;
    }
}

/* z = shift + slope x with given sums over all coordinates; pair: means given the row's mean. What
 * needs more coordinates than there are is 0. */
static void add_derivative(int64_t n, const norma_batch_pair *p, double shift, double slope,
                           double z_sum, double z_squares, double weight, quartic *out)
{
    const double count = (double)n, s = shift, g = slope;
    const double az = s * p->a2 + g * p->a2x;
    const double azz = s * s * p->a2 + 2 * s * g * p->a2x + g * g * p->a2xx;
    const double bz = s * p->aa + g * p->aax;
    const double bzz = s * s * p->aa + 2 * s * g * p->aax + g * g * p->aaxx;
    const double bzy = s * s * p->aa + 2 * s * g * p->aax + g * g * p->aaxy;
    out->iiii += weight * azz;
    if (n >= 2) {
        out->iikk += weight * (z_squares * p->a2 - azz) / (count - 1);
        out->iiik += weight * (z_sum * az - azz) / (count - 1);
        out->ijii += weight * bzz;
        out->ijij += weight * bzy;
    }
    if (n >= 3) {
        double rest = (z_sum * z_sum - z_squares) * p->a2 - 2 * z_sum * az + 2 * azz;
        out->iikl += weight * rest / ((count - 1) * (count - 2));
        out->ijkk += weight * (z_squares * p->aa - 2 * bzz) / (count - 2);
        out->ijik += weight * (z_sum * bz - bzz - bzy) / (count - 2);
    }
    if (n >= 4) {
        double rest = (z_sum * z_sum - z_squares) * p->aa - 4 * z_sum * bz + 4 * bzz + 2 * bzy;
        out->ijkl += weight * rest / ((count - 2) * (count - 3));
    }
}

static void add_noise(const norma_batch_pair *p, double a211, double a1111, double weight,
                      quartic *out)
{
    out->iiii += weight * p->a4;
    out->iikk += weight * p->a22;
    out->iiik += weight * p->a31;
    out->iikl += weight * a211;
    out->ijii += weight * p->a31;
    out->ijij += weight * p->a22;
    out->ijkk += weight * a211;
    out->ijik += weight * a211;
    out->ijkl += weight * a1111;
}

/* Trace and sum of E P_x D M D P_x for M = I and 11^T, D = diag(q), P_x the projection off x, and
 * off the ones when centered; the row's mean is given. */
static void add_gradient(int64_t n, bool centered, const norma_batch_pair *p, double mean,
                         double weight, double out[2][2])
{
    const double count = (double)n, pairs = count * (count - 1);
    const double q_q = count * p->q2, sum_q2 = count * p->q2 + pairs * p->qq;
    const double xq2 = count * p->q2xx + pairs * p->qqxy;
    const double cross = count * p->q2x + pairs * p->qqx; /* (1'q)(x'q) */
    out[0][0] += weight * (q_q - p->q2xx - (centered ? p->q2 : 0));
    out[1][0] += weight * (q_q - xq2 / count - (centered ? sum_q2 / count : 0));
    if (centered)
        return;
    out[0][1] += weight * count * (p->q2 - 2 * mean * p->q2x + mean * mean * p->q2xx);
    out[1][1] += weight * (sum_q2 - 2 * mean * cross + mean * mean * xq2);
}

/* The three blocks of E (a^T E1 a)(z^T E2 z) over the bases. */
static void make_blocks(int64_t n, const quartic *k, double out[NORMA_N_GRAM_KINDS][2][2])
{
    const double c = (double)n, root = sqrt(c - 1), vector = n > 2 ? sqrt(2 * (c - 2)) : 0;
    memset(out, 0, sizeof(double[NORMA_N_GRAM_KINDS][2][2]));
    double(*scalar)[2] = out[NORMA_GRAM_SCALAR], (*mixed)[2] = out[NORMA_GRAM_VECTOR];
    scalar[0][0] = k->iiii + (c - 1) * k->iikk;
    scalar[0][1] = root * (2 * k->iiik + (c - 2) * k->iikl);
    scalar[1][0] = root * (2 * k->ijii + (c - 2) * k->ijkk);
    scalar[1][1] = 2 * k->ijij + 4 * (c - 2) * k->ijik + (c - 2) * (c - 3) * k->ijkl;
    mixed[0][0] = k->iiii - k->iikk;
    mixed[0][1] = vector * (k->iiik - k->iikl);
    mixed[1][0] = vector * (k->ijii - k->ijkk);
    if (n > 2)
        mixed[1][1] = 2 * (k->ijij + (c - 4) * k->ijik - (c - 3) * k->ijkl);
    if (n > 3)
        out[NORMA_GRAM_TRACELESS][0][0] = 2 * (k->ijij - 2 * k->ijik + k->ijkl);
}

/* Subtracts from the scalar block the product of means: of a^T E1 a, and of z^T E2 z, which has the
 * given sum of squares and square of the sum. */
static void subtract_means(int64_t n, double a2, double aa, double squares, double square_of_sum,
                           double block[2][2])
{
    const double c = (double)n, root = sqrt(c * (c - 1));
    const double left[2] = {sqrt(c) * a2, root * aa};
    const double right[2] = {squares / sqrt(c), n > 1 ? (square_of_sum - squares) / root : 0};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            block[i][j] -= left[i] * right[j];
}

static double spectral_radius(double m[2][2])
{
    const double half = 0.5 * (m[0][0] + m[1][1]), difference = 0.5 * (m[0][0] - m[1][1]);
    const double square = difference * difference + m[0][1] * m[1][0];
    if (square >= 0)
        return fabs(half) + sqrt(square);
    return sqrt(half * half - square);
}

static void multiply(double a[2][2], double b[2][2], bool transposed, double out[2][2])
{
    double product[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            product[i][j] = a[i][0] * (transposed ? b[j][0] : b[0][j]) +
                            a[i][1] * (transposed ? b[j][1] : b[1][j]);
    memcpy(out, product, sizeof product);
}

/* S = J S J^T + C by doubling: S_2k = S_k + J^k S_k J^kT. */
static void solve_stationary(double j[2][2], double c[2][2], double s[2][2])
{
    double power[2][2], term[2][2];
    if (!(spectral_radius(j) < 1)) {
        for (int i = 0; i < 4; i++)
            s[i / 2][i % 2] = c[i / 2][i % 2] == 0 ? 0 : INFINITY;
        return;
    }
    memcpy(power, j, sizeof power);
    memcpy(s, c, sizeof power);
    for (int step = 0; step < 60; step++) {
        multiply(power, s, false, term);
        multiply(term, power, true, term);
        for (int i = 0; i < 4; i++)
            s[i / 2][i % 2] += term[i / 2][i % 2];
        multiply(power, power, false, power);
    }
}

/* Leading eigenvalue of the map of a I + b 11^T: trace n (a + b), sum n (a + n b). */
static double gradient_growth(int64_t n, double image[2][2])
{
    const double c = (double)n;
    double m[2][2];
    for (int j = 0; j < 2; j++) {
        double trace = image[j][0] / c, sum = image[j][1] / c; /* a + b, a + n b */
        double b = n > 1 ? (sum - trace) / (c - 1) : 0;
        m[0][j] = trace - b;
        m[1][j] = b;
    }
    return spectral_radius(m);
}

/* Adds a node of the outer integral. z = G*^-1 h is (mean / (a ratio)) 1 + (x - mean) / a. */
static void add_node(const norma_batch_rule *fine, const norma_batch_rule *coarse, int64_t n,
                     bool centered, const norma_gram_fixed_point *fixed, const norma_gram_nodes *at,
                     int i, integrals *sums)
{
    const double across = n == 1 ? fixed->gram.diagonal : fixed->gram.diagonal - fixed->gram.off;
    const double mean = at->mean[i], square = at->square[i], weight = at->weight[i];
    const double along = centered ? 0 : mean / (across * fixed->ratio);
    const double omega = across * at->spread[i], dimension = (double)(centered ? n - 1 : n);
    norma_batch_pair p;
    double a211 = 0, a1111 = 0;
    norma_batch_measure_pair(fine, mean, square, &p);
    sums->a2 += weight * p.a2;
    sums->aa += weight * p.aa;
    double z_sum = (double)n * along;
    double z_squares = (double)n * along * along + square / (across * across);
    add_derivative(n, &p, along - mean / across, 1 / across, z_sum, z_squares, weight * omega,
                   &sums->derivative);
    sums->trace += weight * omega * z_squares;
    sums->sum += weight * omega * z_sum * z_sum;
    if (coarse)
        norma_batch_measure_products(coarse, mean, square, &a211, &a1111);
    add_noise(&p, a211, a1111, weight, &sums->noise);
    if (dimension > 2)
        add_gradient(n, centered, &p, mean, weight * dimension / (omega * (dimension - 2)),
                     sums->gradient);
}

static void finish(int64_t n, bool centered, integrals *sums, norma_gram_fluctuation *out)
{
    make_blocks(n, &sums->derivative, out->derivative);
    subtract_means(n, sums->a2, sums->aa, sums->trace, sums->sum,
                   out->derivative[NORMA_GRAM_SCALAR]);
    make_blocks(n, &sums->noise, out->noise);
    subtract_means(n, sums->a2, sums->aa, (double)n * sums->a2,
                   (double)n * (sums->a2 + (double)(n - 1) * sums->aa),
                   out->noise[NORMA_GRAM_SCALAR]);
    for (int k = 0; k < NORMA_N_GRAM_KINDS; k++) {
        const double times = (double)norma_gram_multiplicity((norma_gram_kind)k, n);
        for (int i = 0; i < 4; i++)
            out->derivative[k][i / 2][i % 2] *= 0.5;
        solve_stationary(out->derivative[k], out->noise[k], out->stationary[k]);
        out->contraction[k] = times > 0 ? spectral_radius(out->derivative[k]) : NAN;
        if (times == 0)
            continue;
        out->one_layer2 += times * (out->noise[k][0][0] + out->noise[k][1][1]);
        out->stationary2 += times * (out->stationary[k][0][0] + out->stationary[k][1][1]);
    }
    out->gradient_rate =
        (centered ? n - 1 : n) > 2 ? 0.5 * log(gradient_growth(n, sums->gradient)) : INFINITY;
}

norma_status norma_gram_fluctuation_compute(const norma_transfer *phi, int64_t n, bool centered,
                                            norma_gram_fluctuation *out)
{
    norma_status status = NORMA_OK;
    norma_batch_rule *fine = NULL, *coarse = NULL;
    const bool kinked = norma_transfer_jump(phi) != 0;
    char name[NORMA_TRANSFER_NAME];
    norma_gram_nodes at;
    integrals sums;
    *out = (norma_gram_fluctuation){0};
    memset(&sums, 0, sizeof sums);
    NORMA_TRY(norma_gram_map_solve(phi, n, centered, sqrt((double)n), &out->fixed));
    if (out->fixed.collapsed)
        return NORMA_FAIL(NORMA_CONFIG,
                          "activation %.80s is constant or nearly so: all samples "
                          "become equal, and nothing fluctuates about that",
                          norma_transfer_format(phi, name));
    /* rows that are orthogonal to the ones stay so: the same chain with centring */
    centered = centered || out->fixed.ratio == 0;
    /* uncentered and odd: moments with an odd power of a coordinate vanish */
    const bool all = centered || !norma_transfer_is_odd(phi);
    NORMA_GOTO(status, norma_batch_rule_create(phi, 1, n, true, &fine));
    if (all)
        NORMA_GOTO(status, norma_batch_rule_create(phi, 1, n, false, &coarse));
    const bool pieces = kinked && n <= SMALL_BATCH;
    const int points = !all ? 64 : pieces ? 12 : 20;
    NORMA_GOTO(status, norma_gram_nodes_place(n, centered, pieces, out->fixed.ratio, points, &at));
    for (int i = 0; i < at.n; i++)
        add_node(fine, coarse, n, centered, &out->fixed, &at, i, &sums);
    finish(n, centered, &sums, out);
done:
    norma_batch_rule_destroy(&fine);
    norma_batch_rule_destroy(&coarse);
    return status;
}
