/* src/theory: kernel maps of activations, their fixed points, cases, rates and iteration. */
#include "tests/harness/harness.h"

#include "src/base/rng.h"
#include "src/theory/kernel_dynamics.h"
#include "src/theory/kernel_quadrature.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"identity",
                                    "relu",
                                    "leaky-relu:0.3",
                                    "tanh",
                                    "sin",
                                    "sigmoid",
                                    "gelu",
                                    "selu",
                                    "exp",
                                    "silu",
                                    "softplus",
                                    "erf",
                                    "hermite:4",
                                    "hermite-sum:0.3,-0.5,0.2,0.7"};
#define N_NAMES (sizeof names / sizeof *names)

static norma_kernel_map map_of(const char *name, norma_kernel_variant variant)
{
    norma_transfer phi;
    norma_kernel_map map;
    norma_test_ok(norma_transfer_parse(name, &phi));
    norma_test_ok(norma_kernel_map_init_variant(&phi, variant, &map));
    return map;
}

static norma_kernel_dynamics dynamics_of(const norma_kernel_map *map)
{
    norma_kernel_dynamics dynamics;
    norma_test_ok(norma_kernel_dynamics_init(map, &dynamics));
    return dynamics;
}

static void test_names(void **state)
{
    (void)state;
    char text[NORMA_TRANSFER_NAME];
    norma_transfer psi;
    norma_test_ok(norma_transfer_parse("hermite-sum:0,0.5,-2", &psi));
    assert_string_equal(norma_transfer_format(&psi, text), "hermite-sum:0,0.5,-2");
    norma_test_check_close(norma_transfer_value(&psi, 3), 1.5 - 2 * 8 / sqrt(2), 1e-15);
    norma_test_check_close(norma_transfer_slope(&psi, 3), 0.5 - 2 * 6 / sqrt(2), 1e-15);
    norma_test_check_close(norma_transfer_curvature(&psi, 3), -4 / sqrt(2), 1e-15);
    norma_test_fails(norma_transfer_parse("hermite-sum", &psi), NORMA_CONFIG, "coefficients");
    norma_test_fails(norma_transfer_parse("hermite-sum:", &psi), NORMA_CONFIG, "list of numbers");
    norma_test_fails(norma_transfer_parse("hermite-sum:1,nan", &psi), NORMA_CONFIG, "list");
    norma_test_fails(norma_transfer_parse("hermite-sum:1,,2", &psi), NORMA_CONFIG, "list");
    norma_test_fails(norma_transfer_parse("rleu", &psi), NORMA_CONFIG, "'relu'");
}

/* psi' and psi'' against central differences of psi and psi'. */
static void test_derivatives(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_NAMES; k++) {
        norma_transfer psi;
        norma_test_ok(norma_transfer_parse(names[k], &psi));
        psi.shift = 0.2;
        psi.factor = 1.7;
        for (int i = 0; i <= 20; i++) {
            const double x = -3.05 + 0.3 * i;
            const double h = 1e-5;
            double slope =
                (norma_transfer_value(&psi, x + h) - norma_transfer_value(&psi, x - h)) / (2 * h);
            double curvature =
                (norma_transfer_slope(&psi, x + h) - norma_transfer_slope(&psi, x - h)) / (2 * h);
            norma_test_check(norma_test_close(norma_transfer_slope(&psi, x), slope, 1e-8, 1e-8));
            norma_test_check(
                norma_test_close(norma_transfer_curvature(&psi, x), curvature, 1e-8, 1e-8));
        }
        double jump = norma_transfer_slope(&psi, 1e-12) - norma_transfer_slope(&psi, -1e-12);
        norma_test_check(norma_test_close(norma_transfer_jump(&psi), jump, 1e-9, 1e-9));
    }
}

/* kappa and its derivatives against sums over 60 Hermite coefficients, at |rho| where those
 * converge to 1e-13; and moments at 1 with the tail that such a sum leaves. */
static void test_hermite_series(void **state)
{
    (void)state;
    enum { N = 60 };
    for (size_t k = 0; k < N_NAMES; k++) {
        const norma_kernel_map map = map_of(names[k], NORMA_KERNEL_NONE);
        double c[N], sum = 0;
        norma_test_ok(norma_transfer_hermite(&map.psi, N, c));
        norma_test_check_close(norma_kernel_map_value(&map, 1), 1, 1e-13);
        for (int j = 0; j < N; j++)
            sum += c[j] * c[j];
        norma_test_check(sum < 1 + 1e-12 && sum > 0.999);
        for (int i = -4; i <= 4; i++) {
            const double rho = 0.125 * i;
            double value = 0, slope = 0, curvature = 0;
            for (int j = N - 1; j >= 0; j--) {
                value += c[j] * c[j] * pow(rho, j);
                slope += j > 0 ? j * c[j] * c[j] * pow(rho, j - 1) : 0;
                curvature += j > 1 ? j * (j - 1) * c[j] * c[j] * pow(rho, j - 2) : 0;
            }
            norma_test_check(fabs(norma_kernel_map_value(&map, rho) - value) < 1e-12);
            norma_test_check(fabs(norma_kernel_map_slope(&map, rho) - slope) < 1e-12);
            norma_test_check(fabs(norma_kernel_map_curvature(&map, rho) - curvature) < 1e-11);
        }
    }
}

/* Closed forms against the quadratures that the others use. */
static void test_quadrature(void **state)
{
    (void)state;
    static const char *const smooth[] = {"erf", "sin", "exp", "identity", "hermite:3"};
    static const char *const kinked[] = {"relu", "leaky-relu:0.3", "exp", "hermite-sum:1,0,2"};
    for (int i = 0; i <= 18; i++) {
        const double theta = 0.17 * i;
        for (size_t k = 0; k < sizeof smooth / sizeof *smooth; k++) {
            const norma_kernel_map map = map_of(smooth[k], NORMA_KERNEL_POST_LN);
            double value = norma_kernel_quadrature_smooth(&map.psi, norma_transfer_value, theta);
            norma_test_check(fabs(value - norma_kernel_map_value(&map, cos(theta))) < 1e-13);
            value = norma_kernel_quadrature_smooth(&map.psi, norma_transfer_slope, theta);
            norma_test_check(fabs(value - norma_kernel_map_slope(&map, cos(theta))) < 2e-13);
        }
        for (size_t k = 0; k < sizeof kinked / sizeof *kinked; k++) {
            const norma_kernel_map map = map_of(kinked[k], NORMA_KERNEL_NONE);
            double value = norma_kernel_quadrature_kinked(&map.psi, norma_transfer_value, theta);
            norma_test_check(fabs(value - norma_kernel_map_value(&map, cos(theta))) < 1e-13);
            value = norma_kernel_quadrature_kinked(&map.psi, norma_transfer_slope, theta);
            norma_test_check(fabs(value - norma_kernel_map_slope(&map, cos(theta))) < 1e-13);
        }
    }
}

/* E psi(X) psi(Y) of the activations without a closed form, by sampling: 5 standard errors. */
static void test_sampling(void **state)
{
    (void)state;
    enum { SAMPLES = 100000 };
    static double x[2 * SAMPLES];
    static const char *const some[] = {"tanh", "gelu", "selu", "silu", "softplus", "sigmoid"};
    norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .layer = 4};
    norma_rng_fill_normal(11, &stream, 0, 2 * SAMPLES, x);
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        const norma_kernel_map map = map_of(some[k], NORMA_KERNEL_POST_LN);
        for (int i = -2; i <= 2; i++) {
            const double rho = 0.45 * i;
            double sum = 0, squares = 0;
            for (int s = 0; s < SAMPLES; s++) {
                double y = rho * x[2 * s] + sqrt(1 - rho * rho) * x[2 * s + 1];
                double value =
                    norma_transfer_value(&map.psi, x[2 * s]) * norma_transfer_value(&map.psi, y);
                sum += value / SAMPLES;
                squares += value * value / SAMPLES;
            }
            norma_test_check(fabs(sum - norma_kernel_map_value(&map, rho)) <
                             5 * sqrt((squares - sum * sum) / SAMPLES));
        }
    }
}

/* Differences agree with direct ones where those have digits, and with slopes where they have not.
 */
static void test_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_NAMES; k++) {
        const norma_kernel_map map = map_of(names[k], NORMA_KERNEL_NONE);
        for (int i = 0; i <= 14; i++) {
            const double x = 1.9 * pow(0.6, i);
            norma_test_check(fabs(norma_kernel_map_gap(&map, x) -
                                  (norma_kernel_map_value(&map, 1) -
                                   norma_kernel_map_value(&map, 1 - x))) < 2e-15);
        }
        for (int i = -4; i <= 4; i++) {
            const double rho = 0.2 * i;
            for (int m = -8; m <= 8; m++) {
                const double x = 0.02 * m;
                norma_test_check(fabs(norma_kernel_map_rise(&map, rho, x) -
                                      (norma_kernel_map_value(&map, rho + x) -
                                       norma_kernel_map_value(&map, rho))) < 1e-14);
            }
            double tiny = norma_kernel_map_rise(&map, rho, 1e-100) / 1e-100;
            norma_test_check(
                norma_test_close(tiny, norma_kernel_map_slope(&map, rho), 1e-12, 1e-13));
        }
        norma_test_check_close(norma_kernel_map_gap(&map, 1e-200) / 1e-200,
                               norma_kernel_map_slope(&map, 1), 1e-12);
    }
}

static void check_case(const char *name, norma_kernel_variant variant, int expected,
                       double attractor, double asymptotic)
{
    const norma_kernel_map map = map_of(name, variant);
    const norma_kernel_dynamics d = dynamics_of(&map);
    if ((int)d.kernel_case != expected)
        fail_msg("%s: case %d, not %d", name, (int)d.kernel_case, expected);
    norma_test_check(norma_test_close(d.attractor, attractor, 1e-12, 1e-14));
    norma_test_check(norma_test_close(d.rate_asymptotic, asymptotic, 1e-12, 1e-14));
    for (int i = 0; i < d.n_fixed_points; i++)
        norma_test_check(fabs(norma_kernel_map_value(&map, d.fixed_point[i]) - d.fixed_point[i]) <
                         1e-13);
}

static void test_cases(void **state)
{
    (void)state;
    const double pi = acos(-1);
    check_case("sin", NORMA_KERNEL_NONE, 1, 0, 1 / sinh(1));
    check_case("erf", NORMA_KERNEL_PRE_RMS, 1, 0, 2.0 / 3 / asin(2.0 / 3));
    check_case("hermite:2", NORMA_KERNEL_NONE, 1, 0, 0);
    check_case("exp", NORMA_KERNEL_POST_LN, 1, 0, 1 / expm1(1));
    check_case("relu", NORMA_KERNEL_POST_LN, 1, 0, pi / (2 * (pi - 1)));
    check_case("relu", NORMA_KERNEL_NONE, 3, 1, 4.5 * pi * pi);
    check_case("leaky-relu:0.5", NORMA_KERNEL_NONE, 3, 1,
               4.5 * pi * pi * pow(1.25 / (0.5 * 0.5), 2)); /* J^2 = 0.25 / 0.625, not 2 */
    check_case("exp", NORMA_KERNEL_POST_RMS, 3, 1, 2);
    /* the figure's custom activations, THESIS Fig. 5.1 */
    check_case("hermite-sum:0,0.4,0.9", NORMA_KERNEL_NONE, 1, 0, 0.16 / 0.97);
    check_case("hermite-sum:0.7,-0.2,0.5", NORMA_KERNEL_NONE, 2, 1, (0.04 + 0.5) / 0.78);
    check_case("hermite-sum:1,0,1", NORMA_KERNEL_NONE, 3, 1, 2);
    check_case("hermite-sum:1,1,2", NORMA_KERNEL_NONE, 4, 0.25, 0.5);
    norma_kernel_map map = map_of("identity", NORMA_KERNEL_NONE);
    norma_kernel_dynamics d = dynamics_of(&map);
    assert_int_equal(d.kernel_case, NORMA_KERNEL_CASE_IDENTITY);
    assert_int_equal(d.n_fixed_points, 0);
    norma_test_check(isnan(d.attractor));
    map = map_of("tanh", NORMA_KERNEL_NONE);
    d = dynamics_of(&map);
    assert_int_equal(d.n_fixed_points, 3);
    norma_test_check(d.fixed_point[0] == -1 && d.fixed_point[1] == 0 && d.fixed_point[2] == 1);
    /* beside an attractor at 1 - 1e-6: kappa'(1) = 1 + 5e-7 in kappa = c + (1 - c) rho^2 */
    map = map_of("hermite-sum:0.70710660118651,0,0.70710696118655", NORMA_KERNEL_NONE);
    d = dynamics_of(&map);
    assert_int_equal(d.kernel_case, NORMA_KERNEL_CASE_INNER);
    double c = map.psi.term[0] * map.psi.factor, e = map.psi.term[2] * map.psi.factor;
    norma_test_check_close(1 - d.attractor, 1 - c * c / (e * e), 1e-8);
}

/* Counter-examples to the printed rates: kappa = 0.9 rho + 0.1 rho^100 and tanh (case 1),
 * kappa = 0.7 + 0.3 rho^5 from 1 - 1e-12 (case 4); the corrected bounds hold there. */
static void check_bounds(const char *name, double start, int n_layers, bool printed_fails)
{
    const norma_kernel_map map = map_of(name, NORMA_KERNEL_NONE);
    const norma_kernel_dynamics d = dynamics_of(&map);
    double rho[301], distance[301];
    int n_violations = 0;
    norma_kernel_dynamics_iterate(&map, &d, start, n_layers, rho, distance);
    for (int l = 0; l <= n_layers; l++) {
        double printed = norma_kernel_dynamics_bound(&d, start, true, l);
        double corrected = norma_kernel_dynamics_bound(&d, start, false, l);
        n_violations += distance[l] > printed * (1 + 1e-12);
        if (!(distance[l] <= corrected * (1 + 1e-12)))
            fail_msg("%s, layer %d: %.17g above the corrected bound %.17g", name, l, distance[l],
                     corrected);
    }
    norma_test_check((n_violations > 0) == printed_fails);
}

static void test_bounds(void **state)
{
    (void)state;
    char text[1200] = "hermite-sum:0,0.94868329805051381";
    for (int k = 2; k < 100; k++)
        (void)strcat(text, ",0");
    check_bounds(strcat(text, ",0.31622776601683794"), 0.99, 300, true);
    check_bounds("tanh", -0.8, 199, true);
    check_bounds("hermite-sum:0.83666002653407556,0,0,0,0,0.54772255750516611", 1 - 1e-12, 300,
                 true);
    check_bounds("hermite-sum:0,0.4,0.9", 0.8, 100, false);
    check_bounds("hermite-sum:0.7,-0.2,0.5", -0.1, 100, false);
    check_bounds("hermite-sum:1,0,1", -0.2, 300, false);
    check_bounds("relu", -0.5, 300, false);
    check_bounds("exp", -0.5, 300, false);
    check_bounds("gelu", -0.8, 300, false);
}

/* Distances keep their digits: rates far below the rounding of rho, and power laws. */
static void test_iteration(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    static double rho[DEPTH + 1], distance[DEPTH + 1];
    static const char *const geometric[] = {"tanh", "gelu", "selu", "hermite-sum:0.7,-0.2,0.5"};
    for (size_t k = 0; k < sizeof geometric / sizeof *geometric; k++) {
        const norma_kernel_map map = map_of(geometric[k], NORMA_KERNEL_NONE);
        const norma_kernel_dynamics d = dynamics_of(&map);
        norma_kernel_dynamics_iterate(&map, &d, 0.3, 2000, rho, distance);
        int64_t last = norma_kernel_dynamics_last_layer(2000, distance);
        norma_test_check_close(distance[last] / distance[last - 1], d.rate_asymptotic, 1e-11);
        norma_test_check(distance[last] < 1e-20);
    }
    norma_kernel_map map = map_of("relu", NORMA_KERNEL_NONE);
    norma_kernel_dynamics d = dynamics_of(&map);
    norma_kernel_dynamics_iterate(&map, &d, -0.5, DEPTH, rho, distance);
    norma_test_check(fabs(distance[1000] * 1e6 - 43.2) < 0.5);
    norma_test_check(fabs(distance[DEPTH] * 4e8 - 44.33) < 0.05);
    map = map_of("exp", NORMA_KERNEL_NONE);
    d = dynamics_of(&map);
    norma_kernel_dynamics_iterate(&map, &d, -0.5, DEPTH, rho, distance);
    norma_test_check_close(distance[DEPTH] * DEPTH, 2, 1e-3);
    norma_test_check_close(norma_kernel_dynamics_factor(&d, DEPTH),
                           distance[DEPTH] / distance[DEPTH - 1], 1e-7);
}

static void test_refusals(void **state)
{
    (void)state;
    norma_transfer phi;
    norma_kernel_map map;
    norma_test_ok(norma_transfer_parse("leaky-relu:1e200", &phi));
    norma_test_fails(norma_kernel_map_init_variant(&phi, NORMA_KERNEL_NONE, &map), NORMA_CONFIG,
                     "E phi(X)^2");
    norma_test_ok(norma_transfer_parse("hermite-sum:0,0", &phi));
    norma_test_fails(norma_kernel_map_init_variant(&phi, NORMA_KERNEL_NONE, &map), NORMA_CONFIG,
                     "E phi(X)^2");
    norma_test_ok(norma_transfer_parse("hermite:0", &phi));
    norma_test_fails(norma_kernel_map_init_variant(&phi, NORMA_KERNEL_POST_LN, &map), NORMA_CONFIG,
                     "constant");
    norma_test_ok(norma_kernel_map_init_variant(&phi, NORMA_KERNEL_NONE, &map));
    const norma_kernel_dynamics d = dynamics_of(&map);
    norma_test_check(d.attractor == 1 && d.rate_asymptotic == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names),          cmocka_unit_test(test_derivatives),
    cmocka_unit_test(test_hermite_series), cmocka_unit_test(test_quadrature),
    cmocka_unit_test(test_sampling),       cmocka_unit_test(test_differences),
    cmocka_unit_test(test_cases),          cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_iteration),      cmocka_unit_test(test_refusals),
};

norma_test_main_serial("src.kernel_map", tests)
