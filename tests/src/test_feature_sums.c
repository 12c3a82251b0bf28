/* src/features/feature_sums: both sums against an assembled matrix, for both rules, kernel splits
 * and any number of parts. */
#include "tests/harness/harness.h"
#include "tests/harness/planned_memory.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "src/features/feature_sums.h"

#include <string.h>

enum { max_weights = 200000 };

typedef struct weights {
    int64_t n_first, n_second; /* numbers of a feature */
    double first[max_weights], second[max_weights];
} weights;

static weights w;

static void fill(const void *context, int64_t start, int64_t count, double *first, double *second)
{
    const weights *all = context;
    memcpy(first, all->first + start * all->n_first,
           (size_t)(count * all->n_first) * sizeof *first);
    memcpy(second, all->second + start * all->n_second,
           (size_t)(count * all->n_second) * sizeof *second);
}

/* Sums of the squares of M and of M'M, M assembled. */
static norma_feature_sums assemble(const norma_width_rule *rule, int64_t c1)
{
    norma_feature_sums sums = {0, 0};
    double *m = NULL;
    int64_t n = rule->n_rows;
    norma_test_ok(NORMA_ALLOC(m, n * c1));
    for (int64_t f = 0; f < c1; f++)
        norma_width_rule_fill(rule, w.second + f * w.n_second, w.first + f * w.n_first, 0, n,
                              m + f * n);
    for (int64_t f = 0; f < c1; f++)
        for (int64_t g = 0; g < c1; g++) {
            double product = 0;
            for (int64_t r = 0; r < n; r++)
                product += m[f * n + r] * m[g * n + r];
            sums.fourths += product * product;
            sums.squares += f == g ? product : 0;
        }
    NORMA_FREE(m);
    return sums;
}

static void check(norma_kernel_shape first, norma_kernel_shape second, norma_width width,
                  int64_t c2, int64_t c0, int64_t c1)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST};
    norma_khatri_rao_shape shape = {.n_channels_out = c2, .n_channels_in = c0};
    norma_width_rule *rule = NULL;
    double *target = NULL;
    const norma_kernel_shape whole = {first.height + second.height - 1,
                                      first.width + second.width - 1};
    norma_test_ok(norma_kernel_init(&shape.kernel, first, second, whole));
    int64_t n = norma_khatri_rao_n_rows(&shape);
    w.n_first = norma_khatri_rao_width_first(&shape);
    w.n_second = norma_khatri_rao_width_second(&shape);
    assert_true(c1 * w.n_first <= max_weights && c1 * w.n_second <= max_weights);
    norma_rng_fill_normal(1, &stream, 0, c1 * w.n_first, w.first);
    norma_rng_fill_normal(2, &stream, 0, c1 * w.n_second, w.second);
    norma_test_ok(NORMA_ALLOC(target, n));
    norma_rng_fill_normal(3, &stream, 0, n, target);
    memset(target, 0, (size_t)(n / c2) * sizeof *target); /* channel 0 leaves the min rule */
    norma_test_ok(norma_width_rule_create(width, &shape, target, &rule));
    const norma_khatri_rao_source source = {fill, &w};
    norma_feature_sums expected = assemble(rule, c1);
    for (int n_parts = 1; n_parts <= 3; n_parts++) {
        norma_feature_sums sums = {0, 0};
        norma_feature_sums fewer = {0, 0};
        for (int part = 0; part < n_parts; part++) {
            norma_feature_sums one = {0, 0};
            norma_test_takes(
                norma_feature_sums_bytes(&shape),
                norma_feature_sums_compute(rule, &source, c1, true, part, n_parts, &one));
            sums.squares += one.squares;
            sums.fourths += one.fourths;
            norma_test_ok(
                norma_feature_sums_compute(rule, &source, c1, false, part, n_parts, &one));
            fewer.squares += one.squares;
            fewer.fourths += one.fourths;
        }
        norma_test_check_close(sums.squares, expected.squares, 1e-12);
        norma_test_check_close(sums.fourths, expected.fourths, 1e-12);
        norma_test_check_close(fewer.squares, expected.squares, 1e-12);
        assert_true(fewer.fourths == 0);
    }
    norma_width_rule_destroy(&rule);
    NORMA_FREE(target);
}

static void test_sums(void **state)
{
    (void)state;
    static const norma_kernel_shape shapes[] = {{1, 1}, {3, 3}, {1, 3}, {2, 1}};
    for (int k = 0; k < 4; k++)
        for (int l = 0; l < 4; l++)
            for (int width = 0; width < NORMA_N_WIDTHS; width++) {
                if (k == 1 && l == 1)
                    continue; /* below, with fewer features */
                check(shapes[k], shapes[l], (norma_width)width, 3, 2, 150);
            }
    check(shapes[1], shapes[1], NORMA_WIDTH_MIN, 2, 2, 30);
    check(shapes[0], shapes[0], NORMA_WIDTH_MAX, 5, 7, 300);
    check(shapes[0], shapes[0], NORMA_WIDTH_MIN, 7, 5, 1);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums)};

norma_test_main_serial("src.feature_sums", tests)
