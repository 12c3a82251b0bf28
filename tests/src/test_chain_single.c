/* src/chain in single precision: against double on the same random numbers, layer by layer and
 * along the chain; against a product written out here; state, refusals, the comparison of both.
 *
 * The statistical check has a fixed seed and allows 5 standard errors. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/chain/compare.h"
#include "src/chain/weights.h"
#include "src/stats/ergodic.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)

static norma_chain_spec spec_of(norma_chain_preset preset, int64_t d, int64_t n)
{
    norma_chain_spec spec;
    norma_chain_spec_init(preset, d, n, &spec);
    spec.law = NORMA_CHAIN_LAW_PATHWISE;
    spec.single = true;
    return spec;
}

static norma_observable_request asking(norma_observable_set set)
{
    norma_observable_request request;
    norma_observable_request_init(&request);
    request.wanted = set;
    request.n_singular = 3;
    request.rank_single = true;
    return request;
}

static const norma_chain_input gaussian = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};

static norma_chain *make(const norma_chain_spec *spec, norma_observable_set set)
{
    norma_chain *chain = NULL;
    norma_observable_request request = asking(set);
    norma_test_ok(norma_chain_create(spec, &gaussian, &request, 1, &chain));
    norma_test_ok(norma_chain_start(chain, 5, 0, 3, 1));
    return chain;
}

/* One layer of rank20 with a residual written out: H' and its observables are those of the rounded
 * matrices, to the rounding of a product in single precision. */
static void test_layer_written_out(void **state)
{
    enum { D = 96, N = 70 };
    (void)state;
    norma_chain_spec spec = spec_of(NORMA_CHAIN_RANK20, D, N);
    spec.residual = 0.5;
    norma_chain *chain = make(&spec, BIT(FRO2));
    static double h[D * N], w[D * D], z[D * N], out[D * N];
    int64_t exponent = 0, also = 0;
    const norma_chain_draw draw = {.seed = 5, .replica = 3};
    norma_chain_get_matrix(chain, 0, h, &exponent);
    norma_test_ok(norma_chain_step(chain));
    norma_chain_get_matrix(chain, 0, out, &also);
    norma_chain_weights_rows(&spec, &draw, 0, D, w);
    for (int64_t i = 0; i < D; i++) {
        double square = 0;
        for (int64_t j = 0; j < N; j++) {
            double sum = 0;
            assert_true((double)(float)h[i * N + j] == h[i * N + j]);
            for (int64_t k = 0; k < D; k++)
                sum += (double)(float)w[i * D + k] * h[k * N + j];
            z[i * N + j] = h[i * N + j] + 0.5 * sum;
            square += z[i * N + j] * z[i * N + j];
        }
        for (int64_t j = 0; j < N; j++) {
            double expected = z[i * N + j] * sqrt(N / square);
            assert_true((double)(float)out[i * N + j] == out[i * N + j]);
            assert_true(fabs(out[i * N + j] - expected) < 3e-6);
        }
    }
    norma_chain_destroy(&chain);
}

/* Every preset that has a path in single precision stays near double over some layers. */
static void test_near_double(void **state)
{
    static const norma_chain_preset presets[] = {
        NORMA_CHAIN_RANK20,  NORMA_CHAIN_THESIS2,          NORMA_CHAIN_THESIS3,
        NORMA_CHAIN_THESIS5, NORMA_CHAIN_THESIS5_POST_RMS, NORMA_CHAIN_THESIS5_PRE_LN,
        NORMA_CHAIN_VANILLA, NORMA_CHAIN_VANILLA_RESIDUAL};
    const norma_observable_set set = BIT(STABLE_RANK) | BIT(FRO2) | BIT(TR_M3) | BIT(TR_DIAG2) |
                                     BIT(SINGULAR_VALUE) | BIT(ORTHOGONALITY_GAP) | BIT(COSINE) |
                                     BIT(W2_BURES) | BIT(LOG_NORM) | BIT(ROW_BIAS);
    (void)state;
    for (size_t p = 0; p < sizeof presets / sizeof presets[0]; p++) {
        norma_chain_spec spec = spec_of(presets[p], 80, 30);
        norma_chain *chain = make(&spec, set);
        norma_chain_comparison *comparison = NULL;
        double difference[16], relative[16];
        norma_test_ok(norma_chain_comparison_create(chain, &comparison));
        norma_test_ok(norma_chain_comparison_start(comparison, 9, 0));
        for (int layer = 0; layer < 20; layer++) {
            norma_test_ok(norma_chain_comparison_step(comparison));
            norma_test_ok(norma_chain_comparison_measure(comparison, set));
        }
        norma_chain_comparison_get(comparison, difference, relative);
        double largest = 0;
        for (int64_t v = 0; v < norma_chain_n_values_all(chain); v++) {
            assert_true(relative[v] < 3e-5); /* 20 layers, up to the 8th power of H */
            largest = fmax(largest, relative[v]);
        }
        assert_true(largest > 1e-10); /* it is not double */
        norma_chain_comparison_destroy(&comparison);
        norma_chain_destroy(&chain);
    }
}

/* Averages along two chains of different random numbers agree within their errors. */
static void test_averages(void **state)
{
    enum { LAYERS = 3000, BURN_IN = 100 };
    double mean[2][2], error[2][2];
    (void)state;
    for (int p = 0; p < 2; p++) {
        norma_chain_spec spec = spec_of(NORMA_CHAIN_RANK20, 65, 20);
        spec.single = p == 1;
        norma_chain *chain = make(&spec, BIT(STABLE_RANK) | BIT(TR_M3));
        norma_ergodic average[2];
        double values[2];
        norma_ergodic_init(&average[0]);
        norma_ergodic_init(&average[1]);
        norma_test_ok(norma_chain_start(chain, 5, 0, p, 1));
        for (int layer = 0; layer < LAYERS; layer++) {
            norma_test_ok(norma_chain_step(chain));
            norma_test_ok(norma_chain_measure(chain, BIT(STABLE_RANK) | BIT(TR_M3), values));
            norma_ergodic_add(&average[0], values[0]);
            norma_ergodic_add(&average[1], values[1]);
        }
        for (int o = 0; o < 2; o++) {
            norma_ergodic_result result = norma_ergodic_get(&average[o], BURN_IN);
            mean[p][o] = result.mean;
            error[p][o] = result.standard_error;
        }
        norma_chain_destroy(&chain);
    }
    for (int o = 0; o < 2; o++) {
        assert_true(error[0][o] < 0.02 * mean[0][o]);
        assert_true(fabs(mean[0][o] - mean[1][o]) < 5 * hypot(error[0][o], error[1][o]));
    }
}

/* A state taken in mid-chain goes on with the same bits in another chain. */
static void test_state(void **state)
{
    (void)state;
    norma_chain_spec spec = spec_of(NORMA_CHAIN_THESIS3, 130, 90);
    norma_chain *first = make(&spec, BIT(FRO2)), *second = make(&spec, BIT(FRO2));
    double *bytes = NULL, *a = NULL, *b = NULL;
    int64_t size = norma_chain_state_size(first), ignored = 0;
    norma_test_ok(NORMA_CALLOC(bytes, size / 8 + 1));
    norma_test_ok(NORMA_CALLOC(a, 130 * 90));
    norma_test_ok(NORMA_CALLOC(b, 130 * 90));
    for (int layer = 0; layer < 3; layer++)
        norma_test_ok(norma_chain_step(first));
    norma_chain_get_state(first, bytes);
    norma_chain_set_state(second, bytes);
    for (int layer = 0; layer < 3; layer++) {
        norma_test_ok(norma_chain_step(first));
        norma_test_ok(norma_chain_step(second));
    }
    norma_chain_get_matrix(first, 0, a, &ignored);
    norma_chain_get_matrix(second, 0, b, &ignored);
    assert_memory_equal(a, b, sizeof(double) * 130 * 90);
    norma_mem_free(bytes);
    norma_mem_free(a);
    norma_mem_free(b);
    norma_chain_destroy(&first);
    norma_chain_destroy(&second);
}

static void check_refused(const norma_chain_spec *spec, const norma_observable_request *request,
                          const char *word)
{
    norma_chain_needs needs;
    assert_int_equal(norma_chain_check(spec, &gaussian, request, 1, &needs), NORMA_CONFIG);
    assert_non_null(strstr(norma_status_error()->message, word));
    norma_status_clear();
}

static void test_refusals(void **state)
{
    (void)state;
    norma_observable_request plain = asking(BIT(FRO2)), other = plain;
    norma_chain_spec spec = spec_of(NORMA_CHAIN_RANK20, 64, 64);
    check_refused(&spec, &plain, "vector registers");
    spec = spec_of(NORMA_CHAIN_RANK20, 100, 10);
    spec.law = NORMA_CHAIN_LAW_AUTO;
    check_refused(&spec, &plain, "law exact");
    spec = spec_of(NORMA_CHAIN_THESIS6, 100, 100);
    check_refused(&spec, &plain, "reflections");
    spec = spec_of(NORMA_CHAIN_RANK20, 100, 100);
    other.wanted = BIT(LOG_SIGMA_MIN);
    check_refused(&spec, &other, "log_sigma_min");
    other = plain;
    other.lyapunov = true;
    check_refused(&spec, &other, "Lyapunov");
    other = asking(BIT(NUMERICAL_RANK));
    other.rank_single = false;
    check_refused(&spec, &other, "rounding");
    other.rank_tolerance = 100 * FLT_EPSILON;
    norma_chain_needs needs;
    norma_test_ok(norma_chain_check(&spec, &gaussian, &other, 1, &needs));
}

/* Samples that differ by no more than a product in single precision rounds: centred, they have no
 * variance there, and some in double. Numbers that single precision cannot hold are reported. */
static void test_numeric_failures(void **state)
{
    (void)state;
    norma_chain *chain = NULL;
    norma_observable_request request = asking(BIT(FRO2));
    norma_chain_spec spec = spec_of(NORMA_CHAIN_THESIS3, 100, 70);
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_NEAR_COLLINEAR, .epsilon = 1e-7};
    spec.start = NORMA_CHAIN_START_AS_GIVEN;
    for (int single = 0; single < 2; single++) {
        spec.single = single == 1;
        norma_test_ok(norma_chain_create(&spec, &input, &request, 1, &chain));
        norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
        assert_int_equal(norma_chain_step(chain), single ? NORMA_NUMERIC : NORMA_OK);
        assert_true(!single || strstr(norma_status_error()->message, "rounding of single"));
        norma_status_clear();
        norma_chain_destroy(&chain);
    }

    spec = spec_of(NORMA_CHAIN_THESIS5, 100, 70);
    spec.weight_scale = 1e30;
    chain = make(&spec, BIT(FRO2));
    assert_int_equal(norma_chain_step(chain), NORMA_NUMERIC);
    assert_non_null(strstr(norma_status_error()->message, "--precision double"));
    norma_status_clear();
    norma_chain_destroy(&chain);
}

/* A matrix of small rank: the gap of a chain in single precision is infinite from its own rounding
 * on, where double still gives a number. */
static void test_isometry_floor(void **state)
{
    (void)state;
    norma_chain_spec spec = spec_of(NORMA_CHAIN_RANK20, 70, 70);
    norma_chain *chain = make(&spec, BIT(ISOMETRY_GAP));
    norma_chain_comparison *comparison = NULL;
    double difference = 0, relative = 0;
    norma_test_ok(norma_chain_comparison_create(chain, &comparison));
    norma_test_ok(norma_chain_comparison_start(comparison, 2, 0));
    norma_test_ok(norma_chain_comparison_measure(comparison, BIT(ISOMETRY_GAP)));
    norma_chain_comparison_get(comparison, &difference, &relative);
    assert_true(difference < 1e-4);
    for (int layer = 0; layer < 25; layer++) {
        norma_test_ok(norma_chain_comparison_step(comparison));
        norma_test_ok(norma_chain_comparison_measure(comparison, BIT(ISOMETRY_GAP)));
    }
    norma_chain_comparison_get(comparison, &difference, &relative);
    assert_true(isinf(difference));
    norma_test_ok(norma_chain_measure(chain, BIT(ISOMETRY_GAP), &relative)); /* by its own floor */
    assert_true(isinf(relative));
    norma_chain_comparison_destroy(&comparison);
    norma_chain_destroy(&chain);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layer_written_out), cmocka_unit_test(test_near_double),
    cmocka_unit_test(test_averages),          cmocka_unit_test(test_state),
    cmocka_unit_test(test_refusals),          cmocka_unit_test(test_numeric_failures),
    cmocka_unit_test(test_isometry_floor),
};

norma_test_main_serial("src.chain.single", tests)
