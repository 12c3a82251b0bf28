/* src/theory: activations and their moments, the fixed point of batch normalization, Lyapunov
 * exponents, closed forms. */
#include "tests/harness/harness.h"

#include "src/base/rng.h"
#include "src/theory/chain_laws.h"
#include "src/theory/fixed_point.h"
#include "src/theory/lyapunov.h"
#include "src/theory/nonlinearity.h"

#include <math.h>
#include <string.h>

static norma_nonlinearity named(const char *name)
{
    norma_nonlinearity phi = {NORMA_NONLINEARITY_IDENTITY, 0};
    norma_test_ok(norma_nonlinearity_parse(name, &phi));
    return phi;
}

static void test_names(void **state)
{
    (void)state;
    char text[NORMA_NONLINEARITY_NAME];
    norma_nonlinearity phi = named("leaky-relu:0.2");
    norma_test_check_close(norma_nonlinearity_value(&phi, -3), -0.6, 1e-15);
    assert_string_equal(norma_nonlinearity_format(&phi, text), "leaky-relu:0.20000000000000001");
    phi = named("hermite:3");
    norma_test_check_close(norma_nonlinearity_value(&phi, 2), (8.0 - 6.0) / sqrt(6), 1e-14);
    norma_test_fails(norma_nonlinearity_parse("rleu", &phi), NORMA_CONFIG, "'relu'");
    norma_test_fails(norma_nonlinearity_parse("hermite", &phi), NORMA_CONFIG, "degree");
    norma_test_fails(norma_nonlinearity_parse("hermite:1.5", &phi), NORMA_CONFIG, "degree");
    norma_test_fails(norma_nonlinearity_parse("tanh:2", &phi), NORMA_CONFIG, "no parameter");
    norma_test_fails(norma_nonlinearity_parse("leaky-relu:x", &phi), NORMA_CONFIG, "not a number");
}

/* Second moments against independent values: tanh from the literature's tables (0.394294...),
 * others by a trapezoid rule, which is spectrally accurate for smooth integrands on the line. */
static void test_second_moments(void **state)
{
    (void)state;
    static const char *const names[] = {"identity", "relu", "leaky-relu:0.3", "tanh", "sin",
                                        "sigmoid",  "gelu", "selu",           "exp",  "silu",
                                        "softplus", "erf",  "hermite:4"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        norma_nonlinearity phi = named(names[k]);
        double moment = 0, sum = 0;
        enum { POINTS = 400000 };
        norma_test_ok(norma_nonlinearity_second_moment(&phi, &moment));
        for (int i = 0; i <= POINTS; i++) {
            double x = -20 + 40.0 * i / POINTS, y = norma_nonlinearity_value(&phi, x);
            sum += y * y * exp(-0.5 * x * x) * (40.0 / POINTS) / sqrt(2 * acos(-1));
        }
        norma_test_check_close(moment, sum, 1e-8);
    }
}

static void test_fixed_point_known_values(void **state)
{
    (void)state;
    norma_nonlinearity relu = named("relu"), identity = named("identity");
    double diagonal = 0, off = 0;
    for (int64_t n = 2; n <= 50; n += 3) {
        double m = (double)(n - 1), rho = -1 / m;
        /* the sphere's value is the Gaussian arc-cosine one: relu is homogeneous */
        double arc = (sqrt(1 - rho * rho) + (acos(-1) - acos(rho)) * rho) / (2 * acos(-1));
        norma_test_ok(norma_fixed_point_bn(&relu, n, true, sqrt((double)n), &diagonal, &off));
        norma_test_check_close(diagonal, 0.5, 1e-12);
        assert_true(fabs(off - arc) < 1e-11);
        norma_test_ok(norma_fixed_point_bn(&identity, n, true, sqrt((double)n), &diagonal, &off));
        norma_test_check_close(diagonal, 1, 1e-12); /* n / (n - 1) (I - 11^T / n) */
        norma_test_check_close(off, rho, 1e-11);
        norma_test_ok(norma_fixed_point_bn(&identity, n, false, 1, &diagonal, &off));
        norma_test_check_close(diagonal, 1 / (double)n, 1e-12);
        assert_true(fabs(off) < 1e-14);
    }
    norma_test_fails(norma_fixed_point_bn(&relu, 1, true, 1, &diagonal, &off), NORMA_CONFIG,
                     "at least 2");
}

/* Against a Monte Carlo average over the sphere, 5 standard errors. */
static void test_fixed_point_by_sampling(void **state)
{
    (void)state;
    enum { SAMPLES = 100000, N = 6 };
    static double x[SAMPLES * N];
    static const char *const names[] = {"tanh", "gelu", "sin", "exp", "leaky-relu:0.2"};
    norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .layer = 3};
    norma_rng_fill_normal(11, &stream, 0, SAMPLES * N, x);
    for (size_t k = 0; k < 2 * sizeof names / sizeof *names; k++) {
        norma_nonlinearity phi = named(names[k / 2]);
        bool centered = k % 2 == 0;
        double sum[2] = {0}, squares[2] = {0}, exact[2] = {0};
        norma_test_ok(norma_fixed_point_bn(&phi, N, centered, sqrt(N), &exact[0], &exact[1]));
        for (int s = 0; s < SAMPLES; s++) {
            double mean = 0, norm = 0, y[2];
            for (int i = 0; i < N; i++)
                mean += centered ? x[s * N + i] / N : 0;
            for (int i = 0; i < N; i++)
                norm += (x[s * N + i] - mean) * (x[s * N + i] - mean);
            for (int i = 0; i < 2; i++)
                y[i] = norma_nonlinearity_value(&phi, (x[s * N + i] - mean) * sqrt(N / norm));
            double value[2] = {y[0] * y[0], y[0] * y[1]};
            for (int i = 0; i < 2; i++) {
                sum[i] += value[i] / SAMPLES;
                squares[i] += value[i] * value[i] / SAMPLES;
            }
        }
        for (int i = 0; i < 2; i++)
            assert_true(fabs(sum[i] - exact[i]) <
                        5 * sqrt((squares[i] - sum[i] * sum[i]) / SAMPLES));
    }
}

static void test_lyapunov_values(void **state)
{
    (void)state;
    /* d = 2: psi(1) = -gamma, psi(1/2) = -gamma - 2 ln 2 */
    const double gamma_constant = 0.57721566490153286061, ln2 = log(2);
    norma_test_check_close(norma_lyapunov_gaussian(2, 1, 1), 0.5 * (ln2 - gamma_constant), 1e-14);
    norma_test_check_close(norma_lyapunov_gaussian(2, 2, 3),
                           0.5 * (ln2 - gamma_constant - 2 * ln2) + log(3), 1e-13);
    assert_true(isnan(norma_lyapunov_gaussian(4, 5, 1)));
    /* The Gaussian value at large g; small g: lambda_1 = g^2 (d - 2) / 2 + O(g^4). */
    assert_true(fabs(norma_lyapunov_residual(8, 1e4) - norma_lyapunov_gaussian(8, 1, 1e4)) < 1e-7);
    norma_test_check_close(norma_lyapunov_residual(10, 1e-3), 4e-6, 1e-4);
    /* E ln |e + g w|^2 / 2 at d = 2: (Gamma(0, x) + ln x ) / 2 + ln 1 with x = 1 / (2 g^2): the
     * mean logarithm of a Rice variable, at g = 1: E1(1/2) / 2 */
    norma_test_check_close(norma_lyapunov_residual(2, 1), 0.5 * 0.55977359477616081175, 1e-12);
}

static void test_closed_forms(void **state)
{
    (void)state;
    norma_test_check_close(norma_chain_laws_mean_gap2(32, 4, false), 3.0 * 36 / (16 * 5 * 32),
                           1e-14);
    norma_test_check_close(norma_chain_laws_mean_gap2(64, 5, true),
                           norma_chain_laws_mean_gap2(64, 4, false), 1e-14);
    norma_test_check_close(norma_chain_laws_gram_correlation(4, false), 2.0 / 3, 1e-15);
    norma_test_check_close(norma_chain_laws_gap2_correlation(5, true), 4.0 / 9, 1e-15);
    norma_test_check_close(norma_chain_laws_gap_bound(100, 2, 0.5, 0), 2 + 6 / 5.0, 1e-14);
    norma_test_check_close(norma_chain_laws_isometry_bound(10, 0, 1, 5), 0, 0);
    static const double ones[3] = {1, 1, 1};
    norma_test_check_close(norma_chain_laws_isometry_gain(3, ones), 1, 0);
    norma_test_check_close(norma_chain_laws_fro2_bound(16, 0.75), 64, 1e-14);
    norma_test_check_close(norma_chain_laws_rank_bound(16, 0.75, 0.5), 1, 1e-14);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),
    cmocka_unit_test(test_second_moments),
    cmocka_unit_test(test_fixed_point_known_values),
    cmocka_unit_test(test_fixed_point_by_sampling),
    cmocka_unit_test(test_lyapunov_values),
    cmocka_unit_test(test_closed_forms),
};

norma_test_main_serial("src.theory.chain", tests)
