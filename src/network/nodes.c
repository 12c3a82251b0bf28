/* Layers that are neither convolutional nor linear. */
#include "src/network/forward.h"
#include "src/operators/elementwise.h"
#include "src/operators/window.h"

#include <string.h>

static void join(const norma_network *network, const norma_layer *layer, const double *const *in,
                 int64_t n, double *out)
{
    for (int64_t k = 0; k < layer->n_inputs; k++) {
        norma_shape shape = norma_network_input_shape(network, layer, k);
        int64_t size = norma_shape_size(shape);
        const double *x = in[k] + n * size;
        if (layer->kind == NORMA_LAYER_CONCAT) {
            memcpy(out, x, (size_t)size * sizeof *out);
            out += size;
        } else if (k == 0) {
            norma_elementwise_copy(layer->output, shape, x, out);
        } else if (layer->kind == NORMA_LAYER_ADD) {
            norma_elementwise_add(layer->output, shape, x, out);
        } else {
            norma_elementwise_multiply(layer->output, shape, x, out);
        }
    }
}

void norma_forward_node(const norma_network *network, const norma_layer *layer,
                        const double *const *in, int64_t n, double *out)
{
    const double *x = in[0] + n * norma_shape_size(layer->input);
    int64_t size = norma_shape_size(layer->output);
    norma_window window = {.kernel = layer->kernel,
                           .stride = {layer->stride[0], layer->stride[1]},
                           .padding = {layer->padding[0], layer->padding[1]},
                           .counts_padding = layer->counts_padding};
    switch (layer->kind) {
    case NORMA_LAYER_BATCHNORM:
        norma_elementwise_affine(layer->output, layer->weight, layer->bias, x, out);
        break;
    case NORMA_LAYER_ADD:
    case NORMA_LAYER_MULTIPLY:
    case NORMA_LAYER_CONCAT:
        join(network, layer, in, n, out);
        break;
    case NORMA_LAYER_CLIP:
        norma_elementwise_clip(size, layer->clip, x, out);
        break;
    case NORMA_LAYER_SOFTMAX:
        norma_elementwise_softmax(layer->output, x, out);
        break;
    case NORMA_LAYER_MAX_POOL:
        norma_window_max(&window, layer->input, layer->output, x, out);
        break;
    case NORMA_LAYER_AVERAGE_POOL:
        norma_window_average(&window, layer->input, layer->output, x, out);
        break;
    case NORMA_LAYER_GLOBAL_AVERAGE:
        norma_window_average_all(layer->input, x, out);
        break;
    case NORMA_LAYER_RESIZE:
        norma_window_nearest(layer->input, layer->output, x, out);
        break;
    case NORMA_LAYER_ACTIVATION:
    case NORMA_LAYER_FLATTEN:
    case NORMA_LAYER_RESHAPE:
    case NORMA_LAYER_CONV2D:
    case NORMA_LAYER_LINEAR:
    case NORMA_N_LAYER_KINDS:
        memcpy(out, x, (size_t)size * sizeof *out);
        break;
    }
    norma_activation_apply(&layer->activation, size, out);
}
