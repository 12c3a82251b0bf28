/* src/base/names: names and summaries of a table, a part of it, a plain list; what is unknown. */
#include "src/base/names.h"
#include "tests/harness/harness.h"

static const struct {
    const char *name, *summary;
    double more;
} table[] = {{"lower", "the first", 1}, {"upper-half", "the second", 2}, {"whole", "the third", 3}};

static bool is_not_second(int64_t i)
{
    return i != 1;
}

static const norma_names all = NORMA_NAMES("triangle", "triangles", table);
static const norma_synonym synonyms[] = {{"total", "whole"}, {"half", "upper-half"}, {NULL, NULL}};
static const norma_names wide = NORMA_NAMES_WITH("triangle", "triangles", table, NULL, synonyms);
static const norma_names narrow = NORMA_NAMES_WITH("side", "sides", table, is_not_second, synonyms);
static const norma_names part = NORMA_NAMES_OF("side", "sides", table, is_not_second);

static void members(void **state)
{
    (void)state;
    assert_int_equal(all.n, 3);
    assert_string_equal(norma_names_name(&all, 1), "upper-half");
    assert_string_equal(norma_names_summary(&all, 2), "the third");
    assert_null(norma_names_name(&all, 3));
    assert_null(norma_names_name(&all, -1));
    assert_null(norma_names_name(&part, 1));
    assert_null(norma_names_summary(&part, 1));
    assert_int_equal(norma_names_next(&part, 1), 2);
    assert_int_equal(norma_names_next(&part, 3), 3);
    assert_int_equal(norma_names_index(&part, "whole"), 2); /* numbers are those of the table */
    assert_int_equal(norma_names_index(&part, "upper-half"), -1);
}

static void plain_list(void **state)
{
    (void)state;
    static const char *const list[] = {"max2", "avg2", NULL};
    norma_names names = norma_names_of_list("pool", list);
    assert_int_equal(names.n, 2);
    assert_string_equal(norma_names_name(&names, 1), "avg2");
    assert_null(norma_names_summary(&names, 1));
}

static void find(void **state)
{
    (void)state;
    int64_t i = -1;
    norma_test_ok(norma_names_find(&all, "upper_half", &i)); /* '_' counts as '-' */
    assert_int_equal(i, 1);
    norma_test_fails(norma_names_find(&all, "uper-half", &i), NORMA_CONFIG,
                     "unknown triangle 'uper-half'; did you mean 'upper-half'? Known: lower, "
                     "upper-half, whole");
    norma_test_fails(norma_names_find(&part, "upper-half", &i), NORMA_CONFIG,
                     "unknown side 'upper-half'. Known: lower, whole");
    norma_test_fails(norma_names_find(&all, "lower-", &i), NORMA_CONFIG, "'lower'?");
    norma_test_fails(norma_names_find(&all, "low", &i), NORMA_CONFIG, "'lower'?");
    norma_test_fails(norma_names_find(&all, "", &i), NORMA_CONFIG, "unknown triangle ''. Known");
    norma_test_fails(norma_names_fail(&all, NORMA_USAGE, "z\x01"), NORMA_USAGE, "'z?'");
    assert_int_equal(i, 1);
}

/* Other names lead to members only; without synonyms capitals matter. */
static void other_names(void **state)
{
    (void)state;
    int64_t i = -1;
    assert_int_equal(norma_names_index(&wide, "Upper_Half"), 1);
    assert_int_equal(norma_names_index(&wide, "TOTAL"), 2);
    assert_int_equal(norma_names_index(&wide, "half"), 1);
    assert_int_equal(norma_names_index(&narrow, "half"), -1);
    assert_int_equal(norma_names_index(&all, "Lower"), -1);
    assert_int_equal(norma_names_index(&all, "total"), -1);
    norma_test_fails(norma_names_find(&wide, "totally", &i), NORMA_CONFIG,
                     "unknown triangle 'totally'. Known: lower, upper-half, whole");
    norma_test_fails(norma_names_find(&wide, "Lowr", &i), NORMA_CONFIG, "did you mean 'lower'?");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(members),
    cmocka_unit_test(plain_list),
    cmocka_unit_test(find),
    cmocka_unit_test(other_names),
};

norma_test_main_serial("src.names", tests)
