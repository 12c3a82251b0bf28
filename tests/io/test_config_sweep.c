/* Lists, ranges, the Cartesian product. */
#include "tests/io/config_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void usage(const char *flags, const char *message)
{
    fixture_refuse(flags, NULL, NORMA_USAGE, message);
}

/* Flags give exactly these whole numbers, in this order. */
static void check_integers(const char *flags, const char *name, const int64_t *expected, int64_t n)
{
    norma_config *c = NULL;
    norma_test_ok(fixture_read(flags, NULL, &c));
    assert_int_equal(norma_config_get_count(c, name), n);
    assert_int_equal(norma_config_get_sweep(c)->n_cells, n);
    for (int64_t i = 0; i < n; i++)
        norma_test_check(norma_config_get_integer(c, i, name) == expected[i]);
    norma_config_destroy(&c);
}

static void check_reals(const char *flags, const double *expected, int64_t n)
{
    norma_config *c = NULL;
    norma_test_ok(fixture_read(flags, NULL, &c));
    if (norma_config_get_count(c, "scale") != n)
        fail_msg("%s: %lld values", flags, (long long)norma_config_get_count(c, "scale"));
    for (int64_t i = 0; i < n; i++)
        if (norma_config_get_real(c, i, "scale") != expected[i])
            fail_msg("%s: value %lld is %.17g", flags, (long long)i,
                     norma_config_get_real(c, i, "scale"));
    norma_config_destroy(&c);
}

#define INTEGERS(flags, name, ...)                                                                 \
    do {                                                                                           \
        const int64_t list[] = {__VA_ARGS__};                                                      \
        check_integers(flags, name, list, sizeof list / sizeof list[0]);                           \
    } while (0)
#define REALS(flags, ...)                                                                          \
    do {                                                                                           \
        const double list[] = {__VA_ARGS__};                                                       \
        check_reals(flags, list, sizeof list / sizeof list[0]);                                    \
    } while (0)

/* Numbers behind a name with parameters are parameters of that name. */
static void names_with_numbers(void **state)
{
    (void)state;
    static const char *const expected[] = {"a", "sum:0,0.4,-1e-3", "b:2"};
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--data a,sum:0,0.4,-1e-3,b:2", NULL, &c));
    assert_int_equal(norma_config_get_count(c, "data"), 3);
    for (int64_t i = 0; i < 3; i++)
        assert_string_equal(norma_config_get_text(c, i, "data"), expected[i]);
    norma_config_destroy(&c);
    norma_test_ok(fixture_read("--data sum:1,x,2", NULL, &c)); /* x is a name, and so 2 is one */
    assert_int_equal(norma_config_get_count(c, "data"), 3);
    norma_config_destroy(&c);
    usage("--data sum:1,,2", "--data: an empty item in the list 'sum:1,,2'");
}

static void whole_ranges(void **state)
{
    (void)state;
    INTEGERS("--width 8,16,32..256:x2", "width", 8, 16, 32, 64, 128, 256);
    INTEGERS("--width 32..255:x2", "width", 32, 64, 128);
    INTEGERS("--width 10..50:10", "width", 10, 20, 30, 40, 50);
    INTEGERS("--width 10..59:+10", "width", 10, 20, 30, 40, 50);
    INTEGERS("--width 3..7", "width", 3, 4, 5, 6, 7);
    INTEGERS("--width 7..7", "width", 7);
    INTEGERS("--width 1e3..3e3:1e3", "width", 1000, 2000, 3000);
    INTEGERS("--offset=-2..2:2", "offset", -2, 0, 2);
    INTEGERS("--offset 5..-5:-5", "offset", 5, 0, -5);
    INTEGERS("--offset -1..-27:x3", "offset", -1, -3, -9, -27);
    INTEGERS("--offset 9223372036854775806..9223372036854775807", "offset", INT64_MAX - 1,
             INT64_MAX);
    INTEGERS("--offset -9223372036854775808..9223372036854775807:9223372036854775807", "offset",
             INT64_MIN, -1, INT64_MAX - 1);
    INTEGERS("--offset 1..9223372036854775807:x4611686018427387904", "offset", 1,
             4611686018427387904);
    INTEGERS("--offset -1..-9223372036854775808:x9223372036854775808", "offset", -1, INT64_MIN);
}

static void seed_ranges(void **state)
{
    (void)state;
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--seed 18446744073709551614..18446744073709551615", NULL, &c));
    norma_test_check(norma_config_get_seed(c, 0, "seed") == UINT64_MAX - 1);
    norma_test_check(norma_config_get_seed(c, 1, "seed") == UINT64_MAX);
    norma_config_destroy(&c);
    norma_test_ok(fixture_read("--seed 0..2", NULL, &c));
    norma_test_check(norma_config_get_seed(c, 0, "seed") == 0);
    assert_int_equal(norma_config_get_count(c, "seed"), 3);
    norma_config_destroy(&c);
}

static void real_ranges(void **state)
{
    (void)state;
    REALS("--scale 0.1..0.5:0.1", 0.1, 0.2, 0.3, 0.4, 0.5);
    REALS("--scale 0..1:0.25", 0, 0.25, 0.5, 0.75, 1);
    REALS("--scale 1..0.7:-0.1", 1, 0.9, 0.8, 0.7);
    REALS("--scale 1..1e-6:x0.1", 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6);
    REALS("--scale 1e-3..1e3:x10", 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000);
    REALS("--scale -8..-1:x0.5", -8, -4, -2, -1);
    REALS("--scale 1..10:x3", 1, 3, 9);
    REALS("--scale 2..2:1", 2);
    REALS("--scale 0.3333333333333333148..1.5:1", 1. / 3, 1.33333333333333);
    REALS("--scale .5..1:.5,inf,-inf", 0.5, 1, INFINITY, -INFINITY);
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--keep 0.05..1:0.05", NULL, &c));
    assert_int_equal(norma_config_get_count(c, "keep"), 20);
    norma_test_check(norma_config_get_real(c, 19, "keep") == 1);
    norma_config_destroy(&c);
}

/* Tenths that stay what people write, over 300 steps. */
static void long_geometric_range(void **state)
{
    (void)state;
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--scale 1..1e-300:x0.1", NULL, &c));
    assert_int_equal(norma_config_get_count(c, "scale"), 301);
    for (int i = 0; i <= 300; i++) {
        char text[16];
        snprintf(text, sizeof text, "1e-%d", i);
        norma_test_check(norma_config_get_real(c, i, "scale") == strtod(text, NULL));
    }
    norma_config_destroy(&c);
}

static void bad_ranges(void **state)
{
    (void)state;
    usage("--width 7..3", "--width: range '7..3' is empty: its step leads away from its end");
    usage("--width 3..7:-1", "--width: range '3..7:-1' is empty: its step leads away from its end");
    usage("--width 3..7:0", "--width: range '3..7:0' has a step of zero: it never ends");
    usage("--width 3..7:x1", "--width: range '3..7:x1' needs a whole factor of at least 2");
    usage("--width 3..7:x1.5", "--width: range '3..7:x1.5' needs a whole factor of at least 2");
    usage("--width 3..7:1.5", "--width: range '3..7:1.5' has a step that is not a whole number");
    usage("--width 3..7:", "--width: range '3..7:' has a step that is not a whole number");
    usage("--width 8..2:x2", "--width: range '8..2:x2' is empty: its step leads away from its end");
    usage("--offset 0..8:x2",
          "--offset: range '0..8:x2' starts at zero: no factor leads away from it");
    usage("--offset -2..8:x2",
          "--offset: range '-2..8:x2' is empty: its step leads away from its end");
    usage("--width ..7", "--width: range '..7' must have two ends");
    usage("--width 3..", "--width: range '3..' must have two ends");
    usage("--width 3..5..7", "--width: range '3..5..7' is not of the form first..last:step");
    usage("--width 3..a", "--width: 'a' is not a whole number");
    usage("--scale 1..2", "--scale: range '1..2' needs a step: first..last:step or "
                          "first..last:xfactor");
    usage("--scale 1..2:0", "--scale: range '1..2:0' has a step of zero: it never ends");
    usage("--scale 1..2:-.1",
          "--scale: range '1..2:-.1' is empty: its step leads away from its end");
    usage("--scale 1..inf:1", "--scale: range '1..inf:1' must have finite ends");
    usage("--scale 1..2:inf", "--scale: range '1..2:inf' has a step that is not a finite number");
    usage("--scale 1..2:x-2", "--scale: range '1..2:x-2' needs a factor above 0 other than 1");
    usage("--scale 1..2:x1", "--scale: range '1..2:x1' needs a factor above 0 other than 1");
    usage("--scale -1..2:x2", "--scale: range '-1..2:x2' cannot go through zero by a factor");
    usage("--scale 1..2:x0.5",
          "--scale: range '1..2:x0.5' is empty: its step leads away from its end");
    usage("--width 8,,16", "--width: an empty item in the list '8,,16'");
    usage("--width 8,", "--width: an empty item in the list '8,'");
    usage("--width ,8", "--width: an empty item in the list ',8'");
    usage("--width 8,9,8", "--width: '8' is listed twice");
    usage("--width 4..9,8", "--width: '8' is listed twice");
    usage("--scale nan,1,nan", "--scale: 'nan' is listed twice");
    usage("--kernel 3,3x3", "--kernel: '3x3' is listed twice");
    usage("--data a,b,a", "--data: 'a' is listed twice");
    usage("--law he-normal..er-sign",
          "--law: unknown name 'he-normal..er-sign'. Known: he-normal, he-uniform, orthogonal, "
          "er-sign");
}

static void too_many(void **state)
{
    (void)state;
    norma_config *c = NULL;
    usage("--offset 0..1000000", "--offset: more than 1000000 values");
    usage("--offset -9223372036854775808..9223372036854775807",
          "--offset: more than 1000000 values");
    usage("--scale 0..1:1e-300", "--scale: more than 1000000 values");
    usage("--scale -1e308..1e308:1", "--scale: more than 1000000 values");
    usage("--scale 1..2:x1.0000000000000002", "--scale: more than 1000000 values");
    fixture_refuse("--offset 1..1000 --width 1..1001", NULL, NORMA_LIMIT,
                   "1000 values of offset on top of 1001 cells: a sweep has at most 1000000 cells");
    norma_test_ok(fixture_read("--offset 1..1000000", NULL, &c));
    assert_int_equal(norma_config_get_sweep(c)->n_cells, 1000000);
    assert_int_equal(norma_config_get_integer(c, 999999, "offset"), 1000000);
    norma_config_destroy(&c);
}

/* Table order makes the axes, whatever order they were given in; the last is fastest. */
static void product(void **state)
{
    (void)state;
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--seed 1,2 --law er-sign,he-normal --layers 1,2,3 --width 8,4,2",
                               "solve:\n  kernel: [1, 1x3]\n  data: one\n", &c));
    const norma_sweep *sweep = norma_config_get_sweep(c);
    static const char *const names[] = {"width", "law", "kernel", "seed"};
    static const int64_t lengths[] = {3, 2, 2, 2};
    assert_int_equal(sweep->n_axes, 4);
    assert_int_equal(sweep->n_cells, 24);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(sweep->axes[i].name, names[i]);
        assert_int_equal(sweep->axes[i].n, lengths[i]);
    }
    int64_t cell = 0;
    static const int64_t widths[] = {8, 4, 2};
    for (int64_t w = 0; w < 3; w++)
        for (int64_t l = 0; l < 2; l++)
            for (int64_t k = 0; k < 2; k++)
                for (int64_t s = 0; s < 2; s++, cell++) {
                    int64_t indices[4] = {-1, -1, -1, -1};
                    norma_sweep_get_indices(sweep, cell, indices);
                    norma_test_check(indices[0] == w && indices[1] == l && indices[2] == k &&
                                     indices[3] == s);
                    assert_int_equal(norma_sweep_get_cell(sweep, indices), cell);
                    assert_int_equal(norma_config_get_integer(c, cell, "width"), widths[w]);
                    assert_int_equal(norma_config_get_choice(c, cell, "law"), l == 0 ? 3 : 0);
                    assert_int_equal(norma_config_get_shape(c, cell, "kernel").width,
                                     k == 0 ? 1 : 3);
                    assert_int_equal((int64_t)norma_config_get_seed(c, cell, "seed"), s + 1);
                    assert_string_equal(norma_config_get_text(c, cell, "data"), "one");
                }
    norma_text text;
    norma_text_init(&text);
    norma_config_describe_cell(c, 23, &text);
    assert_string_equal(text.data, "width=2, law=he-normal, kernel=1x3, seed=2");
    norma_text_clear(&text);
    norma_config_destroy(&c);
}

/* A YAML list, a comma string in a file and one on the command line are the same sweep. */
static void same_sweep(void **state)
{
    (void)state;
    static const char *const files[] = {"solve:\n  width: [8, 16, 32..64:x2]\n",
                                        "solve:\n  width: 8,16,32..64:x2\n",
                                        "solve:\n  width: \" 8, 16,32..64:x2 \"\n",
                                        "solve:\n  width:\n    - 8\n    - 16,32\n    - 64\n"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        norma_config *c = NULL;
        norma_test_ok(fixture_read("", files[i], &c));
        assert_int_equal(norma_config_get_sweep(c)->n_cells, 4);
        for (int64_t j = 0; j < 4; j++)
            assert_int_equal(norma_config_get_integer(c, j, "width"), (int64_t)8 << j);
        norma_config_destroy(&c);
    }
}

static void settled_later(void **state)
{
    (void)state;
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--width 8,16 --offset 1,2", NULL, &c));
    norma_test_ok(norma_config_set_seed(c, "seed", UINT64_MAX));
    norma_test_check(norma_config_get_seed(c, 3, "seed") == UINT64_MAX);
    assert_string_equal(norma_config_where(c, "seed"), "seed (set by the program)");
    norma_test_ok(norma_config_set_text(c, "output", "a, b.h5"));
    assert_string_equal(norma_config_get_text(c, 0, "output"), "a, b.h5");
    norma_test_ok(norma_config_set_integer(c, "width", 32));
    assert_int_equal(norma_config_get_sweep(c)->n_cells, 2);
    assert_int_equal(norma_config_get_integer(c, 1, "offset"), 2);
    norma_test_fails(norma_config_set_integer(c, "width", 0), NORMA_CONFIG,
                     "width (set by the program): 0 is out of range");
    assert_int_equal(norma_config_get_integer(c, 0, "width"), 32);
    norma_config_destroy(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names_with_numbers), cmocka_unit_test(whole_ranges),
    cmocka_unit_test(seed_ranges),        cmocka_unit_test(real_ranges),
    cmocka_unit_test(bad_ranges),         cmocka_unit_test(long_geometric_range),
    cmocka_unit_test(too_many),           cmocka_unit_test(product),
    cmocka_unit_test(same_sweep),         cmocka_unit_test(settled_later),
};

norma_test_main_serial("config_sweep", tests)
