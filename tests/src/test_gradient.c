/* src/gradient against central differences in long double of an independent forward pass: every
 * norm, order, activation, with and without a skip connection, three losses, eps and gains; then
 * equal bits for segments and restored states, and what has no gradient. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/chain/weights.h"
#include "src/gradient/gradient.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = 5, N = 4, L = 3, MOST_CLASSES = 6 };

static const uint64_t seed = 11;

/* --- the forward pass in long double ---------------------------------------------------------- */

typedef struct reference {
    const norma_chain_spec *spec;
    norma_gradient_loss_spec loss;
    int only; /* the loss of this sample alone; -1: of all */
    long double h0[D][N], w[L][D][D];
    double readout[D][MOST_CLASSES], cotangent[MOST_CLASSES][N];
    int label[N];
} reference;

static long double phi(const norma_activation *a, long double x)
{
    const long double root2 = sqrtl(2.0L), p = a->parameter;
    switch (a->kind) {
    case NORMA_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case NORMA_ACTIVATION_LEAKY_RELU:
        return x > 0 ? x : p * x;
    case NORMA_ACTIVATION_TANH:
        return tanhl(x);
    case NORMA_ACTIVATION_SIGMOID:
        return 1 / (1 + expl(-x));
    case NORMA_ACTIVATION_GELU:
        return x * (1 + erfl(x / root2)) / 2;
    case NORMA_ACTIVATION_SILU:
        return x / (1 + expl(-x));
    case NORMA_ACTIVATION_SOFTPLUS:
        return log1pl(expl(x));
    case NORMA_ACTIVATION_SIN:
        return sinl(x);
    case NORMA_ACTIVATION_SELU:
        return (long double)1.0507009873554804934193349852946 *
               (x > 0 ? x : (long double)1.6732632423543772848170429916717 * expm1l(x));
    case NORMA_ACTIVATION_EXP:
        return expl(x);
    case NORMA_ACTIVATION_ERF:
        return erfl(x);
    case NORMA_ACTIVATION_HERMITE: /* degree 3 */
        return (x * x * x - 3 * x) / sqrtl(6.0L);
    default:
        return x;
    }
}

/* norm times scale, in place. */
static void normalize(const norma_chain_spec *spec, long double scale, long double x[D][N])
{
    const bool rows =
        spec->norm == NORMA_CHAIN_NORM_BN || spec->norm == NORMA_CHAIN_NORM_BN_CENTERED;
    const bool centered =
        spec->norm == NORMA_CHAIN_NORM_LN || spec->norm == NORMA_CHAIN_NORM_BN_CENTERED;
    const int lines = rows ? D : N, length = rows ? N : D;
    for (int i = 0; i < lines && spec->norm != NORMA_CHAIN_NORM_NONE; i++) {
        long double mean = 0, square = 0;
        for (int j = 0; j < length; j++)
            mean += (rows ? x[i][j] : x[j][i]) / length;
        for (int j = 0; j < length; j++) {
            long double *at = rows ? &x[i][j] : &x[j][i];
            *at -= centered ? mean : 0;
            square += *at * *at;
        }
        long double norm = sqrtl(square / length + spec->bn_eps) * sqrtl(length);
        for (int j = 0; j < length; j++)
            *(rows ? &x[i][j] : &x[j][i]) *= scale * (spec->unit_norm ? 1 : sqrtl(length)) / norm;
    }
    for (int k = 0; k < D * N && spec->norm == NORMA_CHAIN_NORM_NONE; k++)
        x[k / N][k % N] *= scale;
}

static void activate(const norma_chain_spec *spec, int layer, long double x[D][N])
{
    const long double gain = spec->gain * powl(layer + 1, -spec->gain_exponent);
    for (int k = 0; k < D * N; k++)
        x[k / N][k % N] = spec->act_scale * phi(&spec->activation, gain * x[k / N][k % N]);
}

static void run_layer(const reference *r, int layer, const long double h[D][N],
                      long double out[D][N])
{
    const norma_chain_spec *spec = r->spec;
    const bool skip = !isinf(spec->residual);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < N; j++) {
            long double sum = 0;
            for (int k = 0; k < D; k++)
                sum += r->w[layer][i][k] * h[k][j];
            out[i][j] = skip ? h[i][j] + spec->residual * sum : sum;
        }
    if (spec->order == NORMA_CHAIN_NORM_ACT) {
        normalize(spec, 1, out);
        activate(spec, layer, out);
        for (int k = 0; k < D * N; k++)
            out[k / N][k % N] *= spec->scale;
    } else {
        activate(spec, layer, out);
        normalize(spec, spec->scale, out);
    }
}

static long double sample_loss(const reference *r, const long double *o, int sample)
{
    const int c = (int)r->loss.classes;
    long double sum = 0, most = o[0];
    switch (r->loss.kind) {
    case NORMA_GRADIENT_LOSS_COTANGENT:
        for (int k = 0; k < c; k++)
            sum += r->cotangent[k][sample] * o[k];
        return sum;
    case NORMA_GRADIENT_LOSS_MSE:
        for (int k = 0; k < c; k++)
            sum += (o[k] - (k == r->label[sample])) * (o[k] - (k == r->label[sample])) / N;
        return sum;
    default:
        for (int k = 0; k < c; k++)
            most = fmaxl(most, o[k]);
        for (int k = 0; k < c; k++)
            sum += expl(o[k] - most);
        return (logl(sum) + most - o[r->label[sample]]) / N;
    }
}

static long double loss_of(const reference *r)
{
    long double h[2][D][N], sum = 0, o[MOST_CLASSES] = {0};
    memcpy(h[0], r->h0, sizeof r->h0);
    for (int l = 0; l < L; l++)
        run_layer(r, l, (const long double(*)[N])h[l % 2], h[(l + 1) % 2]);
    for (int j = 0; j < N; j++) {
        if (r->only >= 0 && j != r->only)
            continue;
        for (int c = 0; c < r->loss.classes; c++) {
            o[c] = 0;
            for (int i = 0; i < D; i++)
                o[c] += r->readout[i][c] * h[L % 2][i][j];
        }
        sum += sample_loss(r, o, j);
    }
    return sum;
}

/* out[D][D] = dL/dW of a layer by central differences. */
static void differentiate(reference *r, int layer, double *out)
{
    const long double step = 1e-6L;
    for (int k = 0; k < D * D; k++) {
        long double *w = &r->w[layer][k / D][k % D], was = *w;
        *w = was + step;
        long double above = loss_of(r);
        *w = was - step;
        out[k] = (double)((above - loss_of(r)) / (2 * step));
        *w = was;
    }
}

/* --- the same chain and loss ------------------------------------------------------------------ */

/* W of a layer, from its reflectors for Haar weights. */
static void make_weights(const norma_chain_spec *spec, int layer, long double w[D][D])
{
    const norma_chain_draw draw = {seed, 0, 0, layer};
    double rows[D * D] = {0}, tau[D], sign[D];
    if (norma_law_get(spec->weights)->source != NORMA_LAW_HAAR) {
        norma_chain_weights_rows(spec, &draw, 0, D, rows);
        for (int k = 0; k < D * D; k++)
            w[k / D][k % D] = rows[k] * (long double)norma_chain_weights_factor(spec);
        return;
    }
    norma_chain_weights_reflectors(&draw, NORMA_CHAIN_TENSOR_WEIGHTS, D, D, rows, tau, sign);
    for (int j = 0; j < D; j++) {
        long double x[D] = {0};
        x[j] = sign[j];
        for (int k = D - 1; k >= 0; k--) {
            long double dot = x[k];
            for (int i = k + 1; i < D; i++)
                dot += rows[k * D + i] * x[i];
            for (int i = k; i < D; i++)
                x[i] -= tau[k] * (i == k ? 1 : rows[k * D + i]) * dot;
        }
        for (int i = 0; i < D; i++)
            w[i][j] = x[i];
    }
}

static const norma_chain_input gaussian = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};

static void make_reference(const norma_chain_spec *spec, const norma_gradient_loss_spec *loss,
                           reference *r)
{
    norma_observable_request nothing;
    norma_chain *chain = NULL;
    norma_gradient_loss made = {0};
    double h[D * N];
    int64_t exponent = 0;
    memset(r, 0, sizeof *r);
    r->spec = spec;
    r->loss = *loss;
    r->only = -1;
    norma_observable_request_init(&nothing);
    nothing.wanted = 0;
    norma_test_ok(norma_chain_create(spec, &gaussian, &nothing, 1, &chain));
    norma_test_ok(norma_chain_start(chain, seed, 0, 0, 1));
    norma_chain_get_matrix(chain, 0, h, &exponent);
    norma_chain_destroy(&chain);
    for (int k = 0; k < D * N; k++)
        r->h0[k / N][k % N] = ldexpl(h[k], (int)exponent);
    for (int l = 0; l < L; l++)
        make_weights(spec, l, r->w[l]);
    norma_test_ok(norma_gradient_loss_place(&made, loss, D, N, NULL));
    norma_test_ok(norma_gradient_loss_start(&made, seed, 0, 0));
    for (int i = 0; i < D; i++)
        for (int c = 0; c < loss->classes; c++)
            r->readout[i][c] = made.readout[i * loss->classes + c];
    for (int k = 0; k < loss->classes * N; k++)
        r->cotangent[k / N][k % N] = made.cotangent[k];
    for (int j = 0; j < N; j++)
        r->label[j] = made.labels[j];
    norma_gradient_loss_clear(&made);
}

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
    norma_gradient_result result;
    norma_test_ok(norma_chain_spec_finish(&spec));
    make_reference(&spec, &loss, &r);
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
        "identity", "relu", "leaky-relu:0.2", "tanh", "sigmoid", "gelu",     "silu",
        "softplus", "sin",  "selu",           "exp",  "erf",     "hermite:3"};
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
                    spec.bn_eps = number % 3 == 0 || strcmp(activations[a], "relu") == 0 ? 0.05 : 0;
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
        norma_gradient_result result;
        spec.norm = (norma_chain_norm)(k / 2);
        spec.order = (norma_chain_order)(k % 2);
        spec.activation.kind = NORMA_ACTIVATION_TANH;
        norma_test_ok(norma_chain_spec_finish(&spec));
        norma_gradient_request request = {.loss = loss_number(k), .depth = L, .per_sample = true};
        make_reference(&spec, &request.loss, &r);
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
        run_layer(r, l, (const long double(*)[N])h, next);
        memcpy(h, next, sizeof h);
    }
    for (int k = 0; k < D * N; k++)
        for (int side = -1; side <= 1; side += 2) {
            long double moved[D][N];
            memcpy(moved, h, sizeof h);
            moved[k / N][k % N] += side * step;
            for (int l = first; l < first + count; l++) {
                run_layer(r, l, (const long double(*)[N])moved, next);
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
            norma_gradient_result result;
            spec.norm = (norma_chain_norm)norm;
            spec.order = (norma_chain_order)(k % 2);
            spec.residual = k < 2 ? INFINITY : 0.6;
            spec.activation.kind = NORMA_ACTIVATION_TANH;
            norma_test_ok(norma_chain_spec_finish(&spec));
            norma_gradient_request request = {
                .loss = loss_number(0), .depth = L, .segment = 1, .jacobian = k % 2 ? 1 : 2};
            make_reference(&spec, &request.loss, &r);
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
    norma_gradient_result result;
    double *bytes = NULL;
    norma_test_ok(norma_gradient_check(spec, &gaussian, &request, &needs));
    assert_int_equal(needs.state_bytes, norma_gradient_state_size(g));
    norma_test_ok(NORMA_ALLOC(bytes, needs.state_bytes / 8 + 1));
    for (int64_t reached = 0; !norma_gradient_is_done(g);) {
        norma_test_ok(norma_gradient_step(g));
        if (!restores || norma_gradient_progress(g) == reached)
            continue;
        reached = norma_gradient_progress(g);
        norma_gradient_get_state(g, bytes);
        norma_test_ok(norma_gradient_set_state(other, bytes));
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
    norma_mem_free(bytes);
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
    norma_gradient_result result;
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
