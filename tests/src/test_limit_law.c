/* src/theory/limit_law: densities and distribution functions of singular values, their moments, the
 * population of a kernel split, outliers and the hard edge. */
#include "tests/harness/harness.h"

#include "src/theory/limit_law.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static const norma_limit_population plain = {.n_kinds = 1, .share = {1}, .variance = {1}};

static norma_limit_law *make(const norma_limit_population *population, double ratio, double scale)
{
    norma_limit_law *law = NULL;
    norma_test_ok(norma_limit_law_create(population, ratio, scale, &law));
    return law;
}

/* The quarter circle at c1 = n, and the ends elsewhere. */
static void test_plain(void **state)
{
    (void)state;
    norma_limit_law *law = make(&plain, 1, 1);
    for (int i = 0; i < 20; i++) {
        double s = 0.1 * i;
        norma_test_check_close(norma_limit_law_density(law, s), sqrt(4 - s * s) / pi, 1e-14);
        double area = (s * sqrt(4 - s * s) / 2 + 2 * asin(s / 2)) / pi;
        norma_test_check_close(norma_limit_law_cdf(law, s), area, 1e-14);
    }
    norma_limit_law_destroy(&law);
    law = make(&plain, 1.2, 1);
    norma_test_check_close(norma_limit_law_low(law), sqrt(1.2) - 1, 1e-14);
    norma_test_check_close(norma_limit_law_high(law), sqrt(1.2) + 1, 1e-14);
    assert_true(norma_limit_law_density(law, 0.09) == 0);
    assert_true(norma_limit_law_density(law, 2.1) == 0);
    assert_true(norma_limit_law_cdf(law, 0.09) == 0);
    assert_true(norma_limit_law_cdf(law, 2.1) == 1);
    norma_limit_law_destroy(&law);
}

/* Mass, mean square and agreement of density and distribution function, by the midpoint rule. */
static void check_moments(const norma_limit_population *population, double ratio, double scale)
{
    enum { n = 20000 };
    norma_limit_law *law = make(population, ratio, scale);
    double low = norma_limit_law_low(law);
    double high = norma_limit_law_high(law);
    double mass = 0;
    double square = 0;
    double apart = 0;
    double mean = 0;
    for (int i = 0; i < n; i++) {
        double s = low + (high - low) * (i + 0.5) / n;
        double part = norma_limit_law_density(law, s) * (high - low) / n;
        apart = fmax(apart, fabs(norma_limit_law_cdf(law, s) - mass - part / 2));
        mass += part;
        square += part * s * s;
    }
    for (int k = 0; k < population->n_kinds; k++)
        mean += population->share[k] * population->variance[k];
    norma_test_check_close(mass, 1, 5e-5);
    assert_true(apart < 3e-5);
    norma_test_check_close(square, scale * scale * mean * fmax(1, ratio), 1e-4);
    norma_limit_law_destroy(&law);
}

static void test_moments(void **state)
{
    (void)state;
    static const double ratios[] = {0.5, 0.99, 1, 1.3, 4, 40};
    norma_limit_population taps = {
        .n_kinds = 3, .share = {0.4, 0.4, 0.2}, .variance = {1, 2, 3}}; /* 3 + 3 taps on one axis */
    for (int i = 0; i < 6; i++) {
        check_moments(&plain, ratios[i], 1);
        check_moments(&taps, ratios[i], 0.5);
    }
}

/* A population of nearly equal variances has the plain law. */
static void test_continuity(void **state)
{
    (void)state;
    norma_limit_population nearly = {.n_kinds = 2, .share = {0.3, 0.7}, .variance = {1, 1.00001}};
    static const double ratios[] = {0.5, 1, 1.3};
    for (int i = 0; i < 3; i++) {
        norma_limit_law *general = make(&nearly, ratios[i], 1);
        norma_limit_law *law = make(&plain, ratios[i], 1);
        for (int j = 1; j < 50; j++)
            assert_true(fabs(norma_limit_law_cdf(general, 0.05 * j) -
                             norma_limit_law_cdf(law, 0.05 * j)) < 5e-5);
        norma_limit_law_destroy(&general);
        norma_limit_law_destroy(&law);
    }
}

/* Two variances far apart and many features: a support of two intervals. */
static void test_two_intervals(void **state)
{
    (void)state;
    norma_limit_population far = {.n_kinds = 2, .share = {0.5, 0.5}, .variance = {1, 100}};
    norma_limit_law *law = make(&far, 50, 1);
    norma_test_check_close(norma_limit_law_cdf(law, 20), 0.5, 1e-6);
    assert_true(norma_limit_law_density(law, 20) == 0);
    assert_true(norma_limit_law_density(law, sqrt(50)) > 0);
    norma_limit_law_destroy(&law);
    check_moments(&far, 50, 1);
}

static void test_population(void **state)
{
    (void)state;
    norma_kernel kernel;
    norma_limit_population p;
    const norma_kernel_shape one = {1, 1};
    const norma_kernel_shape three = {3, 3};
    norma_test_ok(norma_kernel_init(&kernel, one, three, three));
    norma_test_ok(norma_limit_population_init(&kernel, &p));
    assert_int_equal(p.n_kinds, 1);
    norma_test_check_close(p.variance[0], 1, 0);
    norma_test_ok(norma_kernel_init(&kernel, three, three, three));
    norma_test_ok(norma_limit_population_init(&kernel, &p));
    assert_int_equal(p.n_kinds, 6); /* 1 2 3 4 6 9 */
    double total = 0;
    double mean = 0;
    for (int k = 0; k < p.n_kinds; k++) {
        total += p.share[k];
        mean += p.share[k] * p.variance[k];
    }
    norma_test_check_close(total, 1, 1e-14);
    norma_test_check_close(mean, 81.0 / 25, 1e-13); /* pairs of taps over positions */
}

static void test_edges(void **state)
{
    (void)state;
    norma_test_check_close(norma_limit_hard_edge_quantile(0.5), 0.5448, 1e-4);
    norma_test_check_close(norma_limit_hard_edge_above(norma_limit_hard_edge_quantile(0.2)), 0.2,
                           1e-14);
    assert_true(isnan(norma_limit_outlier(0.7, 0.5, 2)));
    norma_test_check_close(norma_limit_outlier(4, 0.5, 2), sqrt(5 * 1.125 * 2), 1e-14);
    /* It leaves the bulk at its upper edge. */
    norma_test_check_close(norma_limit_outlier(sqrt(0.5) * (1 + 1e-9), 0.5, 2), sqrt(2) + 1, 1e-6);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain),      cmocka_unit_test(test_moments),
    cmocka_unit_test(test_continuity), cmocka_unit_test(test_two_intervals),
    cmocka_unit_test(test_population), cmocka_unit_test(test_edges),
};

norma_test_main_serial("src.limit_law", tests)
