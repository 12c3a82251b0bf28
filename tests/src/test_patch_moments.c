/* src/network/patch_moments: means and covariances of patches against sums over every position, in
 * one piece and in several, with values that differ by many orders; what it refuses. */
#include "src/base/mem.h"
#include "src/network/patch_moments.h"
#include "tests/harness/harness.h"
#include "tests/harness/planned_memory.h"

#include <math.h>
#include <string.h>

enum { IMAGES = 6, CHANNELS = 2, HEIGHT = 5, WIDTH = 4, TAPS = 6, INPUTS = CHANNELS * TAPS };
enum { SIZE = CHANNELS * HEIGHT * WIDTH };

/* A 2 x 3 kernel with stride 2 along rows, one row of zeros before and two columns behind. */
static const norma_patch patch = {.input = {CHANNELS, HEIGHT, WIDTH},
                                  .kernel = {2, 3},
                                  .stride = {2, 1},
                                  .dilation = {1, 1},
                                  .padding = {1, 0},
                                  .height = 3,
                                  .width = 4};

/* Pseudo-random numbers in (-1, 1); channel 1 of image 3 has one that is `outlier`. */
static void fill(double outlier, double *x)
{
    uint64_t state = 88172645463325252u;
    for (int e = 0; e < IMAGES * SIZE; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[e] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    if (outlier != 0)
        x[3 * SIZE + HEIGHT * WIDTH + 7] = outlier;
}

static double value_at(const double *image, int input, int row, int column)
{
    int tap = input % TAPS;
    int y = row * 2 + tap / 3 - 1;
    int x = column + tap % 3;
    if (y < 0 || y >= HEIGHT || x >= WIDTH)
        return 0;
    return image[(input / TAPS * HEIGHT + y) * WIDTH + x];
}

/* By the definition, in extended precision. */
static void expect(const double *x, double *mean, double *covariance)
{
    const long double n = IMAGES * 12;
    for (int a = 0; a < INPUTS; a++)
        for (int b = 0; b < INPUTS; b++) {
            long double of_a = 0, of_b = 0, of_both = 0;
            for (int k = 0; k < IMAGES * 12; k++) {
                const double *image = x + k / 12 * SIZE;
                double u = value_at(image, a, k % 12 / 4, k % 4);
                double v = value_at(image, b, k % 12 / 4, k % 4);
                of_a += u;
                of_b += v;
                of_both += (long double)u * v;
            }
            mean[a] = (double)(of_a / n);
            covariance[a * INPUTS + b] = (double)(of_both / n - of_a / n * (of_b / n));
        }
}

/* The images in pieces of `piece`, the last first, summed as ranks would. */
static void measure(const double *x, double largest, int piece, double *mean, double *covariance)
{
    norma_patch_moments *all = NULL;
    norma_test_ok(norma_patch_moments_create(&patch, IMAGES, largest, &all));
    for (int begin = IMAGES - piece; begin >= 0; begin -= piece) {
        norma_patch_moments *part = NULL;
        int n_threads = 1 + begin % 2;
        int64_t before = norma_mem_count_bytes();
        norma_test_ok(norma_patch_moments_create(&patch, IMAGES, largest, &part));
        norma_test_ok(norma_patch_moments_add(part, piece, n_threads, x + begin * SIZE));
        norma_test_check_close((double)(norma_mem_count_bytes() - before),
                               norma_patch_moments_bytes(&patch, n_threads), 0);
        for (int64_t e = 0; e < all->n_sums; e++) {
            all->high[e] += part->high[e];
            all->low[e] += part->low[e];
        }
        all->n_images += piece;
        norma_patch_moments_destroy(&part);
    }
    norma_patch_moments_finish(all, mean, covariance);
    norma_patch_moments_destroy(&all);
}

static void test_definition(void **state)
{
    (void)state;
    double x[IMAGES * SIZE];
    double mean[INPUTS], covariance[INPUTS * INPUTS], expected_mean[INPUTS];
    double expected[INPUTS * INPUTS], other_mean[INPUTS], other[INPUTS * INPUTS];
    static const double outliers[] = {0, 1e9}; /* the others' sums are small beside its own */
    for (int k = 0; k < 2; k++) {
        fill(outliers[k], x);
        expect(x, expected_mean, expected);
        measure(x, fmax(1, outliers[k]), IMAGES, mean, covariance);
        /* Channel 0 never meets the outlier. */
        int n = k == 0 ? INPUTS : TAPS;
        for (int a = 0; a < n; a++) {
            assert_true(fabs(mean[a] - expected_mean[a]) < 1e-14);
            for (int b = 0; b < n; b++)
                assert_true(fabs(covariance[a * INPUTS + b] - expected[a * INPUTS + b]) < 1e-14);
        }
        for (int piece = 1; piece <= 3; piece++) {
            measure(x, fmax(1, outliers[k]), piece, other_mean, other);
            assert_memory_equal(other_mean, mean, sizeof mean);
            assert_memory_equal(other, covariance, sizeof covariance);
        }
    }
}

static void test_projection(void **state)
{
    (void)state;
    static const double mean[2] = {1, -2};
    static const double covariance[4] = {4, 1, 1, 9};
    static const double weights[4] = {1, 1, 2, -1};
    double scratch[4], m[2], v[2];
    norma_patch_moments_project(2, mean, covariance, 2, weights, scratch, m, v);
    assert_true(m[0] == -1 && m[1] == 4 && v[0] == 15 && v[1] == 21);
}

static void test_refusals(void **state)
{
    (void)state;
    norma_patch_moments *m = NULL;
    norma_patch wide = patch;
    norma_test_fails(norma_patch_moments_create(&patch, IMAGES, 1e200, &m), NORMA_NUMERIC,
                     "1e+200");
    norma_test_fails(norma_patch_moments_create(&patch, IMAGES, 1e-160, &m), NORMA_NUMERIC,
                     "range of double");
    wide.input.channels = 40000;
    norma_test_fails(norma_patch_moments_create(&wide, IMAGES, 1, &m), NORMA_LIMIT,
                     "240000 inputs");
    norma_test_ok(norma_patch_moments_create(&patch, IMAGES, 0, &m)); /* black images */
    norma_patch_moments_destroy(&m);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_definition),
    cmocka_unit_test(test_projection),
    cmocka_unit_test(test_refusals),
};

norma_test_main_serial("patch_moments", tests)
