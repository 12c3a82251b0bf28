/* network/low_rank: the factored network computes what the layers of low rank compute, with relu
 * between its factors; what is left out of a full layer is the error that is reported. */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/network/forward.h"
#include "src/network/low_rank.h"

#include <math.h>

static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

/* Weights of rank r: sums of r products. */
static void fill_rank(norma_layer *layer, int64_t r, int64_t seed)
{
    int64_t length = layer->n_channels_in * norma_kernel_taps(layer->kernel);
    for (int64_t i = 0; i < layer->n_channels_out; i++) {
        layer->bias[i] = noise(seed + 900 + i);
        for (int64_t s = 0; s < length; s++) {
            layer->weight[i * length + s] = 0;
            for (int64_t k = 0; k < r; k++)
                layer->weight[i * length + s] +=
                    noise(seed + 31 * i + k) * noise(seed + 500 + 17 * s + 7 * k);
        }
    }
}

/* A strided convolution with padding and pool, one with leaky-relu, a linear layer. */
static norma_network *make_network(void)
{
    norma_network *network = NULL;
    norma_test_ok(norma_network_create(3, &network));
    network->input = (norma_shape){2, 9, 8};
    network->input_min = -1;
    network->input_max = 2;
    for (int l = 0; l < 2; l++) {
        norma_layer *layer = &network->layers[l];
        layer->n_channels_in = l == 0 ? 2 : 6;
        layer->n_channels_out = l == 0 ? 6 : 5;
        layer->kernel = (norma_kernel_shape){3, 2 + l};
        layer->padding[0] = layer->padding[1] = 1;
        layer->activation.kind = l == 0 ? NORMA_ACTIVATION_RELU : NORMA_ACTIVATION_LEAKY_RELU;
        layer->activation.parameter = 0.1;
        layer->pool = l == 0 ? NORMA_POOL_MAX2 : NORMA_POOL_NONE;
    }
    network->layers[0].stride[1] = 2;
    network->layers[2].kind = NORMA_LAYER_LINEAR;
    network->layers[2].n_channels_in = 40;
    network->layers[2].n_channels_out = 7;
    norma_test_ok(norma_network_allocate(network));
    norma_test_ok(norma_network_infer_shapes(network));
    for (int64_t l = 0; l < 3; l++)
        fill_rank(&network->layers[l], 2 + l, 100 * l);
    network->scale[1] = 0.5;
    return network;
}

static norma_network *factor(const norma_network *network, int64_t rank, norma_low_rank *factors)
{
    norma_network *out = NULL;
    for (int64_t l = 0; l < network->n_layers; l++) {
        norma_rng_stream stream = {.purpose = NORMA_RNG_TARGET_WEIGHTS, .tensor = 1, .layer = l};
        norma_test_ok(
            norma_low_rank_factor(&network->layers[l], rank, 1e-12, 5, &stream, &factors[l]));
    }
    norma_test_ok(norma_low_rank_network(network, factors, &out));
    return out;
}

/* Outputs [n] of an image; returns them in x or y. */
static const double *run(const norma_network *network, int64_t image, double *x, double *y)
{
    norma_forward *forward = NULL;
    norma_test_ok(norma_forward_create(network, 1, &forward));
    for (int64_t k = 0; k < norma_shape_size(network->input); k++)
        x[k] = image == 0 ? -1 : image == 1 ? 2 : 0.5 + 1.5 * noise(k + 100 * image);
    for (int64_t l = 0; l < network->n_layers; l++) {
        norma_forward_layer(forward, l, 1, x, y);
        double *swapped = x;
        x = y;
        y = swapped;
    }
    norma_forward_destroy(&forward);
    return x;
}

static void test_network(void **state)
{
    (void)state;
    norma_network *network = make_network();
    norma_low_rank factors[3];
    norma_network *factored = factor(network, 0, factors);
    double a[1000] = {0}, b[1000] = {0}, c[1000] = {0}, d[1000] = {0};
    norma_test_ok(norma_low_rank_open(factored));
    for (int l = 0; l < 3; l++) {
        assert_int_equal(factors[l].rank, 2 + l);
        norma_test_check(factors[l].truncation < 1e-14);
    }
    assert_int_equal(factors[0].break_even, 12 * 6 / (12 + 6));
    norma_test_check(factored->layers[0].activation.kind == NORMA_ACTIVATION_RELU);
    norma_test_check(factored->layers[4].activation.kind == NORMA_ACTIVATION_IDENTITY);
    for (int64_t image = 0; image < 6; image++) {
        const double *expected = run(network, image, a, b);
        const double *got = run(factored, image, c, d);
        norma_test_check(norma_test_max_difference(expected, got, 7) < 1e-11);
        norma_test_check(fabs(expected[0]) > 1e-3);
    }
    factored->layers[0].bias[0] -= 1e3; /* now relu clips */
    factored->layers[1].bias[0] += 1e3 * factored->layers[1].weight[0];
    norma_test_check(norma_test_max_difference(run(network, 2, a, b), run(factored, 2, c, d), 7) >
                     1e-3);
    for (int l = 0; l < 3; l++)
        norma_low_rank_clear(&factors[l]);
    norma_network_destroy(&factored);
    norma_network_destroy(&network);
}

/* A B of a given rank is off W by the reported share. */
static void test_truncation(void **state)
{
    (void)state;
    norma_network *network = make_network();
    norma_low_rank factors[3];
    norma_network *factored = factor(network, 1, factors);
    for (int l = 0; l < 3; l++) {
        const norma_layer *layer = &network->layers[l];
        int64_t length = layer->n_channels_in * norma_kernel_taps(layer->kernel);
        double error = 0;
        double size = 0;
        for (int64_t e = 0; e < norma_layer_weight_size(layer); e++) {
            double w = factors[l].a[e / length] * factors[l].b[e % length];
            error += (layer->weight[e] - w) * (layer->weight[e] - w);
            size += layer->weight[e] * layer->weight[e];
        }
        norma_test_check(factors[l].truncation > 0.01);
        norma_test_check_close(sqrt(error / size), factors[l].truncation, 1e-10);
        norma_low_rank_clear(&factors[l]);
    }
    norma_network_destroy(&factored);
    norma_network_destroy(&network);
}

static void test_failures(void **state)
{
    (void)state;
    norma_network *network = make_network();
    norma_low_rank factors[3];
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TARGET_WEIGHTS};
    norma_test_fails(norma_low_rank_factor(&network->layers[0], 7, 0, 1, &stream, &factors[0]),
                     NORMA_CONFIG, "rank 7 is larger than possible: 6 outputs and 12 inputs");
    norma_low_rank_clear(&factors[0]);
    network->input_min = NAN;
    norma_network *factored = factor(network, 0, factors);
    norma_test_fails(norma_low_rank_open(factored), NORMA_CONFIG, "input_min");
    factored->input_min = -1;
    factored->layers[1].activation.kind = NORMA_ACTIVATION_TANH;
    norma_test_fails(norma_low_rank_open(factored), NORMA_CONFIG, "layer 0: activation tanh");
    for (int l = 0; l < 3; l++)
        norma_low_rank_clear(&factors[l]);
    norma_network_destroy(&factored);
    for (int64_t e = 0; e < norma_layer_weight_size(&network->layers[1]); e++)
        network->layers[1].weight[e] = 0;
    norma_test_fails(norma_low_rank_factor(&network->layers[1], 0, 0, 1, &stream, &factors[0]),
                     NORMA_CONFIG, "all weights are zero");
    norma_low_rank_clear(&factors[0]);
    norma_network_destroy(&network);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_network),
    cmocka_unit_test(test_truncation),
    cmocka_unit_test(test_failures),
};

norma_test_main_serial("src.low_rank", tests)
