#include "tests/harness/harness.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool norma_test_close(double a, double b, double relative, double absolute)
{
    if (isinf(a) || isinf(b))
        return a == b;
    return fabs(a - b) <= absolute + relative * fmax(fabs(a), fabs(b));
}

double norma_test_max_difference(const double *a, const double *b, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = fabs(a[i] - b[i]);
        if (isnan(difference))
            return difference;
        worst = difference > worst ? difference : worst;
    }
    return worst;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double norma_test_kolmogorov_smirnov(double *numbers, int64_t n, double (*law)(double))
{
    double worst = 0;
    qsort(numbers, (size_t)n, sizeof *numbers, compare_doubles);
    for (int64_t i = 0; i < n; i++) {
        double p = law(numbers[i]);
        if (isnan(p))
            return p;
        double above = p - (double)i / (double)n, below = (double)(i + 1) / (double)n - p;
        worst = above > worst ? above : worst;
        worst = below > worst ? below : worst;
    }
    return worst * sqrt((double)n);
}

bool norma_test_contains(const char *message, const char *text)
{
    return strstr(message, text) != NULL;
}

void norma_test_start_watchdog(void)
{
    const char *text = getenv("NORMA_TEST_TIMEOUT");
    int seconds = text ? atoi(text) : NORMA_TEST_DEFAULT_TIMEOUT;
    alarm((unsigned)(seconds > 0 ? seconds : NORMA_TEST_DEFAULT_TIMEOUT));
}

int norma_test_run_serial(const char *name, const struct CMUnitTest *tests, size_t n_tests)
{
    norma_test_start_watchdog();
    int n_failed = _cmocka_run_group_tests(name, tests, n_tests, NULL, NULL);
    if (norma_mem_live() != 0) {
        fprintf(stderr, "%s: %lld allocations alive at the end\n", name,
                (long long)norma_mem_live());
        return EXIT_FAILURE;
    }
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
