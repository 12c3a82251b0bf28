#include "src/network/network.h"

#include "src/base/mem.h"
#include "src/base/names.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const kinds[NORMA_N_LAYER_KINDS] = {"conv2d", "linear"};
static const char *const pools[NORMA_N_POOLS] = {"none", "max2", "global-average"};

/* Names in PyTorch, Keras and Caffe. */
static const norma_synonym kind_synonyms[] = {{"convolution2d", "conv2d"},   {"dense", "linear"},
                                              {"fully-connected", "linear"}, {"gemm", "linear"},
                                              {"inner-product", "linear"},   {NULL, NULL}};
static const norma_synonym pool_synonyms[] = {
    {"global-avg", "global-average"}, {"globalaveragepooling2d", "global-average"}, {NULL, NULL}};

static const norma_names kind_names =
    NORMA_NAMES_WITH("layer type", "layer types", kinds, NULL, kind_synonyms);
static const norma_names pool_names = NORMA_NAMES_WITH("pool", "pools", pools, NULL, pool_synonyms);

norma_status norma_layer_kind_from_name(const char *name, norma_layer_kind *out)
{
    int64_t k = 0;
    NORMA_TRY(norma_names_find(&kind_names, name, &k));
    *out = (norma_layer_kind)k;
    return NORMA_OK;
}

norma_status norma_pool_from_name(const char *name, norma_pool *out)
{
    int64_t k = 0;
    NORMA_TRY(norma_names_find(&pool_names, name, &k));
    *out = (norma_pool)k;
    return NORMA_OK;
}

norma_status norma_network_create(int64_t n_layers, norma_network **out)
{
    norma_status status = NORMA_OK;
    norma_network *network = NULL;
    if (n_layers < 1)
        return NORMA_FAIL(NORMA_CONFIG, "a network needs at least one layer");
    NORMA_GOTO(status, NORMA_CALLOC(network, 1));
    NORMA_GOTO(status, NORMA_CALLOC(network->layers, n_layers));
    network->n_layers = n_layers;
    network->input_min = NAN;
    network->input_max = NAN;
    for (int64_t l = 0; l < n_layers; l++) {
        norma_layer *layer = &network->layers[l];
        layer->kernel = (norma_kernel_shape){1, 1};
        layer->stride[0] = layer->stride[1] = 1;
    }
    *out = network;
    return NORMA_OK;
done:
    norma_network_destroy(&network);
    return status;
}

int64_t norma_shape_size(norma_shape shape)
{
    return shape.channels * shape.height * shape.width;
}

int64_t norma_layer_weight_size(const norma_layer *layer)
{
    return layer->n_channels_out * layer->n_channels_in * norma_kernel_taps(layer->kernel);
}

static uint64_t hash(uint64_t so_far, const double *values, int64_t n)
{
    const unsigned char *bytes = (const unsigned char *)values;
    for (int64_t b = 0; b < n * (int64_t)sizeof *values; b++)
        so_far = (so_far ^ bytes[b]) * UINT64_C(0x100000001b3);
    return so_far;
}

uint64_t norma_network_digest(const norma_network *network)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    digest = hash(digest, network->scale, network->input.channels);
    digest = hash(digest, network->offset, network->input.channels);
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        digest = hash(digest, layer->weight, norma_layer_weight_size(layer));
        digest = hash(digest, layer->bias, layer->n_channels_out);
    }
    return digest;
}

int64_t norma_network_storage_size(const norma_network *network)
{
    int64_t size = 2 * network->input.channels;
    for (int64_t l = 0; l < network->n_layers; l++)
        size += norma_layer_weight_size(&network->layers[l]) + network->layers[l].n_channels_out;
    return size;
}

void norma_network_attach(norma_network *network, double *storage)
{
    network->scale = storage;
    network->offset = storage + network->input.channels;
    storage += 2 * network->input.channels;
    for (int64_t l = 0; l < network->n_layers; l++) {
        norma_layer *layer = &network->layers[l];
        layer->weight = storage;
        storage += norma_layer_weight_size(layer);
        layer->bias = storage;
        storage += layer->n_channels_out;
    }
}

norma_status norma_network_allocate(norma_network *network)
{
    NORMA_TRY(NORMA_CALLOC(network->storage, norma_network_storage_size(network)));
    norma_network_attach(network, network->storage);
    for (int64_t c = 0; c < network->input.channels; c++)
        network->scale[c] = 1;
    return NORMA_OK;
}

norma_status norma_network_create_single(int64_t n_channels_out, int64_t n_channels_in,
                                         norma_kernel_shape kernel,
                                         const norma_activation *activation, norma_network **out)
{
    norma_status status = NORMA_OK;
    norma_network *network = NULL;
    NORMA_GOTO(status, norma_network_create(1, &network));
    norma_layer *layer = &network->layers[0];
    layer->n_channels_out = n_channels_out;
    layer->n_channels_in = n_channels_in;
    layer->kernel = kernel;
    layer->kind = kernel.height == 1 && kernel.width == 1 ? NORMA_LAYER_LINEAR : NORMA_LAYER_CONV2D;
    layer->activation = *activation;
    network->input.channels = n_channels_in;
    if (layer->kind == NORMA_LAYER_LINEAR)
        network->input.height = network->input.width = 1;
    network->input_min = -1;
    network->input_max = 1;
    NORMA_GOTO(status, norma_network_infer_shapes(network));
    *out = network;
    return NORMA_OK;
done:
    norma_network_destroy(&network);
    return status;
}

norma_status norma_layer_fold(norma_layer *layer, const double *gamma, const double *beta,
                              const double *mean, const double *var, double eps)
{
    int64_t n = layer->n_channels_in * norma_kernel_taps(layer->kernel);
    for (int64_t i = 0; i < layer->n_channels_out; i++) {
        if (!(var[i] + eps > 0) || var[i] < 0)
            return NORMA_FAIL(NORMA_CONFIG,
                              "batch norm: variance %g of channel %" PRId64 " (with eps %g) is not "
                              "one to divide by",
                              var[i], i, eps);
        double g = gamma[i] / sqrt(var[i] + eps);
        double sum = layer->bias[i] = beta[i] + g * (layer->bias[i] - mean[i]);
        for (int64_t k = 0; k < n; k++) {
            layer->weight[i * n + k] *= g;
            sum += fabs(layer->weight[i * n + k]);
        }
        if (!isfinite(sum))
            return NORMA_FAIL(NORMA_CONFIG,
                              "batch norm: channel %" PRId64 " overflows when folded (gamma %g, "
                              "beta %g, mean %g, variance %g, eps %g)",
                              i, gamma[i], beta[i], mean[i], var[i], eps);
    }
    return NORMA_OK;
}

/* Extent of a convolution's output along one axis; n = 0 (unknown) stays 0. */
static norma_status convolve_extent(int64_t l, const char *axis, int64_t n, int64_t kernel,
                                    int64_t stride, int64_t padding, int64_t *out)
{
    *out = 0;
    if (n == 0)
        return NORMA_OK;
    if (n + 2 * padding < kernel)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %03" PRId64 ": its kernel is %" PRId64 " pixels %s but its padded "
                          "input only %" PRId64,
                          l, kernel, axis, n + 2 * padding);
    *out = (n + 2 * padding - kernel) / stride + 1;
    return NORMA_OK;
}

static norma_status infer_pool(int64_t l, norma_layer *layer)
{
    layer->output = layer->hidden;
    if (layer->pool == NORMA_POOL_GLOBAL_AVERAGE) {
        layer->output.height = layer->output.width = 1;
    } else if (layer->pool == NORMA_POOL_MAX2 && layer->hidden.height > 0) {
        if (layer->hidden.height < 2 || layer->hidden.width < 2)
            return NORMA_FAIL(NORMA_CONFIG,
                              "layer %03" PRId64 ": pool max2 needs at least 2 x 2 pixels, there "
                              "are %" PRId64 " x %" PRId64,
                              l, layer->hidden.height, layer->hidden.width);
        layer->output.height = layer->hidden.height / 2;
        layer->output.width = layer->hidden.width / 2;
    }
    return NORMA_OK;
}

/* The input of a linear layer: all of `given` as channels of one pixel. */
static norma_status flatten(int64_t l, const norma_layer *layer, norma_shape *given)
{
    if (given->height == 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %03" PRId64 " is linear and follows a layer of unknown image "
                          "extents; give the network an input_shape",
                          l);
    int64_t n = norma_shape_size(*given);
    if (n != layer->n_channels_in)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %03" PRId64 " is linear with %" PRId64 " inputs but gets %" PRId64
                          " x %" PRId64 " x %" PRId64 " = %" PRId64 " values",
                          l, layer->n_channels_in, given->channels, given->height, given->width, n);
    *given = (norma_shape){n, 1, 1};
    return NORMA_OK;
}

static norma_status infer_layer(int64_t l, norma_layer *layer, norma_shape given)
{
    if (layer->kind == NORMA_LAYER_LINEAR) {
        NORMA_TRY(flatten(l, layer, &given));
    } else if (given.channels != layer->n_channels_in) {
        return NORMA_FAIL(
            NORMA_CONFIG,
            "layer %03" PRId64 " expects %" PRId64 " input channels but gets %" PRId64 "%s", l,
            layer->n_channels_in, given.channels, l == 0 ? " from input_shape" : "");
    }
    layer->input = given;
    layer->hidden.channels = layer->n_channels_out;
    NORMA_TRY(convolve_extent(l, "high", given.height, layer->kernel.height, layer->stride[0],
                              layer->padding[0], &layer->hidden.height));
    NORMA_TRY(convolve_extent(l, "wide", given.width, layer->kernel.width, layer->stride[1],
                              layer->padding[1], &layer->hidden.width));
    return infer_pool(l, layer);
}

norma_status norma_network_infer_shapes(norma_network *network)
{
    norma_shape given = network->input;
    for (int64_t l = 0; l < network->n_layers; l++) {
        NORMA_TRY(infer_layer(l, &network->layers[l], given));
        given = network->layers[l].output;
    }
    return NORMA_OK;
}

norma_status norma_network_copy(const norma_network *network, norma_network **out)
{
    norma_network *copy = NULL;
    norma_status status = norma_network_create(network->n_layers, &copy);
    NORMA_GOTO(status, status);
    norma_layer *layers = copy->layers;
    memcpy(layers, network->layers, (size_t)network->n_layers * sizeof *layers);
    *copy = *network;
    copy->layers = layers;
    copy->storage = NULL;
    NORMA_GOTO(status, norma_network_allocate(copy));
    size_t n_channels = (size_t)network->input.channels;
    memcpy(copy->scale, network->scale, n_channels * sizeof(double));
    memcpy(copy->offset, network->offset, n_channels * sizeof(double));
    for (int64_t l = 0; l < network->n_layers; l++)
        norma_network_reorder(network, l, NULL, NULL, copy);
    *out = copy;
    return NORMA_OK;
done:
    norma_network_destroy(&copy);
    return status;
}

void norma_network_reorder(const norma_network *from, int64_t number, const int64_t *before,
                           const int64_t *rows, norma_network *to)
{
    const norma_layer *old = &from->layers[number];
    norma_layer *layer = &to->layers[number];
    int64_t n_in = old->n_channels_in;
    int64_t taps = norma_kernel_taps(old->kernel);
    int64_t block = before ? n_in / from->layers[number - 1].n_channels_out : n_in;
    size_t size = (size_t)(block * taps) * sizeof(double);
    for (int64_t i = 0; i < old->n_channels_out; i++) {
        int64_t row = rows ? rows[i] : i;
        layer->bias[i] = old->bias[row];
        for (int64_t c = 0; c < n_in; c += block) {
            int64_t column = before ? before[c / block] * block : c;
            memcpy(layer->weight + (i * n_in + c) * taps,
                   old->weight + (row * n_in + column) * taps, size);
        }
    }
}

void norma_network_destroy(norma_network **network)
{
    if (!*network)
        return;
    NORMA_FREE((*network)->layers);
    NORMA_FREE((*network)->storage);
    NORMA_FREE(*network);
}
