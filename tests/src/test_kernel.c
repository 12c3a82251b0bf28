/* features/kernel: composite shapes, offsets, splits, embedding. */
#include "tests/harness/harness.h"

#include "src/features/kernel.h"

static norma_kernel make(const char *split, int64_t height, int64_t width)
{
    norma_kernel kernel;
    norma_test_ok(norma_kernel_split(&kernel, split, (norma_kernel_shape){height, width}));
    return kernel;
}

static void check_shape(norma_kernel_shape shape, int64_t height, int64_t width)
{
    assert_int_equal(shape.height, height);
    assert_int_equal(shape.width, width);
}

static void test_splits(void **state)
{
    (void)state;
    norma_kernel second = make("second", 3, 5);
    check_shape(second.first, 1, 1);
    check_shape(second.second, 3, 5);
    check_shape(second.composite, 3, 5);
    check_shape(second.offset, 0, 0);
    norma_kernel first = make("first", 3, 5);
    check_shape(first.first, 3, 5);
    check_shape(first.second, 1, 1);
    norma_kernel both = make("3x1+2x4", 1, 3);
    check_shape(both.first, 3, 1);
    check_shape(both.second, 2, 4);
    check_shape(both.composite, 4, 4);
    check_shape(both.offset, 1, 0); /* floor(3/2), floor(1/2) */
    assert_int_equal(norma_kernel_taps(both.composite), 16);
}

static void test_refusals(void **state)
{
    (void)state;
    norma_kernel kernel;
    norma_kernel_shape shape;
    const norma_kernel_shape three = {3, 3};
    static const char *const bad[] = {"",         "third",    "3x3",        "3x3+",   "3x3+3",
                                      "3x3+3x3x", "3x3 +3x3", "3+3",        "x3+3x3", "3x3+3x3 ",
                                      "axb+1x1",  "3X3+1x1",  "99999x1+1x1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        norma_test_fails(norma_kernel_split(&kernel, bad[i], three), NORMA_CONFIG, bad[i]);
    norma_test_fails(norma_kernel_split(&kernel, "0x3+3x3", three), NORMA_CONFIG, "0x3");
    norma_test_fails(norma_kernel_split(&kernel, "-1x3+3x3", three), NORMA_CONFIG, "-1x3");
    norma_test_fails(norma_kernel_parse_shape("3x 3", &shape), NORMA_CONFIG, "3x 3");
    norma_test_fails(norma_kernel_split(&kernel, "2x2+2x1", three), NORMA_CONFIG,
                     "compose to 3x2, which does not cover the target's 3x3");
    norma_test_fails(norma_kernel_parse_shape("3", &shape), NORMA_CONFIG, "HxW");
    norma_test_fails(norma_kernel_parse_shape("1025x1", &shape), NORMA_CONFIG, "1 to 1024");
    norma_test_ok(norma_kernel_parse_shape("7x2", &shape));
    check_shape(shape, 7, 2);
}

/* Every pair of taps lands at the sum of its positions, and all of K is reached. */
static void test_composite_taps(void **state)
{
    (void)state;
    norma_kernel kernel = make("2x3+3x2", 1, 1);
    bool reached[16] = {false};
    for (int64_t q = 0; q < 6; q++) {
        for (int64_t p = 0; p < 6; p++) {
            int64_t k = norma_kernel_composite_tap(&kernel, q, p);
            assert_int_equal(k / 4, q / 3 + p / 2);
            assert_int_equal(k % 4, q % 3 + p % 2);
            reached[k] = true;
        }
    }
    for (int k = 0; k < 16; k++)
        norma_test_check(reached[k]);
}

static void test_embedding(void **state)
{
    (void)state;
    norma_kernel kernel = make("3x3+3x3", 2, 3); /* K = 5x5, offset 1, 1 */
    double target[12];
    double embedded[50];
    double sum = 0;
    for (int t = 0; t < 12; t++)
        target[t] = t + 1;
    norma_kernel_embed(&kernel, 2, target, embedded);
    for (int channel = 0; channel < 2; channel++)
        for (int row = 0; row < 2; row++)
            for (int column = 0; column < 3; column++)
                norma_test_check(embedded[channel * 25 + (row + 1) * 5 + column + 1] ==
                                 target[channel * 6 + row * 3 + column]);
    for (int t = 0; t < 50; t++)
        sum += embedded[t];
    norma_test_check(sum == 78); /* 1 + … + 12: nothing else anywhere */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_splits),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_composite_taps),
    cmocka_unit_test(test_embedding),
};

norma_test_main_serial("src.kernel", tests)
