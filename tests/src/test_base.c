/* src/base: statuses, memory, index arithmetic. */
#include "tests/harness/harness.h"

#include "src/base/index.h"
#include "src/base/largest.h"
#include "src/base/mem.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void test_first_error_stays(void **state)
{
    (void)state;
    norma_status_clear();
    assert_int_equal(NORMA_FAIL(NORMA_CONFIG, "first %d", 1), NORMA_CONFIG);
    assert_int_equal(NORMA_FAIL(NORMA_IO, "second"), NORMA_IO);
    assert_int_equal(norma_status_error()->status, NORMA_CONFIG);
    assert_string_equal(norma_status_error()->message, "first 1");
    assert_int_equal(norma_status_context(NORMA_CONFIG, "layer %d: ", 3), NORMA_CONFIG);
    assert_string_equal(norma_status_error()->message, "layer 3: first 1");
    norma_status_clear();
    assert_int_equal(norma_status_error()->status, NORMA_OK);
}

static void test_long_messages_are_cut(void **state)
{
    (void)state;
    char text[3 * NORMA_MESSAGE_LENGTH];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    norma_status_clear();
    (void)NORMA_FAIL(NORMA_IO, "%s", text);
    (void)norma_status_context(NORMA_IO, "here: ");
    assert_int_equal(strlen(norma_status_error()->message), NORMA_MESSAGE_LENGTH - 1);
    assert_memory_equal(norma_status_error()->message, "here: x", 7);
    norma_status_clear();
}

static void test_exit_codes(void **state)
{
    (void)state;
    static const int expected[NORMA_N_STATUS] = {0, 2, 2, 3, 3, 4, 4, 5, 75, 1};
    for (int s = 0; s < NORMA_N_STATUS; s++) {
        assert_int_equal(norma_status_exit_code((norma_status)s), expected[s]);
        assert_true(strlen(norma_status_text((norma_status)s)) > 0);
    }
}

static void test_memory(void **state)
{
    (void)state;
    int64_t before = norma_mem_live();
    double *x = NULL;
    norma_test_ok(NORMA_CALLOC(x, 1000));
    assert_int_equal((uintptr_t)x % NORMA_ALIGNMENT, 0);
    for (int i = 0; i < 1000; i++)
        assert_true(x[i] == 0);
    x[999] = 7;
    double *y = norma_mem_resize(x, 1000, 2000, sizeof *x, __FILE__, __LINE__);
    assert_non_null(y);
    assert_true(y[999] == 7);
    assert_int_equal(norma_mem_live(), before + 1);
    NORMA_FREE(y);
    assert_null(y);
    assert_int_equal(norma_mem_live(), before);
    norma_test_fails(NORMA_ALLOC(x, -1), NORMA_MEMORY, "-1 elements");
    norma_test_fails(NORMA_ALLOC(x, INT64_MAX / 4), NORMA_MEMORY, "cannot allocate");
    assert_int_equal(norma_mem_live(), before);
}

static void test_index(void **state)
{
    (void)state;
    int n = 0;
    int64_t product = 0;
    norma_test_ok(norma_index_to_int(INT_MAX, "rows", &n));
    assert_int_equal(n, INT_MAX);
    norma_test_fails(norma_index_to_int((int64_t)INT_MAX + 1, "rows", &n), NORMA_LIMIT, "rows");
    norma_test_fails(norma_index_to_int(-1, "rows", &n), NORMA_LIMIT, "rows");
    norma_test_ok(norma_index_multiply(INT64_C(1) << 31, (INT64_C(1) << 31) + 1, "n", &product));
    assert_true(product == (INT64_C(1) << 62) + (INT64_C(1) << 31));
    norma_test_fails(norma_index_multiply(INT64_C(1) << 32, INT64_C(1) << 31, "bytes", &product),
                     NORMA_LIMIT, "bytes");
    assert_true(norma_index_ceil_divide(INT64_MAX, 2) == (INT64_C(1) << 62));
}

static void test_shares_cover_and_balance(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 40; n++)
        for (int64_t parts = 1; parts < 9; parts++) {
            int64_t next = 0;
            for (int64_t part = 0; part < parts; part++) {
                int64_t first = -1;
                int64_t count = norma_index_share(n, parts, part, &first);
                assert_true(first == next);
                assert_true(count == n / parts || count == n / parts + 1);
                next += count;
            }
            assert_true(next == n);
        }
}

/* Against what is put in, for every length and place of the largest element; NaN wins. */
static void test_largest_magnitude(void **state)
{
    double x[11];
    (void)state;
    for (int64_t n = 0; n <= 11; n++)
        for (int64_t at = 0; at < n; at++) {
            for (int64_t k = 0; k < n; k++)
                x[k] = k % 2 ? -1e-310 : 0.5;
            x[at] = at % 2 ? 2.5 : -2.5;
            assert_true(norma_largest_magnitude(n, x) == 2.5);
            x[at] = -INFINITY;
            assert_true(isinf(norma_largest_magnitude(n, x)));
            x[at] = -NAN;
            assert_true(isnan(norma_largest_magnitude(n, x)));
        }
    assert_true(norma_largest_magnitude(0, x) == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_first_error_stays),
    cmocka_unit_test(test_long_messages_are_cut),
    cmocka_unit_test(test_exit_codes),
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_index),
    cmocka_unit_test(test_largest_magnitude),
    cmocka_unit_test(test_shares_cover_and_balance),
};

norma_test_main_serial("src.base", tests)
