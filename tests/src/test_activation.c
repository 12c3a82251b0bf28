/* src/network/activation: known values, derivatives against differences, images of intervals. */
#include "tests/harness/harness.h"

#include "src/network/activation.h"

#include <float.h>
#include <math.h>

static void test_activation_values(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double x, y;
    } known[] = {{"identity", -3, -3},
                 {"relu", -3, 0},
                 {"relu", 2.5, 2.5},
                 {"leaky-relu", -3, -0.03},
                 {"leaky_relu", 4, 4},
                 {"tanh", 0.5, 0.46211715726000975},
                 {"sigmoid", 0.5, 0.62245933120185459},
                 {"gelu", 1, 0.84134474606854293},
                 {"gelu", -1, -0.15865525393145707},
                 {"silu", 1, 0.73105857863000490},
                 {"softplus", 0, 0.69314718055994531},
                 {"softplus", 800, 800},
                 {"relu6", -1, 0},
                 {"relu6", 2.5, 2.5},
                 {"ReLU6", 7, 6},
                 {"hard-sigmoid", -3.5, 0},
                 {"Hardsigmoid", 1.5, 0.75},
                 {"hard-sigmoid", 4, 1},
                 {"hard-swish", -4, 0},
                 {"hard-swish", -1.5, -0.375},
                 {"hardswish", 1, 2.0 / 3},
                 {"hard-swish", 5, 5},
                 {"clip", -2, -1},
                 {"clip", 0.3, 0.3},
                 {"Hardtanh", 2, 1}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        norma_activation activation;
        double x = known[k].x;
        norma_test_ok(norma_activation_from_name(known[k].name, &activation));
        norma_activation_apply(&activation, 1, &x);
        if (!norma_test_close(x, known[k].y, 1e-15, 0))
            fail_msg("%s(%g) = %.17g", known[k].name, known[k].x, x);
    }
    norma_activation ignored;
    norma_test_fails(norma_activation_from_name("rleu", &ignored), NORMA_CONFIG, "'relu'");
    norma_test_fails(norma_activation_from_name("", &ignored), NORMA_CONFIG, "softplus");
}

/* One derivative against the difference of another function, which lies below it. */
static void check_slope(const norma_activation *phi, double x,
                        double (*of)(const norma_activation *, double),
                        double (*slope)(const norma_activation *, double))
{
    double h = 1e-5;
    double difference = (of(phi, x + h) - of(phi, x - h)) / (2 * h);
    if (!norma_test_close(slope(phi, x), difference, 1e-8, 1e-8))
        fail_msg("%s at %g: %.12g, difference %.12g", norma_activation_name(phi->kind), x,
                 slope(phi, x), difference);
}

/* Of every activation: both derivatives against differences on both sides of 0, the kink at 0, the
 * symmetry, NaN. */
static void test_activation_derivatives(void **state)
{
    (void)state;
    static const double at[] = {-2.3, -0.4, 0.3, 1.7};
    for (int64_t i = 0; i < norma_activation_names.n; i++) {
        norma_activation activation = {(norma_activation_kind)i, 3};
        bool odd = true;
        for (size_t k = 0; k < sizeof at / sizeof at[0]; k++) {
            check_slope(&activation, at[k], norma_activation_value, norma_activation_derivative);
            check_slope(&activation, at[k], norma_activation_derivative,
                        norma_activation_curvature);
            odd = odd && norma_test_close(norma_activation_value(&activation, -at[k]),
                                          -norma_activation_value(&activation, at[k]), 1e-14, 0);
        }
        norma_test_check(odd == norma_activation_is_odd(&activation));
        norma_test_check_close(norma_activation_kink(&activation) + 1,
                               norma_activation_derivative(&activation, 1e-13) -
                                   norma_activation_derivative(&activation, -1e-13) + 1,
                               1e-11);
        norma_test_check(isnan(norma_activation_value(&activation, NAN)) ||
                         (activation.kind == NORMA_ACTIVATION_HERMITE));
        norma_test_check(isnan(norma_activation_derivative(&activation, NAN)));
    }
}

/* Of the hard ones: values from both sides of each corner, the slope there that of the side below,
 * differences beyond the corners, ends of infinite intervals. */
static void test_activation_corners(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double corner, value, below, above;
    } corners[] = {{"relu6", 0, 0, 0, 1},
                   {"relu6", 6, 6, 1, 0},
                   {"hard-sigmoid", -3, 0, 0, 1.0 / 6},
                   {"hard-sigmoid", 3, 1, 1.0 / 6, 0},
                   {"hard-sigmoid:0.2", 2.5, 1, 0.2, 0},
                   {"hard-swish", -3, 0, 0, -0.5},
                   {"hard-swish", 3, 3, 1.5, 1},
                   {"clip:2", -2, -2, 0, 1},
                   {"clip:2", 2, 2, 1, 0}};
    for (size_t k = 0; k < sizeof corners / sizeof corners[0]; k++) {
        norma_activation phi;
        double at = corners[k].corner, lo = 0, hi = 0;
        norma_test_ok(norma_activation_parse(corners[k].name, &phi));
        norma_test_check(norma_activation_is_hard(&phi));
        for (int side = -1; side <= 1; side++) {
            double x = at + 1e-9 * side;
            double slope = side > 0 ? corners[k].above : corners[k].below;
            norma_test_check_close(norma_activation_value(&phi, x) + 9, corners[k].value + 9, 1e-9);
            norma_test_check_close(norma_activation_derivative(&phi, x) + 9, slope + 9, 1e-8);
        }
        check_slope(&phi, 2 * at + 0.5, norma_activation_value, norma_activation_derivative);
        check_slope(&phi, 2 * at + 0.5, norma_activation_derivative, norma_activation_curvature);
        norma_activation_interval(&phi, -INFINITY, INFINITY, &lo, &hi);
        norma_test_check(lo == norma_activation_value(&phi, phi.kind == NORMA_ACTIVATION_HARD_SWISH
                                                                ? -1.5
                                                                : -DBL_MAX));
        norma_test_check(phi.kind == NORMA_ACTIVATION_HARD_SWISH
                             ? isinf(hi)
                             : hi == norma_activation_value(&phi, DBL_MAX));
    }
}

/* The interval image holds every value, and both its ends are nearly taken. */
static void test_activation_intervals(void **state)
{
    (void)state;
    static const double ends[][2] = {{-3, 2}, {-0.7, -0.2}, {-2, -1}, {0.5, 4}, {-1e-3, 1e-3}};
    for (int kind = 0; kind < NORMA_N_ACTIVATIONS; kind++)
        for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++) {
            norma_activation activation = {(norma_activation_kind)kind, 0.1};
            double lo = 0, hi = 0, least = INFINITY, most = -INFINITY;
            norma_activation_interval(&activation, ends[e][0], ends[e][1], &lo, &hi);
            for (int k = 0; k <= 10000; k++) {
                double x = ends[e][0] + (ends[e][1] - ends[e][0]) * k / 10000.0;
                norma_activation_apply(&activation, 1, &x);
                least = fmin(least, x);
                most = fmax(most, x);
            }
            norma_test_check(lo <= least + 1e-15 && most <= hi + 1e-15);
            norma_test_check(least - lo < 1e-6 && hi - most < 1e-6);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_activation_values),
    cmocka_unit_test(test_activation_derivatives),
    cmocka_unit_test(test_activation_corners),
    cmocka_unit_test(test_activation_intervals),
};

norma_test_main_serial("src.activation", tests)
