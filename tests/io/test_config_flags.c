/* Flags: every type, every refusal with its whole message. */
#include "src/config/config_number.h"
#include "tests/io/config_fixture.h"

#include <math.h>

static void usage(const char *flags, const char *message)
{
    fixture_refuse(flags, NULL, NORMA_USAGE, message);
}

static void defaults(void **state)
{
    (void)state;
    norma_config *c = NULL;
    norma_test_ok(fixture_read("", NULL, &c));
    assert_int_equal(norma_config_get_integer(c, 0, "width"), 8);
    norma_test_check(norma_config_get_real(c, 0, "keep") == 0.5);
    assert_string_equal(norma_config_get_text(c, 0, "law"), "he-normal");
    assert_int_equal(norma_config_get_choice(c, 0, "law"), 0);
    assert_string_equal(norma_config_get_text(c, 0, "split"), "second");
    assert_int_equal(norma_config_get_shape(c, 0, "kernel").width, 3);
    assert_int_equal(norma_config_get_integer(c, 0, "excess"), 0);
    norma_test_check(!norma_config_get_flag(c, "fast") && !norma_config_get_flag(c, "force"));
    norma_test_check(!norma_config_has(c, "seed") && !norma_config_has(c, "offset"));
    norma_test_check(!norma_config_has(c, "features") && !norma_config_has(c, "input"));
    norma_test_check(norma_config_has(c, "width") && !norma_config_is_given(c, "width"));
    assert_int_equal(norma_config_get_count(c, "layers"), 0);
    assert_int_equal(norma_config_get_sweep(c)->n_cells, 1);
    assert_string_equal(norma_config_where(c, "width"), "width (default)");
    norma_config_destroy(&c);
}

static void every_type(void **state)
{
    (void)state;
    norma_config *c = NULL;
    norma_test_ok(fixture_read("--width 1e3 --offset -5 --scale=-inf --keep .25 --law orthogonal "
                               "--kernel 1x5 --split 3x3+1x1 --data mnist --file a,b..c --fast "
                               "--layers 0,2..4 --time-limit 1:02:03 --features 12 "
                               "--seed 18446744073709551615 --save gamma,weights in.h5 --quiet",
                               NULL, &c));
    assert_int_equal(norma_config_get_integer(c, 0, "width"), 1000);
    assert_int_equal(norma_config_get_integer(c, 0, "offset"), -5);
    norma_test_check(norma_config_get_real(c, 0, "scale") == -INFINITY);
    norma_test_check(norma_config_get_real(c, 0, "keep") == 0.25);
    assert_int_equal(norma_config_get_choice(c, 0, "law"), 2);
    assert_int_equal(norma_config_get_shape(c, 0, "kernel").height, 1);
    assert_int_equal(norma_config_get_shape(c, 0, "kernel").width, 5);
    assert_string_equal(norma_config_get_text(c, 0, "split"), "3x3+1x1");
    assert_string_equal(norma_config_get_text(c, 0, "file"), "a,b..c");
    assert_string_equal(norma_config_get_text(c, 0, "input"), "in.h5");
    norma_test_check(norma_config_get_flag(c, "fast") && norma_config_get_flag(c, "quiet"));
    assert_int_equal(norma_config_get_count(c, "layers"), 4);
    assert_int_equal(norma_config_get_integer(c, 3, "layers"), 4);
    norma_test_check(norma_config_get_seconds(c, 0, "time-limit") == 3723);
    norma_test_check(norma_config_get_seed(c, 0, "seed") == UINT64_MAX);
    norma_test_check(norma_config_list_holds(c, "save", "weights"));
    norma_test_check(!norma_config_list_holds(c, "save", "spectrum"));
    norma_test_check(norma_config_is_given(c, "width") && !norma_config_has(c, "excess"));
    assert_string_equal(norma_config_where(c, "width"), "--width");
    norma_test_check(norma_config_blame(c, "width") == NORMA_USAGE);
    norma_test_check(norma_config_blame(c, "samples") == NORMA_CONFIG);
    static const char *const given[] = {"excess", "samples", "width", "offset", NULL};
    norma_test_fails(norma_config_refuse_given(c, given, "too wide"), NORMA_USAGE,
                     "--width: too wide");
    static const char *const not_given[] = {"excess", "samples", NULL};
    norma_test_ok(norma_config_refuse_given(c, not_given, "too wide"));
    norma_test_fails(norma_config_refuse(c, "samples", "too few"), NORMA_CONFIG,
                     "samples (default): too few");
    norma_config_destroy(&c);
    norma_test_ok(fixture_read("--fast=false --offset=-9223372036854775808 -- --odd.h5", NULL, &c));
    norma_test_check(!norma_config_get_flag(c, "fast"));
    norma_test_check(norma_config_get_integer(c, 0, "offset") == INT64_MIN);
    assert_string_equal(norma_config_get_text(c, 0, "input"), "--odd.h5");
    norma_config_destroy(&c);
}

static void unknown(void **state)
{
    (void)state;
    usage("--exces 3", "--exces: unknown option of 'norma solve'; did you mean '--excess'?");
    usage("--exces=3", "--exces: unknown option of 'norma solve'; did you mean '--excess'?");
    usage("--rep 3", "--rep: unknown option of 'norma solve'; did you mean '--replicas'?");
    usage("--hlep", "--hlep: unknown option of 'norma solve'; did you mean '--help'?");
    usage("-seed 3", "-seed: unknown option of 'norma solve'; did you mean '--seed'?");
    usage("--zebra", "--zebra: unknown option; 'norma solve --help' lists them");
    usage("--input x", "--input: unknown option; 'norma solve --help' lists them");
    usage("a b", "unexpected argument 'b'; see 'norma solve --help'");
    usage("a width 8", "unexpected argument 'width'; did you mean '--width'?");
}

static void misuse(void **state)
{
    (void)state;
    usage("--width 8 --width 9", "--width: given twice");
    usage("--fast --fast=false", "--fast: given twice");
    usage("--width", "--width: needs a value");
    usage("--file --fast", "--file: needs a value, but '--fast' follows (a value that begins so is "
                           "given as --file=...)");
    usage("--width --fast", "--width: needs a value, but '--fast' follows (a value that begins so "
                            "is given as --width=...)");
    usage("--width=", "--width: the value is empty");
    usage("--file=", "--file: the value is empty");
    usage("--fast=yes", "--fast: 'yes' is not true or false");
    usage("--features 8 --overparam 0.1", "--overparam: excludes --features; give one of them");
    usage("--quiet --verbose", "--verbose: excludes --quiet; give one of them");
    usage("--file=\xff", "--file: the value is not UTF-8 (byte 0xff)");
    usage("--widt\xff", "--widt?: unknown option of 'norma solve'; did you mean '--width'?");
}

static void bad_values(void **state)
{
    (void)state;
    usage("--width abc", "--width: 'abc' is not a whole number");
    usage("--width 1.5", "--width: '1.5' is not a whole number");
    usage("--width 0x10", "--width: '0x10' is not a whole number");
    usage("--width 0", "--width: 0 is out of range; it must be at least 1 and at most 100000");
    usage("--width -3", "--width: -3 is out of range; it must be at least 1 and at most 100000");
    usage("--offset 9223372036854775808",
          "--offset: '9223372036854775808' is beyond the whole numbers of 64 bits");
    usage("--seed -1", "--seed: '-1' is not a whole number from 0 to 18446744073709551615");
    usage("--seed 18446744073709551616",
          "--seed: '18446744073709551616' is not a whole number from 0 to 18446744073709551615");
    usage("--keep 0", "--keep: 0 is out of range; it must be above 0 and at most 1");
    usage("--keep 1.0000001",
          "--keep: 1.0000001 is out of range; it must be above 0 and at most 1");
    usage("--keep inf", "--keep: 'inf' is not allowed; a finite number is needed");
    usage("--keep nan", "--keep: 'nan' is not allowed; a finite number is needed");
    usage("--keep 1e-999", "--keep: '1e-999' is beyond the range of double precision");
    usage("--keep 0,5", "--keep: 0 is out of range; it must be above 0 and at most 1");
    usage("--law he-norml", "--law: unknown name 'he-norml'; did you mean 'he-normal'? Known: "
                            "he-normal, he-uniform, orthogonal, er-sign");
    usage("--law zebra", "--law: unknown name 'zebra'. Known: he-normal, he-uniform, orthogonal, "
                         "er-sign");
    usage("--kernel 3x", "--kernel: '3x' is not a shape such as 3x3 (height x width) or 3");
    usage("--kernel 0x3", "--kernel: '0x3' is not a shape such as 3x3 (height x width) or 3");
    usage("--kernel 3x33",
          "--kernel: 3x33 is out of range; both numbers must be at least 1 and at most 31");
    usage("--time-limit 90x", "--time-limit: '90x' is not a duration such as 90s, 15min, 2h, 1d or "
                              "HH:MM:SS");
    usage("--time-limit 0s", "--time-limit: 0s is out of range; it must be above 0");
    usage("--split frist", "--split: 'frist'; expected first, second or HxW+HxW");
    usage("--samples 1,2", "--samples: takes one value, not the list '1,2'");
    usage("--samples 1..3", "--samples: takes one value, not the list '1..3'");
    usage("--save gama", "--save: unknown name 'gama'; did you mean 'gamma'? Known: gamma, "
                         "spectrum, weights");
}

static void whole_numbers(void **state)
{
    (void)state;
    int64_t i = 0;
    uint64_t u = 0;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"1e6", 1000000},
                {"1.5e1", 15},
                {"2.0", 2},
                {"120e-1", 12},
                {".5e1", 5},
                {"0e99999", 0},
                {"-1E3", -1000},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"9.223372036854775807e18", INT64_MAX}};
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        assert_int_equal(norma_number_read_integer(good[k].text, &i), NORMA_NUMBER_OK);
        norma_test_check(i == good[k].value);
    }
    static const char *const malformed[] = {"",    "-",  "+",  ".",     "e5",    "1e",  "1e+",
                                            "--1", "1 ", " 1", "1_000", "1.2.3", "0b1", "inf"};
    for (size_t k = 0; k < sizeof malformed / sizeof malformed[0]; k++)
        assert_int_equal(norma_number_read_integer(malformed[k], &i), NORMA_NUMBER_MALFORMED);
    assert_int_equal(norma_number_read_integer("1e-1", &i), NORMA_NUMBER_FRACTIONAL);
    assert_int_equal(norma_number_read_integer("15e-1", &i), NORMA_NUMBER_FRACTIONAL);
    assert_int_equal(norma_number_read_integer("1e19", &i), NORMA_NUMBER_OVERFLOW);
    assert_int_equal(norma_number_read_integer("1e100000000000000000000", &i),
                     NORMA_NUMBER_OVERFLOW);
    assert_int_equal(norma_number_read_integer("-9223372036854775809", &i), NORMA_NUMBER_OVERFLOW);
    assert_int_equal(norma_number_read_unsigned("18446744073709551615", &u), NORMA_NUMBER_OK);
    norma_test_check(u == UINT64_MAX);
    assert_int_equal(norma_number_read_unsigned("18446744073709551616", &u), NORMA_NUMBER_OVERFLOW);
    assert_int_equal(norma_number_read_unsigned("-1", &u), NORMA_NUMBER_OVERFLOW);
    assert_int_equal(norma_number_read_unsigned("-0", &u), NORMA_NUMBER_OK);
}

static void real_numbers(void **state)
{
    (void)state;
    double x = 0;
    static const char *const malformed[] = {"",       "0x1p3", "infinity", "1e",  "1,5",
                                            "nan(1)", "1.0f",  "--1",      "1e5 "};
    for (size_t k = 0; k < sizeof malformed / sizeof malformed[0]; k++)
        assert_int_equal(norma_number_read_real(malformed[k], &x), NORMA_NUMBER_MALFORMED);
    assert_int_equal(norma_number_read_real(".inf", &x), NORMA_NUMBER_OK);
    norma_test_check(x == INFINITY);
    assert_int_equal(norma_number_read_real("-.INF", &x), NORMA_NUMBER_OK);
    norma_test_check(x == -INFINITY);
    assert_int_equal(norma_number_read_real(".NaN", &x), NORMA_NUMBER_OK);
    norma_test_check(isnan(x));
    assert_int_equal(norma_number_read_real("1e400", &x), NORMA_NUMBER_OVERFLOW);
    assert_int_equal(norma_number_read_real("5e-324", &x), NORMA_NUMBER_OK);
    norma_test_check(x == 5e-324);
    assert_int_equal(norma_number_read_real("0e-999", &x), NORMA_NUMBER_OK);
    norma_test_check(x == 0);
}

static void durations(void **state)
{
    (void)state;
    double x = 0;
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"90s", 90},   {"15min", 900},   {"2h", 7200},         {"1.5h", 5400},
                {"1d", 86400}, {"00:01:30", 90}, {"100:00:00", 3.6e5}, {"1-12:00:00", 129600},
                {".5s", 0.5},  {"90", 90},       {"0.5", 0.5}};
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        assert_int_equal(norma_number_read_duration(good[k].text, &x), NORMA_NUMBER_OK);
        norma_test_check(x == good[k].seconds);
    }
    static const char *const bad[] = {"",       "s",       "90 s",     "90m",      "-5s",
                                      "1:30",   "1:60:00", "0:00:60",  "infs",     "1:2:3:4",
                                      "1-2:00", "nanmin",  "1:00:00s", "-1:00:00", "1--1:00:00"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        assert_int_equal(norma_number_read_duration(bad[k], &x), NORMA_NUMBER_MALFORMED);
}

static void help_wanted(void **state)
{
    (void)state;
    char width[] = "--width", help[] = "--help", h[] = "-h", end[] = "--";
    char *const no[] = {width, end, help}, *const yes[] = {width, help}, *const brief[] = {h};
    norma_test_check(!norma_config_wants_help(3, no) && !norma_config_wants_help(0, NULL));
    norma_test_check(norma_config_wants_help(2, yes) && norma_config_wants_help(1, brief));
}

/* A comma behind a backslash belongs to a text. */
static void commas(void **state)
{
    (void)state;
    static char flag[] = "--data";
    static char value[] = "a\\,b.h5,c\\\\,d,e\\f";
    char *arguments[] = {flag, value};
    norma_config *c = NULL;
    norma_test_ok(norma_config_parse(&fixture_command, 2, arguments, &c));
    norma_test_ok(norma_config_settle(c));
    assert_int_equal(norma_config_get_count(c, "data"), 3);
    assert_string_equal(norma_config_get_text(c, 0, "data"), "a,b.h5");
    assert_string_equal(norma_config_get_text(c, 1, "data"), "c\\,d");
    assert_string_equal(norma_config_get_text(c, 2, "data"), "e\\f");
    norma_config_destroy(&c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(defaults),     cmocka_unit_test(every_type), cmocka_unit_test(unknown),
    cmocka_unit_test(misuse),       cmocka_unit_test(bad_values), cmocka_unit_test(whole_numbers),
    cmocka_unit_test(real_numbers), cmocka_unit_test(durations),  cmocka_unit_test(help_wanted),
    cmocka_unit_test(commas),
};

norma_test_main_serial("config_flags", tests)
