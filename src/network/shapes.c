/* Extents of a network's layers, from its input to its outputs. */
#include "src/network/network.h"

#include "src/base/mem.h"
#include "src/operators/elementwise.h"

#include <inttypes.h>
#include <stdio.h>

/* Values of one image that a layer may give, so that sums over layers and bytes fit 64 bits. */
#define MAX_VALUES 1000000000000

/* Extent of a convolution's or pool's output along one axis; n = 0 (unknown) stays 0. */
static norma_status window_extent(const norma_layer *layer, int axis, int64_t n, int64_t *out)
{
    int64_t taps = axis == 0 ? layer->kernel.height : layer->kernel.width;
    int64_t kernel = (taps - 1) * layer->dilation[axis] + 1;
    int64_t padded = n + 2 * layer->padding[axis] + layer->padding_more[axis];
    *out = 0;
    if (n == 0)
        return NORMA_OK;
    if (padded < kernel)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %s: its kernel is %" PRId64 " pixels %s but its padded "
                          "input only %" PRId64,
                          layer->name, kernel, axis == 0 ? "high" : "wide", padded);
    *out = (padded - kernel) / layer->stride[axis] + 1;
    return NORMA_OK;
}

static norma_status infer_pool(norma_layer *layer)
{
    layer->output = layer->hidden;
    if (layer->pool == NORMA_POOL_GLOBAL_AVERAGE) {
        layer->output.height = layer->output.width = 1;
    } else if (layer->pool == NORMA_POOL_MAX2 && layer->hidden.height > 0) {
        if (layer->hidden.height < 2 || layer->hidden.width < 2)
            return NORMA_FAIL(NORMA_CONFIG,
                              "layer %s: pool max2 needs at least 2 x 2 pixels, there "
                              "are %" PRId64 " x %" PRId64,
                              layer->name, layer->hidden.height, layer->hidden.width);
        layer->output.height = layer->hidden.height / 2;
        layer->output.width = layer->hidden.width / 2;
    }
    return NORMA_OK;
}

/* The input of a linear layer: all of `given` as channels of one pixel. */
static norma_status flatten(const norma_layer *layer, norma_shape *given)
{
    if (given->height == 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %s is linear and follows a layer of unknown image "
                          "extents; give the network an input_shape",
                          layer->name);
    int64_t n = norma_shape_size(*given);
    if (n != layer->n_channels_in)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %s is linear with %" PRId64 " inputs but gets %" PRId64
                          " x %" PRId64 " x %" PRId64 " = %" PRId64 " values",
                          layer->name, layer->n_channels_in, given->channels, given->height,
                          given->width, n);
    *given = (norma_shape){n, 1, 1};
    return NORMA_OK;
}

/* A convolutional or linear layer. */
static norma_status infer_kernel(norma_layer *layer, bool is_first, norma_shape given)
{
    if (layer->kind == NORMA_LAYER_LINEAR) {
        NORMA_TRY(flatten(layer, &given));
    } else if (given.channels != layer->n_channels_in) {
        return NORMA_FAIL(
            NORMA_CONFIG, "layer %s expects %" PRId64 " input channels but gets %" PRId64 "%s",
            layer->name, layer->n_channels_in, given.channels, is_first ? " from input_shape" : "");
    }
    layer->input = given;
    layer->hidden.channels = layer->n_channels_out;
    NORMA_TRY(window_extent(layer, 0, given.height, &layer->hidden.height));
    NORMA_TRY(window_extent(layer, 1, given.width, &layer->hidden.width));
    return infer_pool(layer);
}

/* A pool's window never lies in the padding alone. */
static norma_status infer_window(norma_layer *layer, norma_shape given)
{
    const int64_t kernel[2] = {layer->kernel.height, layer->kernel.width};
    for (int axis = 0; axis < 2; axis++)
        if (layer->padding[axis] >= kernel[axis] ||
            layer->padding[axis] + layer->padding_more[axis] >= kernel[axis])
            return NORMA_FAIL(NORMA_CONFIG,
                              "layer %s: its padding is as large as its window of %" PRId64
                              " x %" PRId64 " pixels",
                              layer->name, kernel[0], kernel[1]);
    layer->output.channels = given.channels;
    NORMA_TRY(window_extent(layer, 0, given.height, &layer->output.height));
    return window_extent(layer, 1, given.width, &layer->output.width);
}

norma_shape norma_network_input_shape(const norma_network *network, const norma_layer *layer,
                                      int64_t k)
{
    int64_t from = network->inputs[layer->first_input + k];
    return from < 0 ? network->input : network->layers[from].output;
}

static const char *input_name(const norma_network *network, const norma_layer *layer, int64_t k)
{
    int64_t from = network->inputs[layer->first_input + k];
    return from < 0 ? "input" : network->layers[from].name;
}

/* The shape `next` of input number k does not fit `before`, that of the inputs before it. */
static norma_status fail_joined(const norma_network *network, const norma_layer *layer, int64_t k,
                                norma_shape next, norma_shape before)
{
    char others[NORMA_LAYER_NAME_LENGTH + 2] = "the inputs before it";
    if (k == 1)
        (void)snprintf(others, sizeof others, "'%s'", input_name(network, layer, 0));
    return NORMA_FAIL(NORMA_CONFIG,
                      "layer %s (%s): '%s' gives it %" PRId64 " x %" PRId64 " x %" PRId64
                      " values, which do not fit the %" PRId64 " x %" PRId64 " x %" PRId64 " of %s",
                      layer->name, norma_layer_kind_name(layer->kind),
                      input_name(network, layer, k), next.channels, next.height, next.width,
                      before.channels, before.height, before.width, others);
}

/* Sums, products and concatenations: the shapes of all inputs together. */
static norma_status infer_joined(const norma_network *network, norma_layer *layer)
{
    norma_shape joined = norma_network_input_shape(network, layer, 0);
    for (int64_t k = 1; k < layer->n_inputs; k++) {
        norma_shape next = norma_network_input_shape(network, layer, k);
        norma_shape before = joined;
        bool fits = true;
        if (layer->kind == NORMA_LAYER_CONCAT) {
            fits = joined.height == next.height && joined.width == next.width;
            joined.channels += next.channels;
        } else {
            fits = norma_elementwise_shape(joined, next, &joined);
        }
        if (!fits)
            return fail_joined(network, layer, k, next, before);
    }
    layer->output = joined;
    return NORMA_OK;
}

/* The extents asked for, of which one may follow from the number of values. */
static norma_status infer_reshape(norma_layer *layer, norma_shape given)
{
    int64_t wanted[3] = {layer->extents[0], layer->extents[1], layer->extents[2]};
    int64_t n = norma_shape_size(given);
    int64_t known = 1;
    for (int k = 0; k < 3; k++)
        if (wanted[k] > 0 && known <= MAX_VALUES / wanted[k])
            known *= wanted[k];
    for (int k = 0; k < 3; k++)
        if (wanted[k] < 0)
            wanted[k] = n / known;
    layer->output = (norma_shape){wanted[0], wanted[1], wanted[2]};
    if ((double)wanted[0] * (double)wanted[1] * (double)wanted[2] != (double)n)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %s (reshape) makes %" PRId64 " x %" PRId64 " x %" PRId64
                          " values of %" PRId64 " x %" PRId64 " x %" PRId64,
                          layer->name, layer->extents[0], layer->extents[1], layer->extents[2],
                          given.channels, given.height, given.width);
    return NORMA_OK;
}

/* A layer that is neither convolutional nor linear. */
static norma_status infer_node(const norma_network *network, norma_layer *layer)
{
    norma_shape given = norma_network_input_shape(network, layer, 0);
    layer->input = layer->output = given;
    if (given.height == 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "layer %s (%s) needs known image extents; give the network an "
                          "input_shape",
                          layer->name, norma_layer_kind_name(layer->kind));
    switch (layer->kind) {
    case NORMA_LAYER_ADD:
    case NORMA_LAYER_MULTIPLY:
    case NORMA_LAYER_CONCAT:
        NORMA_TRY(infer_joined(network, layer));
        break;
    case NORMA_LAYER_BATCHNORM:
        if (given.channels != layer->n_channels_out)
            return NORMA_FAIL(NORMA_CONFIG,
                              "layer %s (batchnorm) has %" PRId64 " channels but gets %" PRId64
                              " x %" PRId64 " x %" PRId64 " values from '%s'",
                              layer->name, layer->n_channels_out, given.channels, given.height,
                              given.width, input_name(network, layer, 0));
        break;
    case NORMA_LAYER_MAX_POOL:
    case NORMA_LAYER_AVERAGE_POOL:
        NORMA_TRY(infer_window(layer, given));
        break;
    case NORMA_LAYER_GLOBAL_AVERAGE:
        layer->output.height = layer->output.width = 1;
        break;
    case NORMA_LAYER_FLATTEN:
        layer->output = (norma_shape){norma_shape_size(given), 1, 1};
        break;
    case NORMA_LAYER_RESHAPE:
        NORMA_TRY(infer_reshape(layer, given));
        break;
    case NORMA_LAYER_RESIZE:
        layer->output.height =
            layer->extents[1] > 0 ? layer->extents[1] : given.height * layer->factor[0];
        layer->output.width =
            layer->extents[2] > 0 ? layer->extents[2] : given.width * layer->factor[1];
        break;
    case NORMA_LAYER_ACTIVATION:
    case NORMA_LAYER_CLIP:
    case NORMA_LAYER_SOFTMAX:
    case NORMA_LAYER_CONV2D:
    case NORMA_LAYER_LINEAR:
    case NORMA_N_LAYER_KINDS:
        break;
    }
    layer->n_channels_in = given.channels;
    layer->n_channels_out = layer->output.channels;
    layer->hidden = layer->output;
    return NORMA_OK;
}

/* Only the last layer's values may be read by none. */
static norma_status check_read(const norma_network *network)
{
    bool *read = NULL;
    norma_status status = NORMA_OK;
    NORMA_TRY(NORMA_CALLOC(read, network->n_layers));
    for (int64_t k = 0; k < network->n_inputs; k++)
        if (network->inputs[k] >= 0)
            read[network->inputs[k]] = true;
    for (int64_t l = 0; l < network->n_layers - 1 && status == NORMA_OK; l++)
        if (!read[l])
            status =
                NORMA_FAIL(NORMA_CONFIG,
                           "layers %s and %s are both read by no other layer; a target has "
                           "one output",
                           network->layers[l].name, network->layers[network->n_layers - 1].name);
    NORMA_FREE(read);
    return status;
}

static norma_status check_size(const char *kind, const char *name, norma_shape shape)
{
    double n = (double)shape.channels * (double)shape.height * (double)shape.width;
    if (n <= (double)MAX_VALUES)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG, "%s%s gives %g values of one image, the limit is %g", kind,
                      name, n, (double)MAX_VALUES);
}

norma_status norma_network_infer_shapes(norma_network *network)
{
    NORMA_TRY(check_size("", "input_shape", network->input));
    for (int64_t l = 0; l < network->n_layers; l++) {
        norma_layer *layer = &network->layers[l];
        if (norma_layer_has_kernel(layer))
            NORMA_TRY(infer_kernel(layer, network->inputs[layer->first_input] < 0,
                                   norma_network_input_shape(network, layer, 0)));
        else
            NORMA_TRY(infer_node(network, layer));
        NORMA_TRY(check_size("layer ", layer->name, layer->hidden));
    }
    return check_read(network);
}

norma_status norma_network_place(const norma_network *network, norma_slots *slots)
{
    norma_status status = NORMA_OK;
    int64_t *sizes = NULL;
    int64_t *first = NULL;
    *slots = (norma_slots){0};
    NORMA_GOTO(status, NORMA_ALLOC(sizes, network->n_layers + 1));
    NORMA_GOTO(status, NORMA_ALLOC(first, network->n_layers + 1));
    sizes[0] = norma_shape_size(network->input);
    for (int64_t l = 0; l < network->n_layers; l++) {
        sizes[l + 1] = norma_shape_size(network->layers[l].output);
        first[l] = network->layers[l].first_input;
    }
    first[network->n_layers] = network->n_inputs;
    norma_edges edges = {network->n_layers, first, network->inputs};
    status = norma_slots_init(slots, &edges, sizes);
done:
    NORMA_FREE(first);
    NORMA_FREE(sizes);
    return status;
}
