/* experiments/layers/schedule: which layers each schedule records, written out or by its defining
 * property, and texts that are none. */
#include "tests/harness/harness.h"

#include "experiments/layers/schedule.h"

#include <math.h>

static void check_layers(const char *text, int64_t stride, const int64_t *depths, int64_t n_depths,
                         const int64_t *expected, int64_t n)
{
    norma_chain_schedule schedule = {0};
    norma_test_ok(norma_chain_schedule_make(text, stride, depths, n_depths, &schedule));
    if (schedule.n != n)
        fail_msg("%s: %lld layers, not %lld", text, (long long)schedule.n, (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (norma_chain_schedule_layer(&schedule, i) != expected[i])
            fail_msg("%s: layer %lld is %lld, not %lld", text, (long long)i,
                     (long long)norma_chain_schedule_layer(&schedule, i), (long long)expected[i]);
    norma_chain_schedule_clear(&schedule);
}

static void test_layers_written_out(void **state)
{
    (void)state;
    check_layers("all", 1, (int64_t[]){4}, 1, (int64_t[]){0, 1, 2, 3, 4}, 5);
    check_layers("none", 1, (int64_t[]){4}, 1, NULL, 0);
    check_layers("every:3", 1, (int64_t[]){10}, 1, (int64_t[]){0, 3, 6, 9, 10}, 5);
    check_layers("first:4+every:10", 1, (int64_t[]){25}, 1, (int64_t[]){0, 1, 2, 3, 10, 20, 25}, 7);
    check_layers("log:1", 1, (int64_t[]){1000}, 1, (int64_t[]){0, 1, 10, 100, 1000}, 5);
    check_layers("log", 1, (int64_t[]){0}, 1, (int64_t[]){0}, 1);
}

static void test_last_layer_of_every_depth(void **state)
{
    (void)state;
    int64_t depths[] = {7, 3};
    check_layers("every:5", 1, depths, 2, (int64_t[]){0, 3, 5, 7}, 4);
    norma_chain_schedule schedule = {0};
    norma_test_ok(norma_chain_schedule_make("every:5", 1, depths, 2, &schedule));
    assert_int_equal(norma_chain_schedule_count(&schedule, 0), 1);
    assert_int_equal(norma_chain_schedule_count(&schedule, 3), 2);
    assert_int_equal(norma_chain_schedule_count(&schedule, 6), 3);
    assert_int_equal(norma_chain_schedule_count(&schedule, 7), 4);
    norma_chain_schedule_clear(&schedule);
}

static void test_only_multiples_of_the_stride(void **state)
{
    (void)state;
    check_layers("all", 4, (int64_t[]){10}, 1, (int64_t[]){0, 4, 8}, 3);
    check_layers("every:6", 4, (int64_t[]){19}, 1, (int64_t[]){0, 4, 12, 16}, 4);
}

/* Consecutive layers are neighbours or at most one step of the scale apart, and no closer than
 * rounding down makes them. */
static void test_logarithmic_spacing(void **state)
{
    (void)state;
    const int64_t depth = 1000000;
    norma_chain_schedule schedule = {0};
    norma_test_ok(norma_chain_schedule_make("log:20", 1, &depth, 1, &schedule));
    double step = pow(10, 0.05);
    assert_int_equal(norma_chain_schedule_layer(&schedule, 0), 0);
    assert_int_equal(norma_chain_schedule_layer(&schedule, schedule.n - 1), depth);
    for (int64_t i = 1; i < schedule.n; i++) {
        double before = (double)norma_chain_schedule_layer(&schedule, i - 1);
        double gap = (double)norma_chain_schedule_layer(&schedule, i) - before;
        norma_test_check(gap >= 1);
        norma_test_check(gap == 1 || before + gap <= before * step);
        norma_test_check(i == schedule.n - 1 || before + gap + 1 > before * step);
    }
    norma_test_check(schedule.n > 80 && schedule.n < 130);
    norma_chain_schedule_clear(&schedule);
}

/* Deep schedules take no more memory than shallow ones. */
static void test_few_runs(void **state)
{
    (void)state;
    const int64_t depth = 3000000;
    norma_chain_schedule schedule = {0};
    norma_test_ok(norma_chain_schedule_make("first:10+every:7", 1, &depth, 1, &schedule));
    norma_test_check(schedule.n > depth / 7 && schedule.n_runs <= 4);
    norma_chain_schedule_clear(&schedule);
    norma_test_ok(norma_chain_schedule_make("all", 1, &depth, 1, &schedule));
    norma_test_check(schedule.n == depth + 1 && schedule.n_runs == 1);
    assert_int_equal(norma_chain_schedule_layer(&schedule, 1234567), 1234567);
    norma_chain_schedule_clear(&schedule);
}

static void test_other_texts(void **state)
{
    (void)state;
    const char *const texts[] = {
        "",         "log:",     "log:0",   "log:2x",          "every",           "every:0",
        "every:-1", "every:3 ", "first:2", "first:2+every:0", "first:0+every:2", "All"};
    const int64_t depth = 5;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        norma_chain_schedule schedule = {0};
        norma_test_fails(norma_chain_schedule_make(texts[i], 1, &depth, 1, &schedule), NORMA_CONFIG,
                         "first:X+every:K");
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layers_written_out),
    cmocka_unit_test(test_last_layer_of_every_depth),
    cmocka_unit_test(test_only_multiples_of_the_stride),
    cmocka_unit_test(test_logarithmic_spacing),
    cmocka_unit_test(test_few_runs),
    cmocka_unit_test(test_other_texts),
};

norma_test_main_serial("experiments/layers/schedule", tests)
