/* src/chain: both engines against each other, bits, states, refusals, scale-freeness. */
#include "tests/harness/harness.h"

#include "src/base/cpu.h"
#include "src/base/mem.h"
#include "src/chain/chain.h"
#include "src/chain/kernels/lanes.h"
#include "src/chain/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)
#define ALL_BUT_FRAME (NORMA_OBSERVABLES_ALL & ~BIT(LOG_SIGMA_MIN) & ~BIT(GRAM_DISTANCE))

static norma_chain_spec preset(const char *name, int64_t d, int64_t n)
{
    norma_chain_preset p = NORMA_CHAIN_RANK20;
    norma_chain_spec spec;
    norma_test_ok(norma_chain_preset_parse(name, &p));
    norma_chain_spec_init(p, d, n, &spec);
    return spec;
}

static norma_chain_input gaussian(void)
{
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    return input;
}

static norma_observable_request request_for(norma_observable_set set)
{
    norma_observable_request request;
    norma_observable_request_init(&request);
    request.wanted = set;
    request.n_tau = 3;
    request.tau[1] = 0.1;
    request.tau[2] = 1.5;
    request.n_singular = 3;
    return request;
}

static norma_chain *make_for(const norma_chain_spec *spec, const norma_chain_input *input,
                             norma_observable_set set, int64_t block)
{
    norma_observable_request request = request_for(set);
    norma_chain *chain = NULL;
    if (spec->width < 3)
        request.n_singular = 1;
    norma_test_ok(norma_chain_create(spec, input, &request, block, &chain));
    return chain;
}

static norma_chain *make(const norma_chain_spec *spec, const norma_chain_input *input,
                         norma_observable_set set)
{
    return make_for(spec, input, set, NORMA_LANES);
}

static void run(norma_chain *chain, int64_t n_layers)
{
    for (int64_t l = 0; l < n_layers; l++)
        norma_test_ok(norma_chain_step(chain));
}

/* W of every layer of one replica, as a file would give them. */
static double *export_weights(const norma_chain_spec *spec, uint64_t seed, int64_t replica,
                              int64_t n_layers)
{
    const int64_t d = spec->width;
    double *w = NULL, factor = norma_chain_weights_factor(spec);
    norma_test_ok(NORMA_ALLOC(w, n_layers * d * d));
    for (int64_t l = 0; l < n_layers; l++) {
        norma_chain_draw draw = {seed, 0, replica, l};
        norma_chain_weights_rows(spec, &draw, 0, d, w + l * d * d);
    }
    for (int64_t i = 0; i < n_layers * d * d; i++)
        w[i] *= factor;
    return w;
}

/* Lanes and the plain engine, the latter fed with the same weights, agree on every observable. */
static void check_engines(const char *name, int64_t d, int64_t n, double residual)
{
    enum { LAYERS = 12, REPLICA = 3 };
    norma_chain_spec spec = preset(name, d, n);
    spec.law = NORMA_CHAIN_LAW_PATHWISE;
    if (residual > 0)
        spec.residual = residual;
    norma_chain_input input = gaussian();
    norma_chain *lanes = make(&spec, &input, ALL_BUT_FRAME);
    assert_int_equal(norma_chain_n_lanes(lanes), NORMA_LANES);
    double *w = export_weights(&spec, 5, REPLICA, LAYERS);
    spec.weights = NORMA_DISTRIBUTION_GIVEN;
    spec.given = w;
    spec.n_given = LAYERS;
    norma_chain *plain = make(&spec, &input, ALL_BUT_FRAME);
    assert_int_equal(norma_chain_n_lanes(plain), 1);
    int64_t count = norma_chain_n_values_all(plain);
    double *a = NULL, *b = NULL;
    norma_test_ok(NORMA_CALLOC(a, count * NORMA_LANES));
    norma_test_ok(NORMA_CALLOC(b, count));
    norma_test_ok(norma_chain_start(lanes, 5, 0, 0, NORMA_LANES));
    norma_test_ok(norma_chain_start(plain, 5, 0, REPLICA, 1));
    for (int l = 0; l <= LAYERS; l++) {
        norma_test_ok(norma_chain_measure(lanes, ALL_BUT_FRAME, a));
        norma_test_ok(norma_chain_measure(plain, ALL_BUT_FRAME, b));
        for (int64_t i = 0; i < count; i++) {
            double x = a[i * NORMA_LANES + REPLICA], y = b[i];
            bool spectral = i >= norma_chain_offset(plain, NORMA_OBSERVABLE_SIGMA_MIN) &&
                            i <= norma_chain_offset(plain, NORMA_OBSERVABLE_ISOMETRY_GAP_FEATURES);
            if (!(x == y || (isnan(x) && isnan(y)) ||
                  norma_test_close(x, y, spectral ? 1e-6 : 1e-9, 1e-12)))
                fail_msg("%s %lld x %lld, layer %d, value %lld: %.17g and %.17g", name,
                         (long long)d, (long long)n, l, (long long)i, x, y);
        }
        if (l < LAYERS) {
            norma_test_ok(norma_chain_step(lanes));
            norma_test_ok(norma_chain_step(plain));
        }
    }
    norma_mem_free(a);
    norma_mem_free(b);
    norma_mem_free(w);
    norma_chain_destroy(&lanes);
    norma_chain_destroy(&plain);
}

static void test_engines_agree(void **state)
{
    (void)state;
    check_engines("rank20", 8, 8, 0);
    check_engines("rank20", 13, 7, 0.3);
    check_engines("thesis2", 16, 5, 0);
    check_engines("thesis3", 11, 18, 0);
    check_engines("thesis5", 12, 9, 0);
    check_engines("thesis5-pre-rms", 10, 10, 0);
    check_engines("thesis5-pre-ln", 21, 6, 0);
    check_engines("thesis5-post-rms", 33, 14, 0);
    check_engines("vanilla", 9, 5, 0);
    check_engines("vanilla-residual", 64, 3, 0.1);
    check_engines("rank20", 1, 3, 0);
}

/* Final H of one replica, computed in a block that begins at `first` and has `count` replicas; one
 * alone is computed by the kernels for one. */
static void final_matrix(const norma_chain_spec *spec, int64_t first, int64_t count,
                         int64_t replica, double *out, double *values)
{
    norma_chain_input input = gaussian();
    norma_chain *chain = make_for(spec, &input, ALL_BUT_FRAME, count > 1 ? NORMA_LANES : 1);
    double all[64 * NORMA_LANES];
    int64_t exponent = 0, lanes = norma_chain_n_lanes(chain);
    norma_test_ok(norma_chain_start(chain, 8, 1, first, count));
    run(chain, 30);
    norma_test_ok(norma_chain_measure(chain, ALL_BUT_FRAME, all));
    norma_chain_get_matrix(chain, (int)(replica - first), out, &exponent);
    for (int64_t i = 0; i < norma_chain_n_values_all(chain); i++)
        values[i] = all[i * lanes + replica - first];
    norma_chain_destroy(&chain);
}

static void test_bits_do_not_depend_on_block_or_instruction_set(void **state)
{
    (void)state;
    static const char *const names[] = {"rank20", "thesis3", "vanilla", "thesis5-post-ln"};
    norma_isa best = norma_cpu_isa();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        norma_chain_spec spec = preset(names[k], 19, 14);
        spec.law = NORMA_CHAIN_LAW_PATHWISE;
        double a[19 * 14], b[19 * 14], x[64] = {0}, y[64] = {0};
        final_matrix(&spec, 0, 8, 5, a, x);
        for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
            if (!norma_cpu_supports((norma_isa)isa))
                continue;
            norma_cpu_set_isa((norma_isa)isa);
            for (int count = 1; count < 8; count += 5) {
                final_matrix(&spec, 5 - count / 2, count, 5, b, y);
                assert_memory_equal(a, b, sizeof a);
                assert_memory_equal(x, y, sizeof x);
            }
        }
        norma_cpu_set_isa(best);
    }
}

/* Tridiagonal forms of one matrix by every kernel: equal bits, and the matrix's trace and norm. */
static void test_tridiagonal_bits(void **state)
{
    (void)state;
    norma_isa best = norma_cpu_isa();
    norma_rng_stream stream = {.purpose = NORMA_RNG_TEST};
    for (int64_t m = 1; m <= 33; m += m < 10 ? 1 : 8) {
        double *k = NULL, *first = NULL, *out = NULL;
        norma_test_ok(NORMA_CALLOC(k, 7 * m * m * NORMA_LANES));
        norma_test_ok(NORMA_CALLOC(first, 2 * m));
        norma_test_ok(NORMA_CALLOC(out, 6 * m * NORMA_LANES));
        for (int kernel = 0; kernel < 2 * NORMA_N_ISAS; kernel++) {
            if (!norma_cpu_supports((norma_isa)(kernel / 2)))
                continue;
            norma_cpu_set_isa((norma_isa)(kernel / 2));
            const norma_lanes_kernels *kernels =
                kernel % 2 ? norma_lanes_get_solo() : norma_lanes_get();
            const int64_t lanes = kernels->lanes;
            double trace = 0, square = 0;
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j <= i; j++) {
                    double x = 0;
                    norma_rng_fill_normal(2, &stream, i * m + j, 1, &x);
                    for (int64_t l = 0; l < lanes; l++)
                        k[(i * m + j) * lanes + l] = k[(j * m + i) * lanes + l] = x;
                    trace += i == j ? x : 0;
                    square += i == j ? x * x : 2 * x * x;
                }
            double *off = out + m * lanes;
            kernels->tridiagonalize(m, k, out, off, off + m * lanes);
            for (int64_t i = 0; i < m; i++) {
                double off_i = i + 1 < m ? off[i * lanes + lanes - 1] : 0;
                trace -= out[i * lanes];
                square -= out[i * lanes] * out[i * lanes] + 2 * off_i * off_i;
                if (kernel == 0) {
                    first[i] = out[i * lanes];
                    first[m + i] = off_i;
                }
                assert_true(out[i * lanes] == first[i] && off_i == first[m + i]);
            }
            assert_true(fabs(trace) < 1e-12 && fabs(square) < 1e-10);
        }
        norma_mem_free(k);
        norma_mem_free(first);
        norma_mem_free(out);
    }
    norma_cpu_set_isa(best);
}

static void check_resume(const norma_chain_spec *spec, norma_observable_set set)
{
    norma_chain_input input = gaussian();
    norma_chain *straight = make(spec, &input, set), *other = make(spec, &input, set);
    int lanes = norma_chain_n_lanes(straight);
    double a[64 * NORMA_LANES] = {0}, b[64 * NORMA_LANES] = {0};
    double *bytes = NULL;
    norma_test_ok(NORMA_ALLOC(bytes, norma_chain_state_size(straight) / 8));
    norma_test_ok(norma_chain_start(straight, 3, 0, 0, lanes));
    run(straight, 15);
    norma_chain_get_state(straight, bytes);
    run(straight, 15);
    norma_chain_set_state(other, bytes);
    assert_int_equal(norma_chain_get_layer(other), 15);
    run(other, 15);
    norma_test_ok(norma_chain_measure(straight, set, a));
    norma_test_ok(norma_chain_measure(other, set, b));
    assert_memory_equal(a, b, sizeof a);
    norma_mem_free(bytes);
    norma_chain_destroy(&straight);
    norma_chain_destroy(&other);
}

static void test_states_continue_bit_for_bit(void **state)
{
    (void)state;
    norma_chain_spec spec = preset("rank20", 12, 12);
    check_resume(&spec, ALL_BUT_FRAME);
    spec = preset("vanilla", 12, 4);
    check_resume(&spec, NORMA_OBSERVABLES_ALL);
    spec = preset("vanilla", 12, 12);
    check_resume(&spec, ALL_BUT_FRAME | BIT(GRAM_DISTANCE));
    spec = preset("thesis6", 12, 6);
    check_resume(&spec, NORMA_OBSERVABLES_ALL);
}

/* Scaled inputs: what is scale-free does not move, what is not moves as it must. */
static void test_inputs_of_any_scale(void **state)
{
    (void)state;
    enum { D = 10, N = 6 };
    static const char *const names[] = {"rank20",  "thesis2", "thesis3",
                                        "thesis6", "vanilla", "thesis5-pre-ln"};
    static const double scales[2] = {1e150, 1e-150};
    norma_chain_input source = gaussian();
    double values[D * N], scaled[D * N];
    norma_chain_input_fill(&source, 4, 0, 0, D, N, values);
    for (size_t k = 0; k < 2 * sizeof names / sizeof *names; k++) {
        norma_chain_spec spec = preset(names[k / 2], D, N);
        norma_chain_input input = {NORMA_CHAIN_INPUT_GIVEN, NAN, 0, values, D, N, 0};
        norma_chain_input big = {NORMA_CHAIN_INPUT_GIVEN, NAN, 0, scaled, D, N, 0};
        for (int i = 0; i < D * N; i++)
            scaled[i] = values[i] * scales[k % 2];
        norma_observable_set set =
            BIT(STABLE_RANK) | BIT(ORTHOGONALITY_GAP) | BIT(COSINE) | BIT(LOG_NORM);
        norma_chain *a = make(&spec, &input, set), *b = make(&spec, &big, set);
        double x[4 * NORMA_LANES], y[4 * NORMA_LANES];
        int lanes = norma_chain_n_lanes(a);
        norma_test_ok(norma_chain_start(a, 2, 0, 0, 1));
        norma_test_ok(norma_chain_start(b, 2, 0, 0, 1));
        for (int l = 0; l < 10; l++) {
            norma_test_ok(norma_chain_measure(a, set, x));
            norma_test_ok(norma_chain_measure(b, set, y));
            for (int i = 0; i < 3; i++)
                norma_test_check_close(x[i * lanes], y[i * lanes], 1e-10);
            bool moves = spec.carry_norm || (l == 0 && strcmp(names[k / 2], "thesis2") != 0 &&
                                             strcmp(names[k / 2], "thesis3") != 0);
            double shift = moves ? log(scales[k % 2]) : 0;
            assert_true(fabs(y[3 * lanes] - x[3 * lanes] - shift) < 1e-10);
            run(a, 1);
            run(b, 1);
        }
        norma_chain_destroy(&a);
        norma_chain_destroy(&b);
    }
}

static void test_rows_without_variance(void **state)
{
    (void)state;
    norma_chain_spec spec = preset("thesis3", 12, 6);
    norma_chain_input input = {
        .kind = NORMA_CHAIN_INPUT_DEGENERATE, .epsilon = NAN, .n_distinct = 1};
    norma_chain *chain = make(&spec, &input, BIT(COSINE));
    norma_test_fails(norma_chain_start(chain, 1, 0, 7, 1), NORMA_NUMERIC,
                     "layer 0, replica 7: row 0 has no variance");
    norma_chain_destroy(&chain);
    spec.start = NORMA_CHAIN_START_AS_GIVEN;
    for (int law = NORMA_CHAIN_LAW_PATHWISE; law <= NORMA_CHAIN_LAW_EXACT; law++) {
        double value[NORMA_LANES];
        spec.law = (norma_chain_law)law;
        spec.bn_eps = 0;
        chain = make(&spec, &input, BIT(COSINE));
        norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
        norma_test_fails(norma_chain_step(chain), NORMA_NUMERIC, "layer 1, replica 0: row 0");
        norma_chain_destroy(&chain);
        spec.bn_eps = 1e-5;
        chain = make(&spec, &input, BIT(COSINE));
        norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
        run(chain, 3);
        norma_test_ok(norma_chain_measure(chain, BIT(COSINE), value));
        assert_true(isnan(value[0]));
        norma_chain_destroy(&chain);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    norma_chain *chain = NULL;
    norma_chain_preset p = NORMA_CHAIN_RANK20;
    norma_observable_set set = 0;
    norma_chain_input input = gaussian();
    norma_test_fails(norma_chain_preset_parse("thesis7", &p), NORMA_CONFIG, "thesis");
    norma_test_fails(norma_observable_parse("soft_rank,stable-rnk", &set), NORMA_CONFIG,
                     "'stable_rank'");
    norma_chain_spec spec = preset("rank20", 6, 6);
    spec.law = NORMA_CHAIN_LAW_EXACT;
    norma_observable_request request = request_for(BIT(SOFT_RANK));
    norma_test_fails(norma_chain_create(&spec, &input, &request, 8, &chain), NORMA_CONFIG,
                     "law exact");
    spec = preset("vanilla", 6, 3);
    norma_test_ok(norma_activation_parse("tanh", &spec.activation));
    norma_test_fails(norma_chain_create(&spec, &input, &request, 8, &chain), NORMA_CONFIG,
                     "thesis5");
    spec = preset("rank20", 6, 3);
    spec.residual = -1;
    norma_test_fails(norma_chain_create(&spec, &input, &request, 8, &chain), NORMA_CONFIG,
                     "residual");
    spec = preset("thesis3", 6, 1);
    norma_test_fails(norma_chain_create(&spec, &input, &request, 8, &chain), NORMA_CONFIG,
                     "batch of 1");
    spec = preset("thesis5", 6, 3);
    request = request_for(BIT(GRAM_DISTANCE));
    norma_test_fails(norma_chain_create(&spec, &input, &request, 8, &chain), NORMA_CONFIG,
                     "fixed point");
    request = request_for(BIT(LOG_SIGMA_MIN));
    norma_test_fails(norma_chain_create(&spec, &input, &request, 8, &chain), NORMA_CONFIG,
                     "linear");
}

static void test_refused_arrays(void **state)
{
    (void)state;
    norma_chain *chain = NULL;
    norma_chain_input input = gaussian();
    norma_chain_spec spec;
    norma_observable_request request;
    double bad[2] = {1, NAN};
    norma_chain_input given = {NORMA_CHAIN_INPUT_GIVEN, NAN, 0, bad, 2, 1, 0};
    spec = preset("rank20", 2, 1);
    request = request_for(BIT(SOFT_RANK));
    norma_test_fails(norma_chain_create(&spec, &given, &request, 8, &chain), NORMA_CONFIG,
                     "[1, 0]");
    given.rows = 3;
    norma_test_fails(norma_chain_create(&spec, &given, &request, 8, &chain), NORMA_CONFIG, "3 x 1");
    static const double w[4] = {1, 0, 0, 1};
    spec.weights = NORMA_DISTRIBUTION_GIVEN;
    spec.given = w;
    spec.n_given = 1;
    chain = make(&spec, &input, BIT(SOFT_RANK));
    norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
    run(chain, 1);
    norma_test_fails(norma_chain_step(chain), NORMA_CONFIG, "end after 1");
    norma_test_fails(norma_chain_start(chain, 1, 0, (int64_t)1 << 24, 1), NORMA_LIMIT, "replica");
    norma_chain_destroy(&chain);
}

/* Known matrices at depth 0. */
static void test_known_inputs(void **state)
{
    (void)state;
    norma_chain_spec spec = preset("rank20", 4, 4);
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_DIAGONAL, .epsilon = 0.5};
    norma_observable_set set = NORMA_OBSERVABLES_ALL & ~BIT(LOG_SIGMA_MIN);
    norma_chain *chain = make(&spec, &input, set);
    double x[64 * NORMA_LANES];
    int lanes = norma_chain_n_lanes(chain);
    norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
    norma_test_ok(norma_chain_measure(chain, set, x));
#define VALUE(name) x[norma_chain_offset(chain, NORMA_OBSERVABLE_##name) * lanes]
    assert_true(VALUE(SOFT_RANK) == 0); /* s^2/N = 1/4, 1/16 x 3; tau 0.5 */
    assert_true(x[lanes] == 1);         /* tau 0.1 */
    norma_test_check_close(VALUE(STABLE_RANK), 1.75 * 1.75 / (1 + 3.0 / 16), 1e-14);
    norma_test_check_close(VALUE(FRO2), (1 + 3.0 / 16) / 16, 1e-14);
    norma_test_check_close(VALUE(TR_M3), (1 + 3.0 / 64) / 64, 1e-14);
    norma_test_check_close(VALUE(TR_DIAG2), (1 + 3.0 / 256) / 256, 1e-14);
    norma_test_check_close(VALUE(SIGMA_MIN), 0.5, 1e-14);
    norma_test_check_close(VALUE(ISOMETRY_GAP), log(1.75 / 4) - 0.75 * log(0.25), 1e-13);
    norma_test_check_close(VALUE(LOG_NORM), 0.5 * log(1.75), 1e-14);
    norma_test_check_close(VALUE(ORTHOGONALITY_GAP),
                           sqrt(pow(1 / 1.75 - 0.25, 2) + 3 * pow(0.25 / 1.75 - 0.25, 2)), 1e-14);
    assert_true(VALUE(NUMERICAL_RANK) == 4 && VALUE(COSINE) == 0 && isnan(VALUE(ROW_BIAS)));
#undef VALUE
    norma_chain_destroy(&chain);
}

/* Centring at n = d: the Gram matrix is singular and the gap is +inf. */
static void test_centred_gap_is_infinite(void **state)
{
    (void)state;
    norma_chain_spec spec = preset("thesis6", 9, 9);
    spec.norm = NORMA_CHAIN_NORM_BN_CENTERED;
    norma_chain_input input = gaussian();
    norma_chain *chain = make(&spec, &input, BIT(ISOMETRY_GAP));
    double value[NORMA_LANES];
    norma_test_ok(norma_chain_start(chain, 1, 0, 0, 1));
    for (int l = 0; l < 20; l++) {
        run(chain, 1);
        norma_test_ok(norma_chain_measure(chain, BIT(ISOMETRY_GAP), value));
        assert_true(isinf(value[0]) && value[0] > 0);
    }
    norma_chain_destroy(&chain);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_engines_agree),
    cmocka_unit_test(test_bits_do_not_depend_on_block_or_instruction_set),
    cmocka_unit_test(test_tridiagonal_bits),
    cmocka_unit_test(test_states_continue_bit_for_bit),
    cmocka_unit_test(test_inputs_of_any_scale),
    cmocka_unit_test(test_rows_without_variance),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_refused_arrays),
    cmocka_unit_test(test_known_inputs),
    cmocka_unit_test(test_centred_gap_is_infinite),
};

norma_test_main_serial("src.chain", tests)
