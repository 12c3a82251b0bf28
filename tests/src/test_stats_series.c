/* src/stats: moments, autocorrelation, ergodic averages, split R-hat, Kolmogorov-Smirnov distances.
 * Statistical checks use fixed seeds; each tolerance is at least 5 standard errors, so that a
 * correct program fails a new seed with probability below 1e-6 a check. */
#include "tests/harness/harness.h"

#include "src/base/rng.h"
#include "src/stats/autocorrelation.h"
#include "src/stats/ergodic.h"
#include "src/stats/ks.h"
#include "src/stats/moments.h"

#include <math.h>

enum { LONG = 400000 };
static double series[LONG];

/* A stationary first-order autoregression of variance 1. */
static void fill_autoregression(double a, int64_t replica)
{
    norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .replica = replica};
    norma_rng_fill_normal(7, &stream, 0, LONG, series);
    for (int i = 1; i < LONG; i++)
        series[i] = a * series[i - 1] + sqrt(1 - a * a) * series[i];
}

static void test_moments_merge(void **state)
{
    (void)state;
    norma_moments whole, parts, part;
    fill_autoregression(0, 0);
    norma_moments_init(&whole);
    norma_moments_init(&parts);
    for (int i = 0; i < 1000; i++)
        norma_moments_add(&whole, 1e8 + series[i]);
    for (int begin = 0; begin < 1000; begin += 250) {
        norma_moments_init(&part);
        for (int i = begin; i < begin + 250; i++)
            norma_moments_add(&part, 1e8 + series[i]);
        norma_moments_merge(&parts, &part);
    }
    double mean = 0, squares = 0;
    for (int i = 0; i < 1000; i++)
        mean += series[i] / 1000;
    for (int i = 0; i < 1000; i++)
        squares += (series[i] - mean) * (series[i] - mean);
    assert_int_equal(parts.count, 1000);
    norma_test_check_close(parts.mean, 1e8 + mean, 1e-15);
    norma_test_check_close(norma_moments_variance(&parts), squares / 999, 1e-7);
    norma_test_check_close(norma_moments_variance(&whole), squares / 999, 1e-7);
    norma_moments_init(&part);
    assert_true(isnan(norma_moments_variance(&part)));
}

/* +inf is a value: the isometry gap of a singular Gram matrix. */
static void test_infinite_values(void **state)
{
    (void)state;
    norma_ergodic ergodic;
    norma_moments moments, other;
    norma_moments_init(&moments);
    norma_moments_init(&other);
    for (int i = 0; i < 10; i++)
        norma_moments_add(&moments, i == 4 ? (double)INFINITY : i);
    norma_moments_add(&other, 3);
    norma_moments_merge(&other, &moments);
    assert_true(isinf(moments.mean) && moments.mean > 0 && isnan(norma_moments_variance(&moments)));
    assert_true(other.count == 11 && isinf(other.mean) && isnan(norma_moments_variance(&other)));
    norma_moments_add(&other, -INFINITY);
    assert_true(isnan(other.mean));
    norma_ergodic_init(&ergodic);
    for (int i = 0; i < 5000; i++)
        norma_ergodic_add(&ergodic, INFINITY);
    norma_ergodic_result result = norma_ergodic_get(&ergodic, -1);
    assert_true(isinf(result.mean) && result.mean > 0 && isnan(result.standard_error));
}

static void test_autocorrelation_of_autoregression(void **state)
{
    (void)state;
    static const double a[3] = {0.0, 0.6, 0.9};
    for (int k = 0; k < 3; k++) {
        fill_autoregression(a[k], 1 + k);
        double exact = (1 + a[k]) / (1 - a[k]);
        int64_t window = 0;
        double tau = norma_autocorrelation_time(series, LONG, &window);
        double error = exact * sqrt(2.0 * (2.0 * (double)window + 1) / LONG);
        assert_true(fabs(tau - exact) < 5 * error + exact * 0.01);
        assert_true(fabs(norma_autocorrelation_at(series, LONG, 1) - a[k]) <
                    5 * sqrt(exact / LONG));
    }
    static const double constant[10] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    assert_true(isnan(norma_autocorrelation_time(constant, 10, NULL)));
}

/* The stated error of the mean is the real one: over 64 independent chains, z = mean / error has
 * variance near 1. */
static void test_ergodic_error_is_honest(void **state)
{
    (void)state;
    static norma_ergodic ergodic;
    enum { CHAINS = 64, LENGTH = 20000 };
    double square = 0, tau = 0, exact = 1.9 / 0.1;
    for (int c = 0; c < CHAINS; c++) {
        fill_autoregression(0.9, 100 + c);
        norma_ergodic_init(&ergodic);
        for (int i = 0; i < LENGTH; i++)
            norma_ergodic_add(&ergodic, 5 + series[1000 + i]);
        norma_ergodic_result result = norma_ergodic_get(&ergodic, 0);
        assert_int_equal(result.count, LENGTH / ergodic.length * ergodic.length);
        tau += result.tau / CHAINS;
        assert_false(result.too_short);
        double z = (result.mean - 5) / result.standard_error;
        square += z * z / CHAINS;
    }
    assert_true(fabs(tau - exact) < 0.2 * exact); /* each one has a standard error of 25% */
    assert_true(square > 0.35 && square < 2.1); /* chi-square of 64: 5 sigma and tau's own error */
}

static void test_ergodic_flags_and_burn_in(void **state)
{
    (void)state;
    static norma_ergodic ergodic;
    fill_autoregression(0.9, 9);
    norma_ergodic_init(&ergodic);
    for (int i = 0; i < 400; i++)
        norma_ergodic_add(&ergodic, series[i]);
    assert_true(norma_ergodic_get(&ergodic, 0).too_short); /* 400 / 19 = 21 times */
    for (int i = 400; i < 100000; i++)
        norma_ergodic_add(&ergodic, series[i]);
    norma_ergodic_result result = norma_ergodic_get(&ergodic, -1);
    assert_false(result.too_short);
    assert_true(result.burn_in >= 200 && result.burn_in < 1200); /* 20 x 19 = 380, by batches */
    result = norma_ergodic_get(&ergodic, 1001);
    assert_true(result.burn_in >= 1001 && result.burn_in < 1001 + ergodic.length);
    norma_ergodic_init(&ergodic);
    for (int i = 0; i < 3000; i++)
        norma_ergodic_add(&ergodic, 2.5);
    result = norma_ergodic_get(&ergodic, 0);
    assert_true(result.mean == 2.5 && result.standard_error == 0 && result.tau == 1);
    assert_true(isnan(norma_ergodic_get(&ergodic, 1000000).mean));
}

static void test_ratio(void **state)
{
    (void)state;
    static norma_ergodic x, y;
    double square = 0;
    for (int c = 0; c < 64; c++) {
        fill_autoregression(0.5, 200 + c);
        norma_ergodic_init(&x);
        norma_ergodic_init(&y);
        for (int i = 0; i < 20000; i++) {
            norma_ergodic_add(&x, 10 + series[i]);
            norma_ergodic_add(&y, 5 + 0.3 * series[i] + 0.1 * series[200000 + i]);
        }
        double ratio = 0, error = 0;
        norma_ergodic_ratio(&y, &x, 0, &ratio, &error);
        square += (ratio - 0.5) * (ratio - 0.5) / (error * error) / 64;
    }
    assert_true(square > 0.35 && square < 2.1);
}

static void test_split_rhat(void **state)
{
    (void)state;
    static norma_ergodic chain[4];
    const norma_ergodic *chains[4];
    for (int c = 0; c < 4; c++) {
        fill_autoregression(0.5, 300 + c);
        norma_ergodic_init(&chain[c]);
        for (int i = 0; i < 20000; i++)
            norma_ergodic_add(&chain[c], series[i]);
        chains[c] = &chain[c];
    }
    double r = norma_ergodic_split_rhat(chains, 4, 0);
    assert_true(r > 0.9995 && r < 1.003);
    norma_ergodic_init(&chain[3]);
    for (int i = 0; i < 20000; i++)
        norma_ergodic_add(&chain[3], 1 + series[i]); /* one chain elsewhere */
    assert_true(norma_ergodic_split_rhat(chains, 4, 0) > 1.1);
    norma_ergodic_init(&chain[3]);
    for (int i = 0; i < 20000; i++)
        norma_ergodic_add(&chain[3], series[i] + 2e-4 * i); /* one that drifts */
    assert_true(norma_ergodic_split_rhat(chains, 4, 0) > 1.1);
}

/* Two chains with means 1 and 4: their spread, sqrt(4.5 / 2), exceeds their own errors, and not
 * those that are ten times larger. */
static void test_pool(void **state)
{
    (void)state;
    norma_ergodic_result chain[2] = {{.mean = 1, .standard_error = 0.3, .tau = 2, .ess = 10},
                                     {.mean = 4, .standard_error = 0.4, .tau = 4, .ess = 30}};
    norma_moments halves[4] = {{0}, {0}, {.count = 3, .mean = 4}, {.count = 3, .mean = 4}};
    norma_ergodic_pooled p = norma_ergodic_pool(2, chain, halves);
    assert_true(p.mean == 2.5 && p.tau == 3 && p.ess == 40 && p.counted && isnan(p.rhat));
    norma_test_check_close(p.error, 1.5, 1e-15);
    for (int c = 0; c < 2; c++)
        chain[c].standard_error *= 10;
    p = norma_ergodic_pool(2, chain, halves);
    norma_test_check_close(p.error, 2.5, 1e-15); /* sqrt(3^2 + 4^2) / 2 */
    halves[2].count = halves[3].count = 0;
    assert_false(norma_ergodic_pool(2, chain, halves).counted);
}

static double uniform_cdf(double value, const void *context)
{
    (void)context;
    return value;
}

static void test_ks(void **state)
{
    (void)state;
    double three[3] = {0.9, 0.1, 0.5}, a[4] = {1, 2, 3, 4}, b[4] = {3.5, 5, 6, 7};
    norma_test_check_close(norma_ks_distance(three, 3, uniform_cdf, NULL), 0.9 - 2.0 / 3, 1e-14);
    norma_test_check_close(norma_ks_distance_two(a, 4, b, 4), 0.75, 1e-15);
    /* tabulated: P(sqrt(n) D > 1.3581) = 0.05, > 1.6276 is 0.01, n large */
    assert_true(fabs(norma_ks_probability(1.3581e-4, 1e8) - 0.05) < 1e-4);
    assert_true(fabs(norma_ks_probability(1.6276e-4, 1e8) - 0.01) < 1e-4);
    norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .layer = 5};
    norma_rng_fill_uniform(7, &stream, 0, 10000, series);
    double p = norma_ks_probability(norma_ks_distance(series, 10000, uniform_cdf, NULL), 10000);
    assert_true(p > 1e-4);
    for (int i = 0; i < 10000; i++)
        series[i] = pow(series[i], 1.1);
    p = norma_ks_probability(norma_ks_distance(series, 10000, uniform_cdf, NULL), 10000);
    assert_true(p < 1e-6);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_moments_merge),
    cmocka_unit_test(test_infinite_values),
    cmocka_unit_test(test_autocorrelation_of_autoregression),
    cmocka_unit_test(test_ergodic_error_is_honest),
    cmocka_unit_test(test_ergodic_flags_and_burn_in),
    cmocka_unit_test(test_ratio),
    cmocka_unit_test(test_split_rhat),
    cmocka_unit_test(test_pool),
    cmocka_unit_test(test_ks),
};

norma_test_main_serial("src.stats.series", tests)
