/* src/gradient against central differences in long double of an independent forward pass: every
 * norm, order, activation, with and without a skip connection, three losses, eps and gains; then
 * equal bits for segments and restored states, and what has no gradient. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/gradient/gradient.h"
#include "tests/src/gradient_reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t seed = 11;

static const norma_chain_input gaussian = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};

static norma_gradient *make(const norma_chain_spec *spec, const norma_gradient_request *request)
{
    norma_gradient *g = NULL;
    norma_test_ok(norma_gradient_create(spec, &gaussian, request, &g));
    norma_test_ok(norma_gradient_start(g, seed, 0, 0));
    return g;
}

static norma_chain_spec make_spec(void)
{
    norma_chain_spec spec;
    norma_chain_spec_init(NORMA_CHAIN_RANK20, D, N, &spec);
    spec.weight_scale = 0.5;
    spec.law = NORMA_CHAIN_LAW_PATHWISE;
    return spec;
}

/* dL/dW of the layer that the last step went back through. */
static void take_gradient(const norma_gradient *g, double *out)
{
    const double *v = NULL, *h = NULL;
    int64_t v_exponent = 0, h_exponent = 0;
    norma_gradient_get_layer(g, &v, &v_exponent, &h, &h_exponent);
    for (int k = 0; k < D * D; k++) {
        double sum = 0;
        for (int j = 0; j < N; j++)
            sum += v[k / D * N + j] * h[k % D * N + j];
        out[k] = ldexp(sum, (int)(v_exponent + h_exponent));
    }
}

static double norm_of(const double *x)
{
    double square = 0;
    for (int k = 0; k < D * D; k++)
        square += x[k] * x[k];
    return sqrt(square);
}

/* All gradients of a chain against differences. */
static void check_chain(const norma_chain_spec *given, norma_gradient_loss_spec loss,
                        const char *name)
{
    norma_chain_spec spec = *given;
    reference r;
    norma_gradient_request request = {.loss = loss, .depth = L, .segment = 2};
    double expected[D * D], found[D * D];
    norma_gradient_result result = {0};
    norma_test_ok(norma_chain_spec_finish(&spec));
    make_reference(&spec, &loss, seed, &r);
    norma_gradient *g = make(&spec, &request);
    while (!norma_gradient_is_done(g)) {
        int64_t before = norma_gradient_progress(g);
        norma_test_ok(norma_gradient_step(g));
        if (before < L || norma_gradient_progress(g) == before)
            continue;
        const int layer = (int)(2 * L - 1 - before);
        differentiate(&r, layer, expected);
        take_gradient(g, found);
        norma_gradient_get_result(g, &result);
        const double g_strength = isinf(spec.residual) ? 1 : spec.residual;
        double norm = norm_of(expected);
        for (int k = 0; k < D * D; k++)
            if (!norma_test_close(g_strength * found[k], expected[k], 0, 1e-9 * norm + 1e-13))
                fail_msg("%s, layer %d, entry %d: %.15g, by differences %.15g", name, layer, k,
                         g_strength * found[k], expected[k]);
        if (norm > 1e-9 && !norma_test_close(exp(result.log_norm[layer]), norm, 1e-9, 1e-13))
            fail_msg("%s, layer %d: norm %.15g, by differences %.15g", name, layer,
                     exp(result.log_norm[layer]), norm);
    }
    norma_test_check_close(result.loss, (double)loss_of(&r), 1e-12);
    norma_gradient_destroy(&g);
}

static norma_gradient_loss_spec loss_number(int k)
{
    return (norma_gradient_loss_spec){.kind = (norma_gradient_loss_kind)(k % 3),
                                      .readout = (norma_gradient_readout)(k % 2),
                                      .classes = 3 + k % 4};
}

static void differences(void **state)
{
    static const char *const activations[] = {
        "identity", "relu",  "leaky-relu:0.2", "tanh",       "sigmoid",  "gelu", "silu",
        "softplus", "relu6", "hard-sigmoid:4", "hard-swish", "clip:0.1", "sin",  "selu",
        "exp",      "erf",   "hermite:3"};
    int number = 0;
    (void)state;
    assert_int_equal(sizeof activations / sizeof *activations, norma_activation_names.n);
    for (int a = 0; a < norma_activation_names.n; a++)
        for (int norm = 0; norm < NORMA_N_CHAIN_NORMS; norm++)
            for (int order = 0; order < NORMA_N_CHAIN_ORDERS; order++)
                for (int skip = 0; skip < 2; skip++, number++) {
                    char name[120];
                    norma_chain_spec spec = make_spec();
                    norma_test_ok(norma_activation_parse(activations[a], &spec.activation));
                    spec.norm = (norma_chain_norm)norm;
                    spec.order = (norma_chain_order)order;
                    spec.residual = skip ? 0.7 : INFINITY;
                    spec.bn_eps = number % 3 == 0 || strcmp(activations[a], "relu") == 0 ||
                                          norma_activation_is_hard(&spec.activation)
                                      ? 0.05
                                      : 0;
                    spec.unit_norm = number % 4 == 0;
                    spec.gain = number % 5 == 0 ? 1.2 : 1;
                    spec.gain_exponent = number % 7 == 0 ? 0.3 : 0;
                    spec.act_scale = number % 2 ? 0.1 : 0.08; /* exp of exp of exp stays near 1 */
                    spec.scale = number % 3 ? 1 : 0.9;
                    spec.weights =
                        number % 4 ? NORMA_DISTRIBUTION_NORMAL : NORMA_DISTRIBUTION_ORTHOGONAL;
                    snprintf(name, sizeof name, "%s, %s, order %d, skip %d, number %d",
                             activations[a], norma_chain_norm_name(spec.norm), order, skip, number);
                    check_chain(&spec, loss_number(number), name);
                }
}

/* Every preset, and every law of one matrix. */
static void presets_and_laws(void **state)
{
    (void)state;
    for (int p = 0; p < NORMA_N_CHAIN_PRESETS; p++) {
        norma_chain_spec spec;
        norma_chain_spec_init((norma_chain_preset)p, D, N, &spec);
        spec.law = NORMA_CHAIN_LAW_PATHWISE;
        spec.bn_eps = 0.01; /* relu may leave a line without variance */
        check_chain(&spec, loss_number(p), norma_names_name(&norma_chain_preset_names, p));
    }
    for (int w = 0; w < NORMA_N_DISTRIBUTIONS; w++) {
        norma_chain_spec spec = make_spec();
        spec.weights = (norma_distribution)w;
        spec.norm = NORMA_CHAIN_NORM_BN_CENTERED;
        spec.bn_eps = 0.01; /* masks may leave a row without entries */
        norma_law_source source = norma_law_get(spec.weights)->source;
        if (source != NORMA_LAW_PAIRS && source != NORMA_LAW_GIVEN)
            check_chain(&spec, loss_number(w), norma_distribution_name(spec.weights));
    }
}

/* --- one sample's gradient -------------------------------------------------------------------- */

static void sample_cosines(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * NORMA_N_CHAIN_NORMS; k++) {
        norma_chain_spec spec = make_spec();
        reference r;
        double one[N][D * D];
        norma_gradient_result result = {0};
        spec.norm = (norma_chain_norm)(k / 2);
        spec.order = (norma_chain_order)(k % 2);
        spec.activation.kind = NORMA_ACTIVATION_TANH;
        norma_test_ok(norma_chain_spec_finish(&spec));
        norma_gradient_request request = {.loss = loss_number(k), .depth = L, .per_sample = true};
        make_reference(&spec, &request.loss, seed, &r);
        for (r.only = 0; r.only < N; r.only++)
            differentiate(&r, L - 1, one[r.only]);
        norma_gradient *g = make(&spec, &request);
        while (!norma_gradient_is_done(g))
            norma_test_ok(norma_gradient_step(g));
        norma_gradient_get_result(g, &result);
        assert_int_equal(result.n_pairs, N * (N - 1) / 2);
        for (int i = 0, at = 0; i < N; i++)
            for (int j = i + 1; j < N; j++, at++) {
                double dot = 0;
                for (int e = 0; e < D * D; e++)
                    dot += one[i][e] * one[j][e];
                double expected = dot / (norm_of(one[i]) * norm_of(one[j]));
                if (!norma_test_close(result.cosine[at], expected, 0, 1e-8))
                    fail_msg("norm %d, order %d, pair %d: %.12g, by differences %.12g", k / 2,
                             k % 2, at, result.cosine[at], expected);
            }
        norma_gradient_destroy(&g);
    }
}

/* --- Jacobians -------------------------------------------------------------------------------- */

/* Spectral norm of a map of D * N numbers by its matrix of differences and many power steps. */
static double spectral_norm(const reference *r, int first, int count)
{
    static long double jacobian[D * N][D * N];
    long double h[D][N], next[D][N], x[D * N], y[D * N], norm = 0;
    const long double step = 1e-6L;
    memcpy(h, r->h0, sizeof h);
    for (int l = 0; l < first; l++) {
        run_layer(r, l, h, next);
        memcpy(h, next, sizeof h);
    }
    for (int k = 0; k < D * N; k++)
        for (int side = -1; side <= 1; side += 2) {
            long double moved[D][N];
            memcpy(moved, h, sizeof h);
            moved[k / N][k % N] += side * step;
            for (int l = first; l < first + count; l++) {
                run_layer(r, l, moved, next);
                memcpy(moved, next, sizeof next);
            }
            for (int e = 0; e < D * N; e++)
                jacobian[e][k] =
                    (side < 0 ? 0 : jacobian[e][k]) + side * moved[e / N][e % N] / (2 * step);
        }
    for (int k = 0; k < D * N; k++)
        x[k] = 1 + 0.1L * k;
    for (int power = 0; power < 2000; power++) {
        long double square = 0;
        for (int e = 0; e < D * N; e++) {
            y[e] = 0;
            for (int k = 0; k < D * N; k++)
                y[e] += jacobian[e][k] * x[k];
        }
        for (int k = 0; k < D * N; k++) {
            x[k] = 0;
            for (int e = 0; e < D * N; e++)
                x[k] += jacobian[e][k] * y[e];
            square += x[k] * x[k];
        }
        norm = sqrtl(sqrtl(square));
        for (int k = 0; k < D * N; k++)
            x[k] /= sqrtl(square);
    }
    return (double)norm;
}

static void jacobian_norms(void **state)
{
    (void)state;
    for (int norm = 0; norm < NORMA_N_CHAIN_NORMS; norm++)
        for (int k = 0; k < 4; k++) {
            norma_chain_spec spec = make_spec();
            reference r;
            norma_gradient_result result = {0};
            spec.norm = (norma_chain_norm)norm;
            spec.order = (norma_chain_order)(k % 2);
            spec.residual = k < 2 ? INFINITY : 0.6;
            spec.activation.kind = NORMA_ACTIVATION_TANH;
            norma_test_ok(norma_chain_spec_finish(&spec));
            norma_gradient_request request = {
                .loss = loss_number(0), .depth = L, .segment = 1, .jacobian = k % 2 ? 1 : 2};
            make_reference(&spec, &request.loss, seed, &r);
            norma_gradient *g = make(&spec, &request);
            while (!norma_gradient_is_done(g))
                norma_test_ok(norma_gradient_step(g));
            norma_gradient_get_result(g, &result);
            assert_int_equal(result.n_windows, L / request.jacobian);
            for (int w = 0; w < result.n_windows; w++) {
                double expected =
                    log(spectral_norm(&r, w * (int)request.jacobian, (int)request.jacobian));
                double found = result.log_jacobian[w];
                /* 20 power steps come from below. */
                if (!(found < expected + 1e-8 && found > expected - 0.02))
                    fail_msg("norm %d, %d, window %d: %.10g, of the matrix %.10g", norm, k, w,
                             found, expected);
            }
            norma_gradient_destroy(&g);
        }
}

/* --- equal bits ------------------------------------------------------------------------------- */

enum { DEEP = 13 };

/* log_norm[DEEP], log_jacobian[DEEP / 2] of a chain by segments; with `restores` its state is
 * carried to another object after every step. */
static void run_deep(const norma_chain_spec *spec, int64_t segment, bool restores, double *out)
{
    static const int64_t layers[] = {0, 3, 13};
    norma_gradient_request request = {.loss = loss_number(1),
                                      .depth = DEEP,
                                      .segment = segment,
                                      .jacobian = spec->law == NORMA_CHAIN_LAW_EXACT ? 0 : 2,
                                      .per_sample = true,
                                      .isometry_gap = true,
                                      .layers = layers,
                                      .n_layers = 3};
    norma_gradient *g = make(spec, &request), *other = make(spec, &request);
    norma_gradient_needs needs;
    norma_gradient_result result = {0};
    const void *bytes = NULL;
    int64_t size = 0;
    norma_test_ok(norma_gradient_check(spec, &gaussian, &request, &needs));
    for (int64_t reached = 0; !norma_gradient_is_done(g);) {
        norma_test_ok(norma_gradient_step(g));
        if (!restores || norma_gradient_progress(g) == reached)
            continue;
        reached = norma_gradient_progress(g);
        norma_gradient_get_state(g, &bytes, &size);
        assert_int_equal(size, needs.state_bytes);
        norma_test_ok(norma_gradient_set_state(other, bytes, size));
        norma_gradient *swap = g;
        g = other;
        other = swap;
    }
    norma_gradient_get_result(g, &result);
    memcpy(out, result.log_norm, DEEP * sizeof *out);
    memcpy(out + DEEP, result.isometry_gap, 3 * sizeof *out);
    out[DEEP + 3] = result.loss;
    out[DEEP + 4] = result.cosine[1];
    out[DEEP + 5] = result.log_jacobian ? result.log_jacobian[1] : 0;
    norma_gradient_destroy(&other);
    norma_gradient_destroy(&g);
}

static void equal_bits(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        norma_chain_spec spec;
        norma_chain_spec_init(NORMA_CHAIN_THESIS3, 7, 3, &spec);
        spec.activation.kind = NORMA_ACTIVATION_TANH;
        spec.law = k % 2 ? NORMA_CHAIN_LAW_EXACT : NORMA_CHAIN_LAW_PATHWISE;
        spec.weights = k < 2 ? NORMA_DISTRIBUTION_NORMAL : NORMA_DISTRIBUTION_ORTHOGONAL;
        norma_test_ok(norma_chain_spec_finish(&spec));
        double all[DEEP + 6], part[DEEP + 6];
        run_deep(&spec, DEEP, false, all);
        for (int64_t segment = 1; segment <= DEEP + 1; segment += 3)
            for (int restores = 0; restores < 2; restores++) {
                run_deep(&spec, segment, restores, part);
                if (memcmp(all, part, sizeof all) != 0)
                    fail_msg("chain %d: segments of %d layers, restored %d: other bits", k,
                             (int)segment, restores);
            }
    }
}

/* --- what has no gradient --------------------------------------------------------------------- */

/* Depth 0 has the loss only; batch 1; a chain whose units die has gradients of exactly 0. */
static void corner_cases(void **state)
{
    norma_gradient_result result = {0};
    norma_chain_spec spec = make_spec();
    norma_gradient_request request = {.loss = loss_number(1), .depth = 0};
    (void)state;
    norma_gradient *g = make(&spec, &request);
    assert_true(norma_gradient_is_done(g));
    norma_gradient_get_result(g, &result);
    assert_true(isfinite(result.loss));
    norma_gradient_destroy(&g);
    spec.batch = 1;
    request.depth = 2;
    g = make(&spec, &request);
    while (!norma_gradient_is_done(g))
        norma_test_ok(norma_gradient_step(g));
    norma_gradient_get_result(g, &result);
    assert_true(result.log_norm[0] <
                -30); /* a row of one sample is +-1: no gradient but rounding */
    norma_gradient_destroy(&g);
    spec.norm = NORMA_CHAIN_NORM_NONE;
    spec.activation.kind = NORMA_ACTIVATION_RELU;
    spec.weights = NORMA_DISTRIBUTION_GIVEN;
    double w[2 * D * D];
    for (int k = 0; k < 2 * D * D; k++)
        w[k] = k < D * D ? 0.1 : -0.1; /* what is positive behind layer 0 dies in layer 1 */
    spec.given = w;
    spec.n_given = 2;
    g = make(&spec, &request);
    while (!norma_gradient_is_done(g))
        norma_test_ok(norma_gradient_step(g));
    norma_gradient_get_result(g, &result);
    assert_true(isinf(result.log_norm[0]) && result.log_norm[0] < 0);
    assert_true(isinf(result.log_norm[1]) && result.log_norm[1] < 0);
    norma_gradient_destroy(&g);
}

static void refusals(void **state)
{
    norma_chain_spec spec = make_spec();
    norma_gradient_request request = {.loss = loss_number(0), .depth = 3, .jacobian = 2};
    norma_gradient_needs needs;
    (void)state;
    spec.law = NORMA_CHAIN_LAW_EXACT;
    norma_test_fails(norma_gradient_check(&spec, &gaussian, &request, &needs), NORMA_CONFIG,
                     "single cotangent");
    spec.law = NORMA_CHAIN_LAW_PATHWISE;
    request.jacobian = 4;
    norma_test_fails(norma_gradient_check(&spec, &gaussian, &request, &needs), NORMA_CONFIG,
                     "does not fit");
    request.jacobian = 0;
    request.per_sample = true;
    request.depth = 0;
    norma_test_fails(norma_gradient_check(&spec, &gaussian, &request, &needs), NORMA_CONFIG,
                     "1 layer");
    request.per_sample = false;
    request.loss =
        (norma_gradient_loss_spec){.kind = NORMA_GRADIENT_LOSS_CROSS_ENTROPY, .classes = 1};
    norma_test_fails(norma_gradient_check(&spec, &gaussian, &request, &needs), NORMA_CONFIG,
                     "single class");
    spec.single = true;
    norma_test_fails(norma_gradient_check(&spec, &gaussian, &request, &needs), NORMA_CONFIG,
                     "double precision");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(differences),    cmocka_unit_test(presets_and_laws),
    cmocka_unit_test(sample_cosines), cmocka_unit_test(jacobian_norms),
    cmocka_unit_test(equal_bits),     cmocka_unit_test(corner_cases),
    cmocka_unit_test(refusals),
};

norma_test_main_serial("src/gradient", tests)
