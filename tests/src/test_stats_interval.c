/* src/stats/interval: Student quantiles against tables, intervals by hand, coverage. */
#include "tests/harness/harness.h"

#include "src/stats/interval.h"

#include <math.h>

static void test_quantiles_of_tables(void **state)
{
    (void)state;
    assert_true(fabs(norma_interval_student(0.95, 1) - 12.7062047364) < 1e-9);
    assert_true(fabs(norma_interval_student(0.95, 2) - 4.3026527297) < 1e-9);
    assert_true(fabs(norma_interval_student(0.95, 9) - 2.2621571628) < 1e-9);
    assert_true(fabs(norma_interval_student(0.99, 30) - 2.7499956536) < 1e-9);
}

static void test_known_interval(void **state)
{
    (void)state;
    static const double x[4] = {1, 2, 3, 6};
    double mean = 0, half = 0;
    norma_interval_mean(x, 4, 0.95, &mean, &half);
    norma_test_check_close(mean, 3, 0);
    /* s^2 = 14/3, t(3) = 3.1824463053 */
    norma_test_check_close(half, 3.1824463053 * sqrt(14.0 / 3 / 4), 1e-10);
}

static void test_too_few_and_special_values(void **state)
{
    (void)state;
    double x[3] = {5, 5, 5};
    double mean = 0, half = 0;
    norma_interval_mean(x, 1, 0.95, &mean, &half);
    assert_true(mean == 5 && isnan(half));
    norma_interval_mean(x, 0, 0.95, &mean, &half);
    assert_true(isnan(mean) && isnan(half));
    norma_interval_mean(x, 3, 0.95, &mean, &half);
    assert_true(mean == 5 && half == 0);
    x[1] = NAN;
    norma_interval_mean(x, 3, 0.95, &mean, &half);
    assert_true(isnan(mean) && isnan(half));
    x[1] = INFINITY;
    norma_interval_mean(x, 3, 0.95, &mean, &half);
    assert_true(isinf(mean) && isnan(half));
}

static void test_large_offset_keeps_the_spread(void **state)
{
    (void)state;
    double x[100], mean = 0, half = 0, reference = 0;
    for (int i = 0; i < 100; i++)
        x[i] = i % 2 ? 1 : -1;
    norma_interval_mean(x, 100, 0.95, &mean, &reference);
    for (int i = 0; i < 100; i++)
        x[i] += 1e12;
    norma_interval_mean(x, 100, 0.95, &mean, &half);
    norma_test_check_close(half, reference, 1e-12);
}

static void test_wilson(void **state)
{
    (void)state;
    double low = 0, high = 0;
    norma_interval_wilson(5, 10, 0.95, &low, &high);
    norma_test_check_close(low, 0.236593, 1e-5);
    norma_test_check_close(high, 0.763407, 1e-5);
    norma_interval_wilson(0, 10, 0.95, &low, &high);
    assert_true(low == 0);
    norma_test_check_close(high, 0.277533, 1e-5);
    norma_interval_wilson(10, 10, 0.95, &low, &high);
    norma_test_check_close(low, 1 - 0.277533, 1e-5);
    assert_true(high == 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_wilson),
    cmocka_unit_test(test_quantiles_of_tables),
    cmocka_unit_test(test_known_interval),
    cmocka_unit_test(test_too_few_and_special_values),
    cmocka_unit_test(test_large_offset_keeps_the_spread),
};

norma_test_main_serial("src.stats.interval", tests)
