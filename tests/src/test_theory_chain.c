/* src/theory: activations and their second moments, Lyapunov exponents, closed forms. */
#include "tests/harness/harness.h"

#include "src/theory/chain_laws.h"
#include "src/theory/lyapunov.h"
#include "src/theory/second_moment.h"

#include <math.h>
#include <string.h>

static norma_activation named(const char *name)
{
    norma_activation phi = {NORMA_ACTIVATION_IDENTITY, 0};
    norma_test_ok(norma_activation_parse(name, &phi));
    return phi;
}

static void test_names(void **state)
{
    (void)state;
    char text[NORMA_ACTIVATION_TEXT];
    norma_activation phi = named("leaky-relu:0.2");
    norma_test_check_close(norma_activation_value(&phi, -3), -0.6, 1e-15);
    assert_string_equal(norma_activation_format(&phi, text), "leaky-relu:0.20000000000000001");
    phi = named("hermite:3");
    norma_test_check_close(norma_activation_value(&phi, 2), (8.0 - 6.0) / sqrt(6), 1e-14);
    norma_test_fails(norma_activation_parse("rleu", &phi), NORMA_CONFIG, "'relu'");
    norma_test_fails(norma_activation_parse("hermite", &phi), NORMA_CONFIG, "degree");
    norma_test_fails(norma_activation_parse("hermite:1.5", &phi), NORMA_CONFIG, "degree");
    norma_test_fails(norma_activation_parse("tanh:2", &phi), NORMA_CONFIG, "no parameter");
    norma_test_fails(norma_activation_parse("leaky-relu:x", &phi), NORMA_CONFIG, "not a number");
}

/* Second moments against independent values: tanh from the literature's tables (0.394294...),
 * others by a trapezoid rule, which is spectrally accurate for smooth integrands on the line. */
static void test_second_moments(void **state)
{
    (void)state;
    static const char *const names[] = {
        "identity",   "relu",    "leaky-relu:0.3", "tanh",  "sin",
        "sigmoid",    "gelu",    "selu",           "exp",   "silu",
        "softplus",   "erf",     "hermite:4",      "relu6", "hard-sigmoid:0.2",
        "hard-swish", "clip:0.7"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        norma_activation phi = named(names[k]);
        double moment = 0, sum = 0;
        enum { POINTS = 400000 };
        norma_test_ok(norma_second_moment(&phi, &moment));
        for (int i = 0; i <= POINTS; i++) {
            double x = -20 + 40.0 * i / POINTS, y = norma_activation_value(&phi, x);
            sum += y * y * exp(-0.5 * x * x) * (40.0 / POINTS) / sqrt(2 * acos(-1));
        }
        norma_test_check_close(moment, sum, 1e-8);
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
    cmocka_unit_test(test_lyapunov_values),
    cmocka_unit_test(test_closed_forms),
};

norma_test_main_serial("src.theory.chain", tests)
