/* src/network/bounds: ranges of a whole network's activations. */
#include "tests/harness/harness.h"

#include "src/network/bounds.h"
#include "src/network/forward.h"

#include <math.h>

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

/* Deep ranges hold the activations of any admissible image, here all -1, all 1 and noise. */
static void test_deep_ranges(void **state)
{
    (void)state;
    norma_network *network = NULL;
    norma_test_ok(norma_network_create(3, &network));
    network->input = (norma_shape){2, 6, 6};
    for (int l = 0; l < 2; l++) {
        norma_layer *layer = &network->layers[l];
        layer->n_channels_in = l == 0 ? 2 : 3;
        layer->n_channels_out = 3;
        layer->kernel = (norma_kernel_shape){3, 3};
        layer->padding[0] = layer->padding[1] = 1;
        layer->activation.kind = l == 0 ? NORMA_ACTIVATION_GELU : NORMA_ACTIVATION_RELU;
        layer->pool = l == 0 ? NORMA_POOL_MAX2 : NORMA_POOL_NONE;
    }
    network->layers[2].kind = NORMA_LAYER_LINEAR;
    network->layers[2].n_channels_in = 27;
    network->layers[2].n_channels_out = 2;
    norma_test_ok(norma_network_allocate(network));
    norma_test_ok(norma_network_infer_shapes(network));
    for (int l = 0; l < 2; l++)
        for (int64_t k = 0; k < norma_layer_weight_size(&network->layers[l]); k++)
            network->layers[l].weight[k] = noise(k + 50 * l);
    double lo[27], hi[27], a[3 * 36], b[3 * 36];
    norma_test_fails(norma_bounds_propagate(network, 2, lo, hi), NORMA_CONFIG, "input_min");
    network->input_min = -1;
    network->input_max = 1;
    norma_test_ok(norma_bounds_propagate(network, 0, lo, hi));
    norma_test_check(lo[1] == -1 && hi[1] == 1);
    norma_test_ok(norma_bounds_propagate(network, 2, lo, hi));
    norma_forward *forward = NULL;
    norma_test_ok(norma_forward_create(network, 1, &forward));
    for (int image = 0; image < 3; image++) {
        for (int k = 0; k < 2 * 36; k++)
            a[k] = image == 0 ? -1 : image == 1 ? 1 : noise(k);
        norma_forward_layer(forward, 0, 1, a, b);
        norma_forward_layer(forward, 1, 1, b, a);
        for (int k = 0; k < 27; k++)
            norma_test_check(lo[k] <= a[k] && a[k] <= hi[k]);
    }
    norma_forward_destroy(&forward);
    norma_network_destroy(&network);
}

/* Bounds of gamma u in the right order, wider than rounding in either precision can need. */
static void test_scale(void **state)
{
    (void)state;
    const double gamma1[3] = {2, -3, 0}, u_lo[3] = {-1, 4, -7}, u_hi[3] = {5, 6, 7};
    const double wanted_lo[3] = {-2, -18, 0}, wanted_hi[3] = {10, -12, 0};
    for (int single = 0; single < 2; single++) {
        double lo[3], hi[3], roundoff = single ? 6e-8 : 1.2e-16;
        norma_bounds_scale(3, gamma1, u_lo, u_hi, roundoff, lo, hi);
        for (int j = 0; j < 3; j++) {
            double size = fmax(fabs(wanted_lo[j]), fabs(wanted_hi[j]));
            norma_test_check(lo[j] <= wanted_lo[j] - 100 * roundoff * size);
            norma_test_check(hi[j] >= wanted_hi[j] + 100 * roundoff * size);
            norma_test_check(fabs(lo[j] - wanted_lo[j]) <= 3e-5 * size);
            norma_test_check(fabs(hi[j] - wanted_hi[j]) <= 3e-5 * size);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_deep_ranges),
    cmocka_unit_test(test_scale),
};

norma_test_main_serial("src.bounds", tests)
