/* src/gradient against theory: law exact beside pathwise, isometric chains whose gradients do not
 * grow, and explosion under batch normalization.
 *
 * Statistical checks use fixed seeds; a Kolmogorov-Smirnov probability of 1e-5 is allowed, and 5
 * standard errors: a correct program fails a new seed with probability below 1e-3 in all. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/gradient/gradient.h"
#include "src/stats/ks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const norma_chain_input gaussian = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};

static norma_gradient *make(const norma_chain_spec *spec, const norma_gradient_request *request)
{
    norma_gradient *g = NULL;
    norma_test_ok(norma_gradient_create(spec, &gaussian, request, &g));
    return g;
}

/* log_norm[depth] of a replica. */
static const double *run(norma_gradient *g, uint64_t seed, int64_t replica)
{
    norma_gradient_result result;
    norma_test_ok(norma_gradient_start(g, seed, 0, replica));
    while (!norma_gradient_is_done(g))
        norma_test_ok(norma_gradient_step(g));
    norma_gradient_get_result(g, &result);
    return result.log_norm;
}

static norma_gradient_request depth_of(int64_t depth, int64_t classes)
{
    return (norma_gradient_request){.loss = {.classes = classes}, .depth = depth};
}

enum { DRAWS = 5000 };

/* The laws of all layers' gradient norms, and of the ratio of the first two. */
static void check_exact(norma_chain_spec spec, const char *name)
{
    const norma_gradient_request request = depth_of(3, 4);
    double *x[2][4];
    for (int k = 0; k < 2; k++) {
        spec.law = k ? NORMA_CHAIN_LAW_EXACT : NORMA_CHAIN_LAW_PATHWISE;
        norma_gradient *g = make(&spec, &request);
        for (int s = 0; s < 4; s++)
            norma_test_ok(NORMA_ALLOC(x[k][s], DRAWS));
        for (int r = 0; r < DRAWS; r++) {
            const double *log_norm = run(g, k ? 5 : 6, r);
            for (int s = 0; s < 3; s++)
                x[k][s][r] = log_norm[s];
            x[k][3][r] = log_norm[0] - log_norm[1];
        }
        norma_gradient_destroy(&g);
    }
    for (int s = 0; s < 4; s++) {
        double distance = norma_ks_distance_two(x[0][s], DRAWS, x[1][s], DRAWS);
        double probability = norma_ks_probability(distance, 0.5 * DRAWS);
        if (!(probability > 1e-5))
            fail_msg("%s, number %d: distance %g, probability %g", name, s, distance, probability);
        norma_mem_free(x[0][s]);
        norma_mem_free(x[1][s]);
    }
}

static void exact_law(void **state)
{
    static const norma_chain_norm norms[] = {NORMA_CHAIN_NORM_BN_CENTERED, NORMA_CHAIN_NORM_RMS,
                                             NORMA_CHAIN_NORM_NONE};
    (void)state;
    for (int k = 0; k < 3; k++)
        for (int haar = 0; haar < 2; haar++)
            for (int64_t n = 3; n <= 5; n += 2) { /* at most, and more than half of the width */
                norma_chain_spec spec;
                char name[80];
                norma_chain_spec_init(NORMA_CHAIN_RANK20, 7, n, &spec);
                spec.norm = norms[k];
                spec.weights = haar ? NORMA_DISTRIBUTION_ORTHOGONAL : NORMA_DISTRIBUTION_NORMAL;
                spec.residual = k == 1 ? 0.8 : INFINITY;
                spec.activation.kind = NORMA_ACTIVATION_TANH;
                spec.weight_scale = 0.4;
                snprintf(name, sizeof name, "%s, haar %d, batch %d",
                         norma_chain_norm_name(spec.norm), haar, (int)n);
                check_exact(spec, name);
            }
}

/* Orthogonal W and an orthogonal input, rows of norm sqrt(n): bn does not change H, and V = A H /
 * n. Back through a layer the diagonal of A is removed, then A becomes W' A W. Thus the
 * antisymmetric part of A stays for ever and the symmetric one dies out: gradient norms fall by
 * little more than log(2) / 2, and become constant. */
static void isometry(void **state)
{
    enum { WIDTH = 12, LAYERS = 400 };
    double h0[WIDTH * WIDTH] = {0};
    norma_chain_spec spec;
    const norma_gradient_request request = depth_of(LAYERS, WIDTH);
    norma_gradient *g = NULL;
    (void)state;
    for (int i = 0; i < WIDTH; i++)
        h0[i * WIDTH + i] = sqrt(WIDTH);
    const norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GIVEN,
                                     .epsilon = NAN,
                                     .values = h0,
                                     .rows = WIDTH,
                                     .columns = WIDTH};
    norma_chain_spec_init(NORMA_CHAIN_THESIS6, WIDTH, WIDTH, &spec);
    spec.unit_norm = false;
    norma_test_ok(norma_gradient_create(&spec, &input, &request, &g));
    const double *log_norm = run(g, 3, 0);
    norma_test_check(log_norm[LAYERS - 1] <= 0.5 * log(WIDTH) + 1e-12);
    norma_test_check(log_norm[0] > 0.5 * log(WIDTH) - 1);
    for (int l = 0; l + 1 < LAYERS; l++)
        if (!(log_norm[l] <= log_norm[l + 1] + 1e-13))
            fail_msg("layer %d: gradients of an isometric chain grow by %g", l,
                     log_norm[l] - log_norm[l + 1]);
    if (!norma_test_close(log_norm[0], log_norm[20], 0, 1e-6))
        fail_msg("layer 0: %.15g, layer 20: %.15g", log_norm[0], log_norm[20]);
    norma_gradient_destroy(&g);
}

/* Without normalization and with Haar weights, || dL/dW || = || V || || H || / sqrt(d) for H = c Q:
 * each of the other layers gives its gain. */
static void exact_isometry(void **state)
{
    enum { WIDTH = 9 };
    double h0[WIDTH * WIDTH] = {0};
    norma_chain_spec spec;
    const norma_gradient_request request = depth_of(200, WIDTH);
    norma_gradient *g = NULL;
    (void)state;
    for (int i = 0; i < WIDTH; i++)
        h0[i * WIDTH + i] = 1;
    const norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GIVEN,
                                     .epsilon = NAN,
                                     .values = h0,
                                     .rows = WIDTH,
                                     .columns = WIDTH};
    norma_chain_spec_init(NORMA_CHAIN_VANILLA, WIDTH, WIDTH, &spec);
    spec.weights = NORMA_DISTRIBUTION_ORTHOGONAL;
    spec.gain = 0.5;
    norma_test_ok(norma_gradient_create(&spec, &input, &request, &g));
    const double *log_norm = run(g, 3, 0);
    for (int l = 0; l < 200; l++) /* 0.5 from every layer: of V above, of H below */
        if (!norma_test_close(log_norm[l], 200 * log(0.5), 0, 1e-11))
            fail_msg("layer %d: %.15g, not %.15g", l, log_norm[l], 200 * log(0.5));
    norma_gradient_destroy(&g);
}

/* The mean square of gradients grows by (m - 1) / (m - 2) a layer towards the input, m = n without
 * and n - 1 with centring, up to terms of order 1 / d (recorded at d = 100, n = 10: half the
 * logarithm is 0.0556 centred and 0.0467 uncentred); it is a little more near the loss. */
static void explosion(void **state)
{
    enum { LAYERS = 60, FIRST = 5, LAST = 45, REPLICAS = 200 };
    static const double recorded[2] = {0.0467, 0.0556};
    (void)state;
    for (int centered = 0; centered < 2; centered++) {
        norma_chain_spec spec;
        const norma_gradient_request request = depth_of(LAYERS, 100);
        norma_chain_spec_init(NORMA_CHAIN_RANK20, 100, 10, &spec);
        spec.norm = centered ? NORMA_CHAIN_NORM_BN_CENTERED : NORMA_CHAIN_NORM_BN;
        norma_gradient *g = make(&spec, &request);
        double low = 0, high = 0, square = 0;
        for (int r = 0; r < REPLICAS; r++) {
            const double *log_norm = run(g, 8, r);
            double a = exp(2 * log_norm[FIRST]), b = exp(2 * log_norm[LAST]);
            low += a / REPLICAS;
            high += b / REPLICAS;
            square += a * a / REPLICAS;
        }
        const double n_layers = LAST - FIRST;
        const double rate = 0.5 * log(low / high) / n_layers;
        const double error = 0.5 * sqrt(square / (low * low) - 1) / sqrt(REPLICAS) / n_layers;
        if (!(fabs(rate - recorded[centered]) < 5 * error + 0.003))
            fail_msg("centred %d: rate %g, recorded %g, standard error %g", centered, rate,
                     recorded[centered], error);
        norma_gradient_destroy(&g);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(exact_law),
    cmocka_unit_test(isometry),
    cmocka_unit_test(exact_isometry),
    cmocka_unit_test(explosion),
};

norma_test_main_serial("src/gradient laws", tests)
