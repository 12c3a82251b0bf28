/* src/network/linear_region and maps: the linear regions of all activations, their errors against
 * what was asked for, and the scales that the paper prints. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/network/linear_region.h"
#include "src/network/maps.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROUNDOFF (DBL_EPSILON / 2)

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

/* The kinds whose region is linear to epsilon only. */
static bool is_curved(int kind)
{
    norma_activation activation = {(norma_activation_kind)kind, 0.2};
    return !norma_linear_region_is_exact(&activation);
}

static double value(norma_activation_kind kind, double x)
{
    norma_activation activation = {kind, 0.2};
    norma_activation_apply(&activation, 1, &x);
    return x;
}

static norma_linear_region find(norma_activation_kind kind, double reach, double gain,
                                double epsilon)
{
    norma_linear_region region;
    norma_activation activation = {kind, 0.2};
    norma_linear_demand demand = {reach, gain, epsilon, ROUNDOFF};
    norma_test_ok(norma_linear_region_init(&region, &activation, &demand));
    return region;
}

static void test_exact(void **state)
{
    (void)state;
    static const norma_activation_kind kinds[] = {NORMA_ACTIVATION_IDENTITY, NORMA_ACTIVATION_RELU,
                                                  NORMA_ACTIVATION_LEAKY_RELU};
    for (int k = 0; k < 3; k++) {
        norma_linear_region region = find(kinds[k], 10, 3, 1e-300);
        norma_test_check(region.scale == 1 && region.slope == 1 && region.constant == 0);
        norma_test_check(region.epsilon == 0 && region.floor == 0);
        for (int from = -20; from <= 20; from++)
            for (int to = from; to <= 20; to++) {
                double lo = 0.5 * from;
                double z = 0.5 * to;
                double x = z + norma_linear_region_shift(&region, lo);
                norma_test_check(x >= region.low && x <= region.high);
                norma_test_check(value(kinds[k], x) == x);
            }
        norma_test_check(norma_linear_region_shift(&region, -2.5) == (k == 0 ? 0 : 2.5));
    }
}

/* The hard ones: exact for every range of arguments, whose whole width the region takes. */
static void test_hard(void **state)
{
    (void)state;
    static const norma_activation_kind kinds[] = {
        NORMA_ACTIVATION_RELU6, NORMA_ACTIVATION_HARD_SIGMOID, NORMA_ACTIVATION_HARD_SWISH,
        NORMA_ACTIVATION_CLIP};
    static const double reaches[] = {0, 1e-3, 0.7, 5, 1e4};
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < 5; r++) {
            double reach = reaches[r];
            norma_linear_region region = find(kinds[k], reach, 3, NAN);
            double b = norma_linear_region_shift(&region, -reach);
            norma_test_check(region.epsilon == 0 && region.floor == 0 && region.scale <= 1);
            for (int i = -1000; i <= 1000; i++) {
                double x = region.scale * (reach * i / 1000) + b;
                norma_test_check(x >= region.low && x <= region.high);
                norma_test_check_close(value(kinds[k], x) + 1,
                                       region.slope * x + region.constant + 1, 1e-15);
            }
            if (region.scale < 1) /* it ends at a corner */
                norma_test_check(value(kinds[k], b + 1.001 * region.scale * reach) + 1e-9 <
                                 region.slope * (b + 1.001 * region.scale * reach) +
                                     region.constant);
        }
    norma_test_check(find(NORMA_ACTIVATION_CLIP, 0.1, 1, NAN).scale == 1);
    norma_test_check_close(find(NORMA_ACTIVATION_CLIP, 0.4, 1, NAN).scale, 0.5, 1e-12);
    norma_test_check_close(find(NORMA_ACTIVATION_RELU6, 12, 1, NAN).scale, 0.25, 1e-12);
}

/* The largest error of an output whose weights all have the sign of their feature's error. */
static double worst_error(norma_activation_kind kind, const norma_linear_region *region,
                          double reach, double gain)
{
    double b = norma_linear_region_shift(region, -reach);
    double worst = 0;
    for (int k = -2000; k <= 2000; k++) {
        double x = region->scale * reach * k / 2000.0 + b;
        double linear = region->slope * x + region->constant;
        worst = fmax(worst, fabs(value(kind, x) - linear));
    }
    return worst * gain / (region->slope * region->scale);
}

/* Within epsilon for every reach and gain, and not by much less where the scale is not capped. */
static void test_error_bounded(void **state)
{
    (void)state;
    static const double reaches[] = {0.01, 1, 12, 3000};
    static const double gains[] = {0.1, 5, 1e4};
    for (int kind = NORMA_ACTIVATION_TANH; kind < NORMA_N_ACTIVATIONS; kind++)
        for (int r = 0; r < 4 && is_curved(kind); r++)
            for (int q = 0; q < 3; q++)
                for (int power = 1; power > -12; power--) {
                    double epsilon = pow(10, power);
                    norma_activation_kind k = (norma_activation_kind)kind;
                    norma_linear_region region = find(k, reaches[r], gains[q], NAN);
                    double floor = region.floor;
                    norma_test_check_close(region.epsilon, 10 * floor, 1e-12);
                    if (epsilon < floor)
                        continue;
                    region = find(k, reaches[r], gains[q], epsilon);
                    double error = worst_error(k, &region, reaches[r], gains[q]);
                    bool capped =
                        region.shifted ? region.low < 1.3 : region.scale * reaches[r] > 0.3;
                    if (!(error <= epsilon * (1 + 1e-9) + floor))
                        fail_msg("%s, reach %g, gain %g: error %g, asked %g, floor %g",
                                 norma_activation_name(k), reaches[r], gains[q], error, epsilon,
                                 floor);
                    if (!capped && epsilon > 10 * floor && !(error > 0.4 * epsilon))
                        fail_msg("%s, reach %g, gain %g: error only %g of %g",
                                 norma_activation_name(k), reaches[r], gains[q], error, epsilon);
                }
}

static void test_refusals(void **state)
{
    (void)state;
    for (int kind = NORMA_ACTIVATION_TANH; kind < NORMA_N_ACTIVATIONS; kind++) {
        if (!is_curved(kind))
            continue;
        norma_activation activation = {(norma_activation_kind)kind, 0};
        norma_linear_region region;
        char named[32];
        double floor[2];
        for (int single = 0; single < 2; single++) {
            double roundoff = single ? FLT_EPSILON / 2 : ROUNDOFF;
            norma_linear_demand demand = {12, 30, NAN, roundoff};
            norma_test_ok(norma_linear_region_init(&region, &activation, &demand));
            floor[single] = region.floor;
            /* At least the rounding of the sum itself. */
            norma_test_check(region.floor >= roundoff * 12 * 30);
            demand.epsilon = 1.001 * region.floor;
            norma_test_ok(norma_linear_region_init(&region, &activation, &demand));
            demand.epsilon = 0.999 * region.floor;
            snprintf(named, sizeof named, "leaves %.3g", region.floor);
            norma_test_fails(norma_linear_region_init(&region, &activation, &demand), NORMA_CONFIG,
                             named);
        }
        norma_test_check(floor[1] > 1000 * floor[0]);
    }
    norma_activation activation = {NORMA_ACTIVATION_TANH, 0};
    norma_linear_region region;
    norma_linear_demand demand = {INFINITY, 1, 1, ROUNDOFF};
    norma_test_fails(norma_linear_region_init(&region, &activation, &demand), NORMA_NUMERIC,
                     "not finite");
}

/* Nothing to scale: a target of zeros. */
static void test_zero(void **state)
{
    (void)state;
    for (int kind = 0; kind < NORMA_N_ACTIVATIONS; kind++) {
        norma_linear_region region = find((norma_activation_kind)kind, 0, 2, NAN);
        norma_test_check(region.scale == 1);
        region = find((norma_activation_kind)kind, 3, 0, NAN);
        norma_test_check(region.scale > 0 && isfinite(region.scale));
    }
}

/* --- layers --------------------------------------------------------------------------------- */

enum { C0 = 5, C1 = 24, C2 = 3, SAMPLES = 60 };

/* A fully connected source pair with random weights and scales. */
typedef struct pair {
    double w1[C1 * C0], w2[C1 * C2], gamma1[C1], lo[C1], hi[C1], gamma2[C2], bias[C2];
    double x[SAMPLES * C0];
} pair;

static double pre_activation(const pair *p, int64_t J, int64_t n)
{
    double sum = 0;
    for (int j = 0; j < C0; j++)
        sum += p->w1[J * C0 + j] * p->x[n * C0 + j];
    return sum;
}

static void draw(pair *p, int64_t number)
{
    int64_t k = 100000 * number;
    double size = pow(10, 2 * noise(number)); /* of the pre-activations */
    for (int64_t e = 0; e < C1 * C0; e++)
        p->w1[e] = noise(k++);
    for (int64_t e = 0; e < C1 * C2; e++)
        p->w2[e] = noise(k++);
    for (int64_t J = 0; J < C1; J++)
        p->gamma1[J] = size * noise(k++);
    for (int64_t i = 0; i < C2; i++) {
        p->gamma2[i] = 1 + noise(k++);
        p->bias[i] = noise(k++);
    }
    for (int64_t e = 0; e < SAMPLES * C0; e++)
        p->x[e] = noise(k++) > 0 ? 1 : -1;
    for (int64_t J = 0; J < C1; J++) {
        p->lo[J] = INFINITY;
        p->hi[J] = -INFINITY;
        for (int64_t n = 0; n < SAMPLES; n++) {
            p->lo[J] = fmin(p->lo[J], p->gamma1[J] * pre_activation(p, J, n));
            p->hi[J] = fmax(p->hi[J], p->gamma1[J] * pre_activation(p, J, n));
        }
    }
}

/* The largest difference of the source pair, maps as given, from its target. */
static double layer_error(const pair *p, const norma_maps *maps, norma_activation_kind kind)
{
    double worst = 0;
    for (int64_t n = 0; n < SAMPLES; n++)
        for (int64_t i = 0; i < C2; i++) {
            double y = 0;
            long double target = 0;
            for (int64_t J = 0; J < C1; J++) {
                double u = pre_activation(p, J, n);
                y += p->w2[J * C2 + i] * value(kind, maps->gamma1[J] * u + maps->beta1[J]);
                target += (long double)p->w2[J * C2 + i] * p->gamma1[J] * u;
            }
            target = p->gamma2[i] * target + p->bias[i];
            y = maps->gamma2[i] * y + maps->beta2[i];
            worst = fmax(worst, fabs((double)(y - target)));
        }
    return worst;
}

static norma_status make_maps(const pair *p, norma_activation_kind kind, double epsilon,
                              norma_maps **maps)
{
    norma_tensor *w2 = NULL;
    norma_tensor_spec spec = {.distribution = NORMA_DISTRIBUTION_GIVEN,
                              .role = NORMA_TENSOR_SECOND,
                              .n_features = C1,
                              .n_channels = C2,
                              .n_taps = 1,
                              .values = p->w2};
    norma_source_shape shape = {.n_features = C1,
                                .n_channels_in = C0,
                                .n_channels_out = C2,
                                .groups = 1,
                                .kernel = {.second = {1, 1}}};
    norma_activation activation = {kind, 0.2};
    norma_maps_accuracy accuracy = {epsilon, ROUNDOFF};
    norma_test_ok(norma_tensor_create(&spec, &w2));
    norma_status status = norma_maps_create(&shape, w2, &activation, &accuracy, p->gamma1, p->lo,
                                            p->hi, p->gamma2, p->bias, maps);
    norma_tensor_destroy(&w2);
    return status;
}

/* The scale as the paper prints it, without Q1^3: 1/m times the maps' gamma1 and over their gamma2.
 */
static double printed_error(const pair *p, const norma_maps *maps, norma_activation_kind kind,
                            double epsilon)
{
    norma_maps printed = *maps;
    double gamma1[C1], gamma2[C2], beta2[C2], q1 = 0, q2 = 0;
    for (int64_t J = 0; J < C1; J++)
        q1 = fmax(q1, fmax(fabs(p->lo[J]), fabs(p->hi[J])));
    for (int64_t i = 0; i < C2; i++) {
        double sum = 0;
        for (int64_t J = 0; J < C1; J++)
            sum += fabs(p->w2[J * C2 + i]);
        q2 = fmax(q2, fabs(p->gamma2[i]) * sum);
    }
    double factor = kind == NORMA_ACTIVATION_TANH ? 3 : 12;
    double g = fmin(sqrt(factor * epsilon / q2), 1 / q1);
    double ratio = g / maps->region.scale;
    for (int64_t J = 0; J < C1; J++)
        gamma1[J] = maps->gamma1[J] * ratio;
    for (int64_t i = 0; i < C2; i++) {
        gamma2[i] = maps->gamma2[i] / ratio;
        beta2[i] = p->bias[i] + (maps->beta2[i] - p->bias[i]) / ratio;
    }
    printed.gamma1 = gamma1;
    printed.gamma2 = gamma2;
    printed.beta2 = beta2;
    return layer_error(p, &printed, kind);
}

/* 60 layers whose pre-activations span four orders of magnitude: every activation meets every
 * epsilon that it accepts, down to the floor; the printed scales of tanh and sigmoid often do not.
 */
static void test_layers(void **state)
{
    (void)state;
    static const double asked[] = {1e-1, 1e-3, 1e-6, 1e-9, 0}; /* 0: the floor */
    int64_t n_printed_misses = 0, n_printed = 0;
    for (int64_t number = 0; number < 60; number++) {
        pair p;
        draw(&p, number);
        for (int kind = NORMA_ACTIVATION_TANH; kind < NORMA_N_ACTIVATIONS; kind++)
            for (int e = 0; e < 5 && is_curved(kind); e++) {
                norma_maps *maps = NULL;
                norma_activation_kind k = (norma_activation_kind)kind;
                norma_test_ok(make_maps(&p, k, NAN, &maps));
                double floor = maps->region.floor;
                double epsilon = asked[e] > 0 ? asked[e] : 1.0000001 * floor;
                norma_maps_destroy(&maps);
                if (epsilon < floor) {
                    norma_test_fails(make_maps(&p, k, epsilon, &maps), NORMA_CONFIG, "epsilon");
                    continue;
                }
                norma_test_ok(make_maps(&p, k, epsilon, &maps));
                double error = layer_error(&p, maps, k);
                if (!(error <= epsilon))
                    fail_msg("%s, layer %d: error %g, asked %g, floor %g", norma_activation_name(k),
                             (int)number, error, epsilon, floor);
                if (e == 1 && !maps->region.shifted) {
                    n_printed++;
                    n_printed_misses += printed_error(&p, maps, k, epsilon) > 10 * epsilon;
                }
                norma_maps_destroy(&maps);
            }
    }
    norma_test_check(n_printed > 100 && n_printed_misses > 20);
    print_message("epsilon 1e-3: printed scales miss it tenfold in %d of %d layers\n",
                  (int)n_printed_misses, (int)n_printed);
}

/* The same with the hard ones: rounding is all that is left. */
static void test_hard_layers(void **state)
{
    (void)state;
    for (int64_t number = 0; number < 20; number++) {
        pair p;
        draw(&p, number);
        for (int kind = NORMA_ACTIVATION_RELU6; kind <= NORMA_ACTIVATION_CLIP; kind++) {
            norma_maps *maps = NULL;
            norma_test_ok(make_maps(&p, (norma_activation_kind)kind, NAN, &maps));
            double error = layer_error(&p, maps, (norma_activation_kind)kind);
            if (!(error <= 8 * ROUNDOFF * maps->magnitude))
                fail_msg("%s, layer %d: error %g, magnitude %g",
                         norma_activation_name((norma_activation_kind)kind), (int)number, error,
                         maps->magnitude);
            norma_maps_destroy(&maps);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_exact),       cmocka_unit_test(test_error_bounded),
    cmocka_unit_test(test_refusals),    cmocka_unit_test(test_zero),
    cmocka_unit_test(test_layers),      cmocka_unit_test(test_hard),
    cmocka_unit_test(test_hard_layers),
};

norma_test_main_serial("src.linear_region", tests)
