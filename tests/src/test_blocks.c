/* construct/blocks: deep sources with skip connections, their scales, shifts and outputs, against
 * sums written out; digits that conditions predict; shapes that leave none. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/construct/blocks.h"
#include "src/construct/nearest.h"

#include <math.h>
#include <string.h>

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

static const norma_tensor_spec he_normal = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL,
                                            .seed = 4};

static double *make_target(int64_t n)
{
    double *target = NULL;
    norma_test_ok(NORMA_ALLOC(target, n));
    for (int64_t e = 0; e < n; e++)
        target[e] = noise(e + 17);
    return target;
}

/* A solved source for target[c2][c0]. */
static norma_blocks *solve(norma_blocks_shape shape, norma_blocks_centre centre,
                           const double *target)
{
    norma_blocks *b = NULL;
    int64_t lost = 0;
    norma_test_ok(norma_blocks_create(&shape, &b));
    norma_test_ok(norma_blocks_draw(b, &he_normal, 1));
    norma_test_ok(norma_blocks_solve(b, target, centre, &lost));
    norma_test_check(lost == -1);
    return b;
}

/* y[c2] = R z + beta, in long double and with loops only. */
static void run_slowly(const norma_blocks *b, bool relu, const double *x, double *y)
{
    int64_t d = b->shape.width;
    int64_t k = b->shape.n_inner;
    long double z[64] = {0};
    long double next[64] = {0};
    for (int64_t i = 0; i < b->n_blocks; i++) {
        for (int64_t j = 0; j < d; j++) {
            long double sum = 0;
            for (int64_t l = 0; l < d; l++) {
                long double inside = z[l];
                for (int64_t e = 0; e < k; e++)
                    inside += (long double)b->entry[(i * d + l) * k + e] * x[i * k + e];
                sum += b->inner[(i * d + j) * d + l] * inside;
            }
            next[j] = b->gamma[i * d + j] * sum + b->beta[i * d + j];
            if (relu && next[j] < 0)
                next[j] = 0;
        }
        memcpy(z, next, sizeof next);
    }
    for (int64_t c = 0; c < b->shape.n_out; c++) {
        long double sum = b->beta_out[c];
        for (int64_t j = 0; j < d; j++)
            sum += b->readout[c * d + j] * z[j];
        y[c] = (double)sum;
    }
}

/* Outputs of the whole source are the target's, and the batch agrees with the loops. */
static void check_outputs(norma_blocks *b, const double *target, norma_activation_kind kind)
{
    enum { N = 70 }; /* more than one batch */
    const norma_activation activation = {.kind = kind, .parameter = 0.2};
    int64_t c0 = b->shape.n_in;
    int64_t c2 = b->shape.n_out;
    double lo[16] = {0};
    double hi[16] = {0};
    double bias[16] = {0};
    double x[N * 16] = {0};
    double y[N * 16] = {0};
    double slow[16] = {0};
    double magnitude = 0;
    double rounding = 0;
    int64_t n_clipped = 0;
    for (int64_t e = 0; e < c0; e++) {
        lo[e] = -1 - 0.1 * (double)e;
        hi[e] = 0.5;
    }
    for (int64_t c = 0; c < c2; c++)
        bias[c] = noise(c + 300);
    for (int64_t e = 0; e < N * c0; e++)
        x[e] = e < c0       ? lo[e]
               : e < 2 * c0 ? hi[e - c0]
                            : lo[e % c0] + (hi[e % c0] - lo[e % c0]) * fabs(noise(e));
    norma_test_ok(norma_blocks_open(b, &activation, lo, hi, bias, &magnitude, &rounding));
    norma_test_ok(norma_blocks_run(b, &activation, N, x, y, &n_clipped));
    norma_test_check(n_clipped == 0);
    norma_test_check(rounding > 0 && rounding < 1e-9 && magnitude > 0.5);
    for (int64_t s = 0; s < N; s++) {
        run_slowly(b, kind == NORMA_ACTIVATION_RELU, x + s * c0, slow);
        for (int64_t c = 0; c < c2; c++) {
            double expected = bias[c];
            for (int64_t e = 0; e < c0; e++)
                expected += target[c * c0 + e] * x[s * c0 + e];
            norma_test_check(fabs(y[s * c2 + c] - expected) < 30 * rounding + 1e-9);
            norma_test_check(fabs(y[s * c2 + c] - slow[c]) < 30 * rounding);
        }
    }
}

static void test_outputs(void **state)
{
    (void)state;
    const norma_blocks_shape shape = {.n_out = 5, .n_in = 12, .n_inner = 3, .width = 20};
    double *target = make_target(60);
    const norma_activation_kind kinds[] = {NORMA_ACTIVATION_IDENTITY, NORMA_ACTIVATION_RELU,
                                           NORMA_ACTIVATION_LEAKY_RELU};
    for (int i = 0; i < 3; i++) {
        norma_blocks *b = solve(shape, (norma_blocks_centre)i, target);
        double map[60];
        norma_test_ok(norma_blocks_compose(b, map));
        norma_test_check(norma_test_max_difference(map, target, 60) < 1e-11);
        check_outputs(b, target, kinds[i]);
        norma_blocks_destroy(&b);
    }
    NORMA_FREE(target);
}

/* The last block's system does not depend on scales: those nearest to a constant are nearer to it
 * than those nearest to another one. */
static void test_centres(void **state)
{
    (void)state;
    const norma_blocks_shape shape = {.n_out = 5, .n_in = 12, .n_inner = 3, .width = 20};
    double *target = make_target(60);
    norma_blocks *b[3];
    double distance[3][3];
    for (int i = 0; i < 3; i++)
        b[i] = solve(shape, (norma_blocks_centre)i, target);
    const double centres[] = {0, 1, b[0]->gain};
    norma_test_check_close(b[0]->gain, 1 / sqrt(2), 1e-15); /* variance 2 / 20, 20 columns */
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++) {
            distance[i][c] = 0;
            for (int64_t j = 0; j < 20; j++)
                distance[i][c] += pow(b[i]->gamma[3 * 20 + j] - centres[c], 2);
        }
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++)
            norma_test_check(i == c || distance[c][c] < 0.999 * distance[i][c]);
    for (int i = 0; i < 3; i++)
        norma_blocks_destroy(&b[i]);
    NORMA_FREE(target);
}

/* The error of a block stays below what its condition predicts, and not far below. */
static void test_digits(void **state)
{
    (void)state;
    double *target = make_target(16 * 16);
    double map[16 * 16];
    for (int64_t k = 1; k <= 4; k *= 2)
        for (int64_t half_widths = 3; half_widths <= 6; half_widths++) {
            const norma_blocks_shape shape = {
                .n_out = 16, .n_in = 16, .n_inner = k, .width = half_widths * 8 * k};
            norma_blocks *b = solve(shape, NORMA_BLOCKS_GAIN, target);
            norma_test_ok(norma_blocks_compose(b, map));
            for (int64_t i = 0; i < b->n_blocks; i++) {
                const norma_block_report *r = &b->reports[i];
                double error2 = 0;
                double target2 = 0;
                for (int64_t o = 0; o < 16; o++)
                    for (int64_t e = i * k; e < (i + 1) * k; e++) {
                        error2 += pow(map[o * 16 + e] - target[o * 16 + e], 2);
                        target2 += pow(target[o * 16 + e], 2);
                    }
                double lost = log10(sqrt(error2 / target2) * 0x1p53);
                norma_test_check(r->condition_left >= 1 && r->condition >= 1);
                norma_test_check(lost < r->digits_predicted + 1.5);
                norma_test_check(r->digits_lost < r->digits_predicted + 1);
                norma_test_check(r->digits_lost > r->digits_predicted - 4);
            }
            norma_blocks_destroy(&b);
        }
    NORMA_FREE(target);
}

/* Sixteen blocks of one input at the least width leave no digit; the shape that is named does. */
static void test_collapse(void **state)
{
    (void)state;
    const norma_blocks_shape shape = {.n_out = 16, .n_in = 16, .n_inner = 1, .width = 16};
    norma_blocks_shape other;
    norma_blocks *b = NULL;
    double digits = 0;
    int64_t lost = -1;
    bool found = false;
    double *target = make_target(16 * 16);
    norma_test_ok(norma_blocks_create(&shape, &b));
    norma_test_ok(norma_blocks_draw(b, &he_normal, 1));
    norma_test_ok(norma_blocks_solve(b, target, NORMA_BLOCKS_ZERO, &lost));
    norma_test_check(lost >= 0 && lost < 14);
    norma_blocks_destroy(&b);
    norma_test_ok(norma_blocks_suggest(&shape, &he_normal, 1, target, NORMA_BLOCKS_ZERO, 1e10,
                                       &other, &digits, &found));
    norma_test_check(found && digits >= 6 && digits < norma_blocks_digits);
    norma_test_check(16 % other.n_inner == 0 && other.width >= 16 * other.n_inner);
    b = solve(other, NORMA_BLOCKS_ZERO, target);
    norma_blocks_destroy(&b);
    norma_test_ok(norma_blocks_suggest(&shape, &he_normal, 1, target, NORMA_BLOCKS_ZERO, 1, &other,
                                       &digits, &found));
    norma_test_check(!found);
    NORMA_FREE(target);
}

/* A block without weights ends those before it at the least width, but not with room for scales
 * near one; the first block may be empty. Too narrow layers answer in least squares. */
static void test_corners(void **state)
{
    (void)state;
    norma_blocks_shape shape = {.n_out = 3, .n_in = 6, .n_inner = 2, .width = 6};
    norma_blocks *b = NULL;
    int64_t lost = 0;
    double map[18];
    double *target = make_target(18);
    for (int64_t o = 0; o < 3; o++)
        target[o * 6 + 2] = target[o * 6 + 3] = 0;
    norma_test_ok(norma_blocks_create(&shape, &b));
    norma_test_ok(norma_blocks_draw(b, &he_normal, 1));
    norma_test_fails(norma_blocks_solve(b, target, NORMA_BLOCKS_ONE, &lost), NORMA_CONFIG,
                     "block 1 of the target, inputs 2 to 3, has no weight");
    norma_blocks_destroy(&b);
    shape.width = 9;
    b = solve(shape, NORMA_BLOCKS_ONE, target);
    norma_test_ok(norma_blocks_compose(b, map));
    norma_test_check(norma_test_max_difference(map, target, 18) < 1e-11);
    norma_blocks_destroy(&b);
    memset(target, 0, 18 * sizeof *target);
    target[4] = 1;
    shape.n_inner = 3; /* block 0 is zero, block 1 not */
    b = solve(shape, NORMA_BLOCKS_ZERO, target);
    norma_blocks_destroy(&b);
    NORMA_FREE(target);
    target = make_target(18);
    shape = (norma_blocks_shape){.n_out = 3, .n_in = 6, .n_inner = 3, .width = 7};
    b = solve(shape, NORMA_BLOCKS_ZERO, target);
    norma_test_check(b->reports[1].relative_error > 1e-3 && b->reports[1].relative_error < 1);
    norma_blocks_destroy(&b);
    NORMA_FREE(target);
}

/* K = diag(5, 2) beside zeros: nearest to (1, 1, 1) with K g = t. */
static void test_nearest(void **state)
{
    (void)state;
    double transposed[] = {5, 0, 0, 0, 2, 0};
    const double t[] = {10, -2};
    double g[3];
    norma_nearest about;
    norma_test_ok(norma_nearest_solve(2, 3, transposed, t, 1, g, &about));
    norma_test_check_close(g[0], 2, 1e-14);
    norma_test_check_close(g[1], -1, 1e-14);
    norma_test_check_close(g[2], 1, 1e-14);
    norma_test_check_close(about.sigma_max, 5, 1e-6);
    norma_test_check_close(about.sigma_min, 2, 1e-6);
    norma_test_check_close(about.distance, hypot(5, 4), 1e-14);
    double sigma[2];
    double singular[] = {1, 2, 0, 2, 4, 0};
    norma_test_ok(norma_nearest_edges(2, 3, singular, sigma));
    norma_test_check(sigma[1] < 1e-14);
    norma_test_check_close(sigma[0], 5, 1e-6);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_outputs),  cmocka_unit_test(test_centres), cmocka_unit_test(test_digits),
    cmocka_unit_test(test_collapse), cmocka_unit_test(test_corners), cmocka_unit_test(test_nearest),
};

norma_test_main_serial("src.blocks", tests)
