/* src/network: shapes, batch-norm folding, forward pass against plain loops. */
#include "tests/harness/harness.h"
#include "tests/harness/planned_memory.h"

#include "src/base/mem.h"
#include "src/network/bounds.h"
#include "src/network/forward.h"
#include "src/network/images.h"

#include <math.h>
#include <string.h>

/* Deterministic numbers in (-1, 1), different for each use. */
static double noise(int64_t k)
{
    return sin(12.9898 * (double)k + 0.3) * cos(0.37 * (double)(k * k % 1009));
}

static void fill_noise(double *x, int64_t n, int64_t salt)
{
    for (int64_t k = 0; k < n; k++)
        x[k] = noise(k + 7919 * salt);
}

/* --- shapes --------------------------------------------------------------------------------- */

static norma_network *make_network(int64_t n_layers, norma_shape input)
{
    norma_network *network = NULL;
    norma_test_ok(norma_network_create(n_layers, &network));
    network->input = input;
    return network;
}

static void set_layer(norma_layer *layer, norma_layer_kind kind, int64_t c2, int64_t c0,
                      int64_t kernel, norma_pool pool)
{
    layer->kind = kind;
    layer->n_channels_out = c2;
    layer->n_channels_in = c0;
    layer->kernel = (norma_kernel_shape){kernel, kernel};
    layer->padding[0] = layer->padding[1] = kernel / 2;
    layer->pool = pool;
}

static bool equal_shape(norma_shape a, int64_t c, int64_t h, int64_t w)
{
    return a.channels == c && a.height == h && a.width == w;
}

static void test_shapes(void **state)
{
    (void)state;
    norma_network *network = make_network(3, (norma_shape){2, 15, 11});
    norma_layer *layers = network->layers;
    set_layer(&layers[0], NORMA_LAYER_CONV2D, 4, 2, 3, NORMA_POOL_MAX2);
    layers[0].stride[1] = 2;
    set_layer(&layers[1], NORMA_LAYER_CONV2D, 5, 4, 3, NORMA_POOL_NONE);
    set_layer(&layers[2], NORMA_LAYER_LINEAR, 3, 5 * 7 * 3, 1, NORMA_POOL_NONE);
    norma_test_ok(norma_network_infer_shapes(network));
    norma_test_check(equal_shape(layers[0].hidden, 4, 15, 6));
    norma_test_check(equal_shape(layers[0].output, 4, 7, 3));
    norma_test_check(equal_shape(layers[2].input, 105, 1, 1));
    norma_test_check(equal_shape(layers[2].output, 3, 1, 1));

    layers[2].n_channels_in = 5;
    norma_test_fails(norma_network_infer_shapes(network), NORMA_CONFIG,
                     "layer 002 is linear with 5 inputs but gets 5 x 7 x 3 = 105");
    layers[1].pool = NORMA_POOL_GLOBAL_AVERAGE;
    norma_test_ok(norma_network_infer_shapes(network));
    layers[1].n_channels_in = 6;
    norma_test_fails(norma_network_infer_shapes(network), NORMA_CONFIG,
                     "layer 001 expects 6 input channels but gets 4");
    layers[1].n_channels_in = 4;
    layers[1].kernel.height = 12;
    norma_test_fails(norma_network_infer_shapes(network), NORMA_CONFIG,
                     "layer 001: its kernel is 12 pixels high but its padded input only 9");
    layers[1].kernel.height = 3;
    network->input.height = 1;
    norma_test_fails(norma_network_infer_shapes(network), NORMA_CONFIG, "max2");
    norma_network_destroy(&network);
}

static void test_unknown_extents(void **state)
{
    (void)state;
    norma_network *network = make_network(2, (norma_shape){2, 0, 0});
    set_layer(&network->layers[0], NORMA_LAYER_CONV2D, 4, 2, 3, NORMA_POOL_NONE);
    set_layer(&network->layers[1], NORMA_LAYER_LINEAR, 3, 4, 1, NORMA_POOL_NONE);
    norma_test_fails(norma_network_infer_shapes(network), NORMA_CONFIG, "input_shape");
    network->layers[0].pool = NORMA_POOL_GLOBAL_AVERAGE;
    norma_test_ok(norma_network_infer_shapes(network));
    norma_network_destroy(&network);
}

static void test_names(void **state)
{
    (void)state;
    norma_pool pool = NORMA_POOL_NONE;
    norma_layer_kind kind = NORMA_LAYER_CONV2D;
    norma_bound bound = NORMA_BOUND_DATA;
    norma_test_ok(norma_pool_from_name("global-average", &pool));
    norma_test_check(pool == NORMA_POOL_GLOBAL_AVERAGE);
    norma_test_ok(norma_layer_kind_from_name("linear", &kind));
    norma_test_check(kind == NORMA_LAYER_LINEAR);
    norma_test_ok(norma_bound_from_name("interval-deep", &bound));
    norma_test_check(bound == NORMA_BOUND_INTERVAL_DEEP);
    norma_test_fails(norma_pool_from_name("max3", &pool), NORMA_CONFIG, "max2");
    norma_test_fails(norma_pool_from_name("x", &pool), NORMA_CONFIG, "none, max2, global-average");
    norma_test_fails(norma_layer_kind_from_name("conv3d", &kind), NORMA_CONFIG,
                     "unknown layer type 'conv3d'; did you mean 'conv2d'? Known: conv2d, linear");
    static const struct {
        const char *name;
        norma_activation_kind kind;
    } others[] = {{"ReLU", NORMA_ACTIVATION_RELU},
                  {"LeakyReLU", NORMA_ACTIVATION_LEAKY_RELU},
                  {"leaky_relu", NORMA_ACTIVATION_LEAKY_RELU},
                  {"Tanh", NORMA_ACTIVATION_TANH},
                  {"swish", NORMA_ACTIVATION_SILU},
                  {"SiLU", NORMA_ACTIVATION_SILU},
                  {"GELU", NORMA_ACTIVATION_GELU},
                  {"Identity", NORMA_ACTIVATION_IDENTITY},
                  {"linear", NORMA_ACTIVATION_IDENTITY},
                  {"Softplus", NORMA_ACTIVATION_SOFTPLUS},
                  {"logistic", NORMA_ACTIVATION_SIGMOID}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        norma_activation activation;
        norma_test_ok(norma_activation_from_name(others[i].name, &activation));
        norma_test_check(activation.kind == others[i].kind);
    }
    /* Near names of other functions are not taken for one of these. */
    static const char *const refused[] = {"ReLU7",   "elu",    "SELU", "hardmish", "mish", "prelu",
                                          "softmax", "swish2", "Sin",  "relu ",    ""};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        norma_activation activation;
        norma_test_fails(norma_activation_from_name(refused[i], &activation), NORMA_CONFIG,
                         "unknown activation");
    }
    static const char *const kinds[] = {"Conv2d", "Conv2D", "CONV2D", "Convolution2D"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        kind = NORMA_LAYER_LINEAR;
        norma_test_ok(norma_layer_kind_from_name(kinds[i], &kind));
        norma_test_check(kind == NORMA_LAYER_CONV2D);
    }
    norma_test_ok(norma_layer_kind_from_name("Dense", &kind));
    norma_test_check(kind == NORMA_LAYER_LINEAR);
    static const char *const others_refused[] = {"ConvTranspose2d", "conv4d", "conv", "Bilinear"};
    for (size_t i = 0; i < sizeof others_refused / sizeof others_refused[0]; i++)
        norma_test_fails(norma_layer_kind_from_name(others_refused[i], &kind), NORMA_CONFIG,
                         "unknown layer type");
    norma_test_fails(norma_bound_from_name("date", &bound), NORMA_CONFIG, "data");
}

/* --- batch norm ----------------------------------------------------------------------------- */

static void test_fold(void **state)
{
    (void)state;
    norma_activation identity = {NORMA_ACTIVATION_IDENTITY, 0};
    norma_network *network = NULL;
    norma_test_ok(
        norma_network_create_single(3, 5, (norma_kernel_shape){1, 1}, &identity, &network));
    norma_test_ok(norma_network_allocate(network));
    norma_layer *layer = &network->layers[0];
    double gamma[3] = {1.5, -0.5, 2}, beta[3] = {0.1, 0.2, 0.3}, mean[3] = {1, -1, 0.5};
    double var[3] = {0.25, 4, 0}, x[5], before[3], after[3], eps = 1e-3;
    fill_noise(layer->weight, 15, 1);
    fill_noise(layer->bias, 3, 2);
    fill_noise(x, 5, 3);
    norma_forward *forward = NULL;
    norma_test_ok(norma_forward_create(network, 1, &forward));
    norma_forward_layer(forward, 0, 1, x, before);
    norma_test_ok(norma_layer_fold(layer, gamma, beta, mean, var, eps));
    norma_forward_layer(forward, 0, 1, x, after);
    for (int i = 0; i < 3; i++)
        norma_test_check_close(gamma[i] * (before[i] - mean[i]) / sqrt(var[i] + eps) + beta[i],
                               after[i], 1e-13);
    var[1] = -0.5;
    norma_test_fails(norma_layer_fold(layer, gamma, beta, mean, var, eps), NORMA_CONFIG,
                     "channel 1");
    var[1] = 4;
    gamma[2] = 1e308;
    norma_test_fails(norma_layer_fold(layer, gamma, beta, mean, var, eps), NORMA_CONFIG,
                     "channel 2 overflows");
    norma_forward_destroy(&forward);
    norma_network_destroy(&network);
}

/* --- forward pass --------------------------------------------------------------------------- */

/* One value of the convolution's output, by its definition. */
static double convolve_at(const norma_layer *layer, const double *x, int64_t i, int64_t y,
                          int64_t z)
{
    double sum = layer->bias[i];
    const double *w = layer->weight + i * layer->n_channels_in * norma_kernel_taps(layer->kernel);
    for (int64_t c = 0; c < layer->n_channels_in; c++)
        for (int64_t a = 0; a < layer->kernel.height; a++)
            for (int64_t b = 0; b < layer->kernel.width; b++, w++) {
                int64_t row = y * layer->stride[0] + a - layer->padding[0];
                int64_t column = z * layer->stride[1] + b - layer->padding[1];
                if (row >= 0 && row < layer->input.height && column >= 0 &&
                    column < layer->input.width)
                    sum += *w * x[(c * layer->input.height + row) * layer->input.width + column];
            }
    return sum;
}

/* Output value number k of layer, by its definition. */
static double output_at(const norma_layer *layer, const double *x, int64_t k)
{
    int64_t i = k / (layer->output.height * layer->output.width);
    int64_t y = k / layer->output.width % layer->output.height;
    int64_t z = k % layer->output.width;
    double v = 0, best = -INFINITY, sum = 0;
    int64_t n_y = 1, n_z = 1, step = 1;
    if (layer->pool == NORMA_POOL_MAX2)
        n_y = n_z = step = 2;
    if (layer->pool == NORMA_POOL_GLOBAL_AVERAGE) {
        n_y = layer->hidden.height;
        n_z = layer->hidden.width;
    }
    for (int64_t a = 0; a < n_y; a++)
        for (int64_t b = 0; b < n_z; b++) {
            v = convolve_at(layer, x, i, y * step + a, z * step + b);
            norma_activation_apply(&layer->activation, 1, &v);
            best = fmax(best, v);
            sum += v;
        }
    return layer->pool == NORMA_POOL_MAX2 ? best : sum / (double)(n_y * n_z);
}

static void check_forward(norma_kernel_shape kernel, const int64_t stride[2],
                          const int64_t padding[2], norma_pool pool, norma_activation_kind kind)
{
    enum { IMAGES = 3 };
    norma_network *network = make_network(1, (norma_shape){3, 9, 7});
    norma_layer *layer = &network->layers[0];
    set_layer(layer, NORMA_LAYER_CONV2D, 4, 3, 1, pool);
    layer->kernel = kernel;
    memcpy(layer->stride, stride, sizeof layer->stride);
    memcpy(layer->padding, padding, sizeof layer->padding);
    layer->activation = (norma_activation){kind, 0.2};
    norma_test_ok(norma_network_allocate(network));
    norma_test_ok(norma_network_infer_shapes(network));
    fill_noise(layer->weight, norma_layer_weight_size(layer), 4);
    fill_noise(layer->bias, 4, 5);
    int64_t in_size = norma_shape_size(layer->input), out_size = norma_shape_size(layer->output);
    double *in = NULL, *out = NULL;
    norma_test_ok(NORMA_ALLOC(in, IMAGES * in_size));
    norma_test_ok(NORMA_ALLOC(out, IMAGES * out_size));
    fill_noise(in, IMAGES * in_size, 6);
    norma_forward *forward = NULL;
    norma_test_takes((double)norma_forward_bytes(network, 2),
                     norma_forward_create(network, 2, &forward));
    norma_forward_layer(forward, 0, IMAGES, in, out);
    for (int64_t n = 0; n < IMAGES; n++)
        for (int64_t k = 0; k < out_size; k++)
            if (!norma_test_close(out[n * out_size + k], output_at(layer, in + n * in_size, k), 0,
                                  1e-13))
                fail_msg("kernel %dx%d, value %d", (int)kernel.height, (int)kernel.width, (int)k);
    norma_forward_destroy(&forward);
    NORMA_FREE(in);
    NORMA_FREE(out);
    norma_network_destroy(&network);
}

static void test_forward(void **state)
{
    (void)state;
    static const int64_t stride[][2] = {{1, 1}, {2, 1}, {1, 3}};
    static const int64_t padding[][2] = {{0, 0}, {1, 1}, {2, 0}, {5, 4}};
    static const norma_kernel_shape kernel[] = {{1, 1}, {3, 3}, {2, 4}, {5, 1}};
    for (int s = 0; s < 3; s++)
        for (int p = 0; p < 4; p++)
            for (int k = 0; k < 4; k++)
                for (int pool = 0; pool < NORMA_N_POOLS; pool++)
                    check_forward(
                        kernel[k], stride[s], padding[p], (norma_pool)pool,
                        (norma_activation_kind)((s + p + k + pool) % NORMA_N_ACTIVATIONS));
}

/* --- channels in another order -----------------------------------------------------------------
 */

/* A convolution with a pool, a linear layer on its flattened channels, another one. */
static void make_chain(norma_network **network)
{
    *network = make_network(3, (norma_shape){2, 4, 6});
    norma_layer *layers = (*network)->layers;
    set_layer(&layers[0], NORMA_LAYER_CONV2D, 4, 2, 1, NORMA_POOL_MAX2);
    layers[0].kernel = (norma_kernel_shape){3, 1};
    set_layer(&layers[1], NORMA_LAYER_LINEAR, 5, 12, 1, NORMA_POOL_NONE);
    set_layer(&layers[2], NORMA_LAYER_LINEAR, 3, 5, 1, NORMA_POOL_NONE);
    norma_test_ok(norma_network_allocate(*network));
    norma_test_ok(norma_network_infer_shapes(*network));
    for (int l = 0; l < 3; l++) {
        layers[l].activation = (norma_activation){NORMA_ACTIVATION_TANH, 0};
        fill_noise(layers[l].weight, norma_layer_weight_size(&layers[l]), 10 + l);
        fill_noise(layers[l].bias, layers[l].n_channels_out, 20 + l);
    }
}

/* outputs[3][12] of the three layers for one image. */
static void run_chain(const norma_network *network, const double *image, double outputs[3][12])
{
    norma_forward *forward = NULL;
    const double *in = image;
    norma_test_ok(norma_forward_create(network, 1, &forward));
    for (int l = 0; l < 3; l++) {
        norma_forward_layer(forward, l, 1, in, outputs[l]);
        in = outputs[l];
    }
    norma_forward_destroy(&forward);
}

static void test_reorder(void **state)
{
    (void)state;
    static const int64_t first[] = {2, 0, 3, 1};
    static const int64_t second[] = {4, 2, 0, 1, 3};
    const int64_t *const orders[] = {NULL, first, second, NULL};
    double image[48];
    double given[3][12];
    double changed[3][12];
    norma_network *network = NULL;
    norma_network *copy = NULL;
    make_chain(&network);
    fill_noise(image, 48, 30);
    norma_test_ok(norma_network_copy(network, &copy));
    norma_test_check(norma_network_digest(copy) == norma_network_digest(network));
    for (int l = 0; l < 3; l++)
        norma_network_reorder(network, l, orders[l], orders[l + 1], copy);
    run_chain(network, image, given);
    run_chain(copy, image, changed);
    for (int k = 0; k < 12; k++) /* three pixels a channel */
        norma_test_check(changed[0][k] == given[0][first[k / 3] * 3 + k % 3]);
    for (int i = 0; i < 5; i++)
        norma_test_check(norma_test_close(changed[1][i], given[1][second[i]], 0, 1e-14));
    for (int i = 0; i < 3; i++)
        norma_test_check(norma_test_close(changed[2][i], given[2][i], 0, 1e-14));
    norma_network_destroy(&copy);
    norma_network_destroy(&network);
}

/* --- images --------------------------------------------------------------------------------- */

static void test_images(void **state)
{
    (void)state;
    static const uint8_t pixels[] = {0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
    static const int32_t labels[] = {0, 2};
    norma_images images = {.n_images = 2, .shape = {1, 2, 3}, .pixels = pixels, .labels = labels};
    norma_activation identity = {NORMA_ACTIVATION_IDENTITY, 0};
    norma_network *network = NULL;
    double x[6];
    norma_test_ok(
        norma_network_create_single(3, 6, (norma_kernel_shape){1, 1}, &identity, &network));
    norma_test_ok(norma_network_allocate(network));
    norma_test_ok(norma_images_check(&images, network));
    network->scale[1] = 2;
    network->offset[1] = -1;
    norma_images_load(&images, network, 0, 1, x);
    norma_test_check(x[0] == 0 && x[1] == 509 && x[5] == 40);
    norma_images_load(&images, network, 1, 1, x);
    norma_test_check(x[0] == 50 && x[1] == 119);
    static const double values[] = {0, 0, 0, 0, 0, 0, 0.5, -0.5, 1e9, 0, 0, 0};
    norma_images fractions = {
        .n_images = 2, .shape = {1, 2, 3}, .labels = labels, .values = values};
    norma_images_load(&fractions, network, 1, 1, x);
    norma_test_check(x[0] == 0.5 && x[1] == -2 && x[2] == 1e9);
    images.shape.width = 2;
    norma_test_fails(norma_images_check(&images, network), NORMA_CONFIG, "1 x 2 x 2");
    norma_network_destroy(&network);
    images.shape.width = 3;
    norma_test_ok(
        norma_network_create_single(2, 6, (norma_kernel_shape){1, 1}, &identity, &network));
    norma_test_ok(norma_network_allocate(network));
    norma_test_fails(norma_images_check(&images, network), NORMA_CONFIG, "label 2 of image 1");
    norma_network_destroy(&network);
    norma_test_ok(
        norma_network_create_single(3, 3, (norma_kernel_shape){2, 2}, &identity, &network));
    network->input = (norma_shape){3, 8, 9};
    images.shape = (norma_shape){8, 9, 3};
    norma_test_fails(norma_images_check(&images, network), NORMA_CONFIG,
                     "channels are the first axis");
    norma_network_destroy(&network);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shapes),  cmocka_unit_test(test_unknown_extents),
    cmocka_unit_test(test_names),   cmocka_unit_test(test_fold),
    cmocka_unit_test(test_forward), cmocka_unit_test(test_reorder),
    cmocka_unit_test(test_images),
};

norma_test_main_serial("src.network", tests)
