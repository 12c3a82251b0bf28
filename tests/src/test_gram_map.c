/* src/theory: the Gram matrix of batch normalization at infinite width, its fluctuations,
 * gradients.
 *
 * Statistical checks use fixed seeds and allow 5 standard errors; about 100 of them fail a correct
 * program with probability below 1e-4 for a new seed. */
#include "tests/harness/harness.h"

#include "src/base/rng.h"
#include "src/theory/gram_fluctuation.h"

#include <math.h>

static norma_transfer named(const char *name)
{
    norma_transfer phi;
    norma_test_ok(norma_transfer_parse(name, &phi));
    return phi;
}

static norma_gram_fixed_point solve(const char *name, int64_t n, bool centered, double radius)
{
    const norma_transfer phi = named(name);
    norma_gram_fixed_point fixed;
    norma_test_ok(norma_gram_map_solve(&phi, n, centered, radius, &fixed));
    return fixed;
}

static void test_closed_forms(void **state)
{
    (void)state;
    const double pi = acos(-1);
    for (int64_t n = 2; n <= 50; n += 3) {
        double root = sqrt((double)n), rho = -1 / (double)(n - 1);
        /* the sphere's value is the Gaussian arc-cosine one: relu is homogeneous */
        double arc = (sqrt(1 - rho * rho) + (pi - acos(rho)) * rho) / (2 * pi);
        norma_gram_fixed_point fixed = solve("relu", n, true, root);
        norma_test_check_close(fixed.gram.diagonal, 0.5, 1e-12);
        norma_test_check(fabs(fixed.gram.off - arc) < 1e-11);
        fixed = solve("identity", n, true, root); /* n / (n - 1) (I - 11^T / n) */
        norma_test_check_close(fixed.gram.diagonal, 1, 1e-12);
        norma_test_check_close(fixed.gram.off, rho, 1e-11);
        fixed = solve("identity", n, false, 1);
        norma_test_check_close(fixed.gram.diagonal, 1 / (double)n, 1e-12);
        norma_test_check(fabs(fixed.gram.off) < 1e-14);
        norma_test_check(!fixed.collapsed && fixed.ratio == 1);
    }
    /* n = 1: x = +-1; tanh, n = 2, centered: x = +-(1, -1) */
    norma_test_check_close(solve("gelu", 1, false, 1).gram.diagonal,
                           0.5 * (pow(0.84134474606854293, 2) + pow(0.15865525393145705, 2)),
                           1e-14);
    norma_test_check_close(solve("tanh", 2, true, sqrt(2)).gram.off, -pow(tanh(1), 2), 1e-14);
    norma_test_check_close(solve("hermite:0", 4, false, 2).gram.off, 1, 1e-14);
    /* rows of He_2 over the sphere sum to 0: the ones are in the kernel of G* */
    norma_gram_fixed_point even = solve("hermite:2", 5, false, sqrt(5));
    norma_test_check(even.ratio == 0 && fabs(even.gram.diagonal + 4 * even.gram.off) < 1e-13);
}

/* Sums over samples of a vector of up to 8 numbers. */
typedef struct samples {
    double sum[8], square[8];
    int n;
} samples;

static void add(samples *s, const double *value, int n_values)
{
    for (int i = 0; i < n_values; i++) {
        s->sum[i] += value[i];
        s->square[i] += value[i] * value[i];
    }
    s->n++;
}

static void check_mean(const samples *s, int i, double expected, const char *name)
{
    double mean = s->sum[i] / s->n, variance = s->square[i] / s->n - mean * mean;
    if (!(fabs(mean - expected) <= 5 * sqrt(variance / s->n) + 1e-12))
        fail_msg("%s, mean %d: %.10g sampled, %.10g expected, standard error %.2g", name, i, mean,
                 expected, sqrt(variance / s->n));
}

#define N 5
#define N_SAMPLES 60000
static double normals[N_SAMPLES * N];

/* h ~ N(0, G*) from independent normals, through the square root of a I + b 11^T. */
static void draw(const norma_gram *gram, const double *z, double *h)
{
    double across = sqrt(gram->diagonal - gram->off), mean = 0;
    double along = sqrt(fmax(0, gram->diagonal + (N - 1) * gram->off));
    for (int i = 0; i < N; i++)
        mean += z[i] / N;
    for (int i = 0; i < N; i++)
        h[i] = along * mean + across * (z[i] - mean);
}

/* x = sqrt(n) P h / |P h|. */
static void normalize(bool centered, const double *h, double *x)
{
    double mean = 0, norm2 = 0;
    for (int i = 0; i < N; i++)
        mean += centered ? h[i] / N : 0;
    for (int i = 0; i < N; i++)
        norm2 += (h[i] - mean) * (h[i] - mean);
    for (int i = 0; i < N; i++)
        x[i] = (h[i] - mean) * sqrt(N / norm2);
}

/* F(G*) = G*, J, C and the gradient's map by sampling. */
static void check_by_sampling(const char *name, bool centered)
{
    const norma_transfer phi = named(name);
    norma_gram_fluctuation f;
    samples gram = {{0}, {0}, 0}, noise = gram, derivative = gram;
    norma_test_ok(norma_gram_fluctuation_compute(&phi, N, centered, &f));
    const norma_gram *g = &f.fixed.gram;
    const double across = g->diagonal - g->off, along = g->diagonal + (N - 1) * g->off;
    const double norms[4] = {sqrt(N), sqrt(N * (N - 1)), sqrt(2), sqrt(8)};
    const double means[4] = {sqrt(N) * g->diagonal, sqrt(N * (N - 1)) * g->off, 0, 0};
    for (int s = 0; s < N_SAMPLES; s++) {
        double h[N], x[N], a[N], z[N], a_sum = 0, z_sum = 0, h_mean = 0, squares[2] = {0};
        draw(g, normals + s * N, h);
        normalize(centered, h, x);
        for (int i = 0; i < N; i++)
            h_mean += h[i] / N;
        for (int i = 0; i < N; i++) {
            a[i] = norma_transfer_value(&phi, x[i]);
            z[i] = (h[i] - h_mean) / across + (centered ? 0 : h_mean / along);
            a_sum += a[i];
            z_sum += z[i];
            squares[0] += a[i] * a[i];
            squares[1] += z[i] * z[i];
        }
        /* <E, aa'> for the bases: I, 11' - I, diag(u) with u ~ (1, -1, 0, ...), the traceless one
         */
        const double qa[4] = {squares[0] / norms[0], (a_sum * a_sum - squares[0]) / norms[1],
                              (a[0] * a[0] - a[1] * a[1]) / norms[2],
                              2 * (a[0] - a[1]) * (a[2] - a[3]) / norms[3]};
        const double qz[4] = {squares[1] / norms[0], (z_sum * z_sum - squares[1]) / norms[1],
                              (z[0] * z[0] - z[1] * z[1]) / norms[2],
                              2 * (z[0] - z[1]) * (z[2] - z[3]) / norms[3]};
        add(&gram, (const double[]){a[0] * a[0], a[0] * a[1]}, 2);
        add(&noise,
            (const double[]){(qa[0] - means[0]) * (qa[0] - means[0]),
                             (qa[1] - means[1]) * (qa[1] - means[1]),
                             (qa[0] - means[0]) * (qa[1] - means[1]), qa[2] * qa[2], qa[3] * qa[3]},
            5);
        add(&derivative,
            (const double[]){0.5 * (qa[0] - means[0]) * qz[0], 0.5 * (qa[0] - means[0]) * qz[1],
                             0.5 * (qa[1] - means[1]) * qz[0], 0.5 * (qa[1] - means[1]) * qz[1],
                             0.5 * qa[2] * qz[2], 0.5 * qa[3] * qz[3]},
            6);
    }
    double(*c)[2][2] = f.noise, (*j)[2][2] = f.derivative;
    check_mean(&gram, 0, g->diagonal, name);
    check_mean(&gram, 1, g->off, name);
    const double expected_noise[5] = {c[0][0][0], c[0][1][1], c[0][0][1], c[1][0][0], c[2][0][0]};
    const double expected[6] = {j[0][0][0], j[0][0][1], j[0][1][0],
                                j[0][1][1], j[1][0][0], j[2][0][0]};
    for (int i = 0; i < 5; i++)
        check_mean(&noise, i, expected_noise[i], name);
    for (int i = 0; i < 6; i++)
        check_mean(&derivative, i, expected[i], name);
}

static void test_by_sampling(void **state)
{
    (void)state;
    static const char *const names[] = {
        "relu", "tanh", "gelu", "exp", "sigmoid", "leaky-relu:0.2", "hermite-sum:0.2,0.5,0.4"};
    norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .layer = 5};
    norma_rng_fill_normal(12, &stream, 0, N_SAMPLES * N, normals);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int centered = 0; centered < 2; centered++)
            check_by_sampling(names[k], centered != 0);
}

/* J on multiples of I and 11^T against central differences of F. */
static void test_derivative(void **state)
{
    (void)state;
    static const char *const names[] = {"relu", "gelu", "tanh", "exp"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const norma_transfer phi = named(names[k]);
        for (int64_t n = 2; n <= 12; n += 5) {
            const double h = 1e-4, root = sqrt((double)n);
            norma_gram_fluctuation f;
            norma_test_ok(norma_gram_fluctuation_compute(&phi, n, false, &f));
            for (int j = 0; j < 2; j++) {
                norma_gram value[2];
                for (int side = 0; side < 2; side++) {
                    norma_gram at = f.fixed.gram;
                    double step = side == 0 ? h : -h, pairs = sqrt((double)(n * (n - 1)));
                    at.diagonal += j == 0 ? step / root : 0;
                    at.off += j == 1 ? step / pairs : 0;
                    norma_test_ok(norma_gram_map_apply(&phi, n, false, root,
                                                       norma_gram_ratio(n, &at), &value[side]));
                }
                double pairs = sqrt((double)(n * (n - 1)));
                double diagonal = root * (value[0].diagonal - value[1].diagonal) / (2 * h);
                double off = pairs * (value[0].off - value[1].off) / (2 * h);
                norma_test_check(fabs(f.derivative[0][0][j] - diagonal) < 1e-5);
                norma_test_check(fabs(f.derivative[0][1][j] - off) < 1e-5);
            }
        }
    }
}

/* Stationary levels, contractions and gradient rates: numbers of an independent computation, given
 * to the digits that it states. */
static void check_level(const char *name, int64_t n, bool centered, double level, double one_layer,
                        double contraction)
{
    const norma_transfer phi = named(name);
    norma_gram_fluctuation f;
    norma_test_ok(norma_gram_fluctuation_compute(&phi, n, centered, &f));
    double leading = fmax(f.contraction[0], fmax(f.contraction[1], f.contraction[2]));
    norma_test_check_close(sqrt(f.stationary2 / 1000), level, 3e-3);
    if (one_layer > 0)
        norma_test_check_close(sqrt(f.one_layer2 / 1000), one_layer, 4e-3);
    if (contraction > 0)
        norma_test_check_close(leading, contraction, 5e-3);
}

static void test_levels(void **state)
{
    (void)state;
    check_level("identity", 10, true, 0.5185, 0.298, 0.818);
    check_level("relu", 10, true, 0.2015, 0.148, 0.791);
    check_level("tanh", 10, true, 0.2339, 0.125, 0.857);
    check_level("relu", 20, true, 0.485, 0, 0);
    check_level("tanh", 20, true, 0.552, 0, 0);
    check_level("relu", 5, false, 0.1184, 0, 0.754);
    norma_gram_fixed_point fixed = solve("relu", 5, false, sqrt(5));
    norma_test_check_close(fixed.gram.diagonal, 0.5, 1e-12);
    norma_test_check(fabs(fixed.gram.off - 0.2436) < 2e-4);
}

static void test_gradients(void **state)
{
    (void)state;
    const norma_transfer identity = named("identity");
    norma_gram_fluctuation f;
    for (int64_t n = 4; n <= 40; n += 9)
        for (int centered = 0; centered < 2; centered++) {
            double m = (double)(n - centered);
            norma_test_ok(norma_gram_fluctuation_compute(&identity, n, centered != 0, &f));
            norma_test_check_close(f.gradient_rate, 0.5 * log((m - 1) / (m - 2)), 1e-10);
            norma_test_check_close(f.contraction[NORMA_GRAM_TRACELESS], m / (m + 2), 1e-10);
        }
    norma_test_ok(norma_gram_fluctuation_compute(&identity, 3, true, &f));
    norma_test_check(isinf(f.gradient_rate));
    norma_test_ok(norma_gram_fluctuation_compute(&identity, 1, false, &f));
    norma_test_check(isinf(f.gradient_rate) && f.stationary2 < 1e-20);
    norma_test_check(isnan(f.contraction[NORMA_GRAM_VECTOR] / f.contraction[NORMA_GRAM_TRACELESS]));
}

static void test_refusals(void **state)
{
    (void)state;
    const norma_transfer relu = named("relu"), constant = named("hermite:0");
    const norma_transfer high = named("hermite:25");
    norma_gram_fixed_point fixed;
    norma_gram_fluctuation f;
    norma_test_fails(norma_gram_map_solve(&relu, 1, true, 1, &fixed), NORMA_CONFIG, "at least 2");
    norma_test_fails(norma_gram_map_solve(&relu, 0, false, 1, &fixed), NORMA_CONFIG, "at least 1");
    norma_test_fails(norma_gram_fluctuation_compute(&constant, 4, true, &f), NORMA_CONFIG,
                     "constant");
    norma_test_fails(norma_gram_fluctuation_compute(&high, 4, true, &f), NORMA_CONFIG, "degree 24");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_by_sampling),
    cmocka_unit_test(test_derivative),   cmocka_unit_test(test_levels),
    cmocka_unit_test(test_gradients),    cmocka_unit_test(test_refusals),
};

norma_test_main_serial("src.gram_map", tests)
