#include "src/network/network.h"

#include "src/base/mem.h"
#include "src/base/names.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[NORMA_N_LAYER_KINDS] = {"conv2d",
                                                       "linear",
                                                       "batchnorm",
                                                       "add",
                                                       "multiply",
                                                       "concat",
                                                       "activation",
                                                       "clip",
                                                       "max-pool",
                                                       "average-pool",
                                                       "global-average-pool",
                                                       "flatten",
                                                       "softmax",
                                                       "reshape",
                                                       "resize"};
static const char *const pools[NORMA_N_POOLS] = {"none", "max2", "global-average"};

/* Names in PyTorch, Keras and Caffe. */
static const norma_synonym kind_synonyms[] = {{"convolution2d", "conv2d"},
                                              {"conv1d", "conv2d"}, /* of images of one row */
                                              {"convolution1d", "conv2d"},
                                              {"dense", "linear"},
                                              {"fully-connected", "linear"},
                                              {"gemm", "linear"},
                                              {"inner-product", "linear"},
                                              {"batch-norm", "batchnorm"},
                                              {"batch-normalization", "batchnorm"},
                                              {"mul", "multiply"},
                                              {"concatenate", "concat"},
                                              {"maxpool", "max-pool"},
                                              {"upsample", "resize"},
                                              {"averagepool", "average-pool"},
                                              {"globalaveragepool", "global-average-pool"},
                                              {NULL, NULL}};
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

const char *norma_layer_kind_name(norma_layer_kind kind)
{
    return kinds[kind];
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
    NORMA_GOTO(status, NORMA_ALLOC(network->inputs, n_layers));
    network->n_layers = network->n_inputs = n_layers;
    network->input_min = NAN;
    network->input_max = NAN;
    for (int64_t l = 0; l < n_layers; l++) {
        norma_layer *layer = &network->layers[l];
        layer->kernel = (norma_kernel_shape){1, 1};
        layer->stride[0] = layer->stride[1] = 1;
        layer->dilation[0] = layer->dilation[1] = layer->groups = 1;
        layer->first_input = l;
        layer->n_inputs = 1;
        network->inputs[l] = l - 1;
        (void)snprintf(layer->name, sizeof layer->name, "%03" PRId64, l);
    }
    *out = network;
    return NORMA_OK;
done:
    norma_network_destroy(&network);
    return status;
}

norma_status norma_network_connect(norma_network *network, const norma_edges *edges)
{
    int64_t n = edges->first[edges->n_nodes];
    int64_t *inputs = NULL;
    NORMA_TRY(NORMA_ALLOC(inputs, n));
    memcpy(inputs, edges->sources, (size_t)n * sizeof *inputs);
    NORMA_FREE(network->inputs);
    network->inputs = inputs;
    network->n_inputs = n;
    for (int64_t l = 0; l < network->n_layers; l++) {
        network->layers[l].first_input = edges->first[l];
        network->layers[l].n_inputs = edges->first[l + 1] - edges->first[l];
    }
    return NORMA_OK;
}

bool norma_layer_has_kernel(const norma_layer *layer)
{
    return layer->kind == NORMA_LAYER_CONV2D || layer->kind == NORMA_LAYER_LINEAR;
}

const char *norma_layer_unpaired(const norma_layer *layer)
{
    if (!norma_layer_has_kernel(layer))
        return "it has no weights that a source pair could stand for";
    return NULL;
}

/* One of the layers that chains were made of before there were graphs. */
static bool is_plain(const norma_layer *layer)
{
    return norma_layer_has_kernel(layer) && layer->groups == 1 && layer->dilation[0] == 1 &&
           layer->dilation[1] == 1 && layer->padding_more[0] == 0 && layer->padding_more[1] == 0;
}

bool norma_network_is_chain(const norma_network *network)
{
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        if (!is_plain(layer) || layer->n_inputs != 1 ||
            network->inputs[layer->first_input] != l - 1)
            return false;
    }
    return true;
}

int64_t norma_layer_weight_size(const norma_layer *layer)
{
    if (layer->kind == NORMA_LAYER_BATCHNORM)
        return layer->n_channels_out;
    return norma_layer_has_kernel(layer)
               ? layer->n_channels_out * (layer->n_channels_in / layer->groups) *
                     norma_kernel_taps(layer->kernel)
               : 0;
}

int64_t norma_layer_bias_size(const norma_layer *layer)
{
    bool any = norma_layer_has_kernel(layer) || layer->kind == NORMA_LAYER_BATCHNORM;
    return any ? layer->n_channels_out : 0;
}

static uint64_t hash(uint64_t so_far, const double *values, int64_t n)
{
    const unsigned char *bytes = (const unsigned char *)values;
    for (int64_t b = 0; b < n * (int64_t)sizeof *values; b++)
        so_far = (so_far ^ bytes[b]) * UINT64_C(0x100000001b3);
    return so_far;
}

static uint64_t hash_number(uint64_t so_far, double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    for (int b = 0; b < 64; b += 8)
        so_far = (so_far ^ (bits >> b & 0xff)) * UINT64_C(0x100000001b3);
    return so_far;
}

/* Hashes kind, extents and activation of each layer, and the numbers of the layers it reads. */
static uint64_t hash_graph(uint64_t digest, const norma_network *network)
{
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        const double facts[] = {(double)layer->kind,
                                layer->counts_padding ? 1 : 0,
                                (double)layer->kernel.height,
                                (double)layer->kernel.width,
                                (double)layer->stride[0],
                                (double)layer->stride[1],
                                (double)layer->padding[0],
                                (double)layer->padding[1],
                                (double)layer->padding_more[0],
                                (double)layer->padding_more[1],
                                (double)layer->dilation[0],
                                (double)layer->dilation[1],
                                (double)layer->groups,
                                (double)layer->activation.kind,
                                layer->activation.parameter,
                                (double)layer->pool,
                                layer->clip[0],
                                layer->clip[1],
                                (double)layer->n_inputs};
        for (size_t k = 0; k < sizeof facts / sizeof facts[0]; k++)
            digest = hash_number(digest, facts[k]);
        if (layer->kind == NORMA_LAYER_RESHAPE || layer->kind == NORMA_LAYER_RESIZE) {
            digest = hash_number(digest, (double)layer->output.channels);
            digest = hash_number(digest, (double)layer->output.height);
            digest = hash_number(digest, (double)layer->output.width);
        }
        for (int64_t k = 0; k < layer->n_inputs; k++)
            digest = hash_number(digest, (double)network->inputs[layer->first_input + k]);
    }
    return digest;
}

uint64_t norma_network_digest(const norma_network *network)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    digest = hash(digest, network->scale, network->input.channels);
    digest = hash(digest, network->offset, network->input.channels);
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        digest = hash(digest, layer->weight, norma_layer_weight_size(layer));
        digest = hash(digest, layer->bias, norma_layer_bias_size(layer));
    }
    return norma_network_is_chain(network) ? digest : hash_graph(digest, network);
}

int64_t norma_network_storage_size(const norma_network *network)
{
    int64_t size = 2 * network->input.channels;
    for (int64_t l = 0; l < network->n_layers; l++)
        size += norma_layer_weight_size(&network->layers[l]) +
                norma_layer_bias_size(&network->layers[l]);
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
        storage += norma_layer_bias_size(layer);
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
    int64_t n = norma_layer_weight_size(layer) / layer->n_channels_out;
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

norma_status norma_network_copy(const norma_network *network, norma_network **out)
{
    norma_network *copy = NULL;
    norma_status status = norma_network_create(network->n_layers, &copy);
    NORMA_GOTO(status, status);
    norma_layer *layers = copy->layers;
    int64_t *inputs = copy->inputs;
    memcpy(layers, network->layers, (size_t)network->n_layers * sizeof *layers);
    *copy = *network;
    copy->layers = layers;
    copy->inputs = inputs;
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
    NORMA_FREE((*network)->inputs);
    NORMA_FREE((*network)->storage);
    NORMA_FREE(*network);
}
