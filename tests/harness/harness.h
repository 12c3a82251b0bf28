#ifndef NORMA_TESTS_HARNESS_H
#define NORMA_TESTS_HARNESS_H
/*
 * Test harness on cmocka, for serial tests. A watchdog ends a test program that does not end by
 * itself. mpi_harness.h adds agreement across ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

#include "src/base/status.h"

/* Seconds after which a test program is ended as hung; NORMA_TEST_TIMEOUT overrides. */
#define NORMA_TEST_DEFAULT_TIMEOUT 540

/* |a - b| <= absolute + relative * max(|a|, |b|); false for NaN. */
bool norma_test_close(double a, double b, double relative, double absolute);

/* max |a_i - b_i| over n values; NaN where one is. */
double norma_test_max_difference(const double *a, const double *b, int64_t n);

/* sqrt(n) times the Kolmogorov-Smirnov distance between n numbers, which are sorted, and the law
 * whose distribution function is given; NaN where one is. */
double norma_test_kolmogorov_smirnov(double *numbers, int64_t n, double (*law)(double));

/* Fails with a message when condition is false (serial tests only). */
#define norma_test_check(condition)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s", #condition);                                                            \
    } while (0)

/* Fails, printing both, when two doubles differ by more than relative. */
#define norma_test_check_close(a, b, relative)                                                     \
    do {                                                                                           \
        double norma_test_a = (a), norma_test_b = (b);                                             \
        if (!norma_test_close(norma_test_a, norma_test_b, (relative), 0))                          \
            fail_msg("%s = %.17g, %s = %.17g, relative tolerance %g", #a, norma_test_a, #b,        \
                     norma_test_b, (double)(relative));                                            \
    } while (0)

/* Fails with the recorded message when call does not return NORMA_OK. */
#define norma_test_ok(call)                                                                        \
    do {                                                                                           \
        if ((call) != NORMA_OK)                                                                    \
            fail_msg("%s: %s", #call, norma_status_error()->message);                              \
    } while (0)

/* Fails unless call returns `expected` and its message contains `text`; then clears the record. */
#define norma_test_fails(call, expected, text)                                                     \
    do {                                                                                           \
        norma_status_clear();                                                                      \
        norma_status norma_test_status = (call);                                                   \
        if (norma_test_status != (expected))                                                       \
            fail_msg("%s gave status %d, not %d", #call, (int)norma_test_status, (int)(expected)); \
        if (!norma_test_contains(norma_status_error()->message, (text)))                           \
            fail_msg("%s: message '%s' lacks '%s'", #call, norma_status_error()->message, (text)); \
        norma_status_clear();                                                                      \
    } while (0)

bool norma_test_contains(const char *message, const char *text);

/* Starts the watchdog. */
void norma_test_start_watchdog(void);

/* Runs a group of serial tests: watchdog, cmocka, leak count. Returns main's exit code. */
int norma_test_run_serial(const char *name, const struct CMUnitTest *tests, size_t n_tests);

#define norma_test_main_serial(name, tests)                                                        \
    int main(void)                                                                                 \
    {                                                                                              \
        return norma_test_run_serial(name, tests, sizeof(tests) / sizeof((tests)[0]));             \
    }

#endif
