#include "src/network/forward.h"

#include "src/base/index.h"
#include "src/base/mem_place.h"
#include "src/operators/im2col.h"
#include "src/operators/window.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

struct norma_forward {
    const norma_network *network; /* borrowed */
    int n_threads;
    int64_t columns_size, hidden_size; /* of one thread */
    double *columns, *hidden;          /* [n_threads][...]; owned */
    const double **in;                 /* [most inputs of a layer]; owned */
};

/* Must the layer's input be laid out in columns first, or is it the matrix already? */
static bool needs_columns(const norma_layer *layer)
{
    return norma_kernel_taps(layer->kernel) > 1 || layer->stride[0] > 1 || layer->stride[1] > 1 ||
           layer->padding[0] > 0 || layer->padding[1] > 0 || layer->padding_more[0] != 0 ||
           layer->padding_more[1] != 0;
}

static void scratch_sizes(const norma_network *network, int64_t *columns, int64_t *hidden)
{
    *columns = 1;
    *hidden = 1;
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        int64_t n = norma_shape_size(layer->hidden);
        if (!norma_layer_has_kernel(layer))
            continue;
        if (n > *hidden)
            *hidden = n;
        n = layer->hidden.height * layer->hidden.width * layer->n_channels_in *
            norma_kernel_taps(layer->kernel);
        if (needs_columns(layer) && n > *columns)
            *columns = n;
    }
    *columns = norma_index_ceil_divide(*columns, 8) * 8;
    *hidden = norma_index_ceil_divide(*hidden, 8) * 8;
}

/* BLAS takes int. */
static norma_status check_extents(const norma_network *network)
{
    int ignored = 0;
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        if (layer->hidden.height == 0)
            return NORMA_FAIL(NORMA_CONFIG,
                              "the target has no input_shape, so it cannot be run on images");
        NORMA_TRY(norma_index_to_int(layer->n_channels_in * norma_kernel_taps(layer->kernel),
                                     "inputs of a layer's product", &ignored));
        NORMA_TRY(
            norma_index_to_int(norma_shape_size(layer->hidden), "outputs of a layer", &ignored));
    }
    return NORMA_OK;
}

static int64_t most_inputs(const norma_network *network)
{
    int64_t most = 1;
    for (int64_t l = 0; l < network->n_layers; l++)
        if (network->layers[l].n_inputs > most)
            most = network->layers[l].n_inputs;
    return most;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_forward *f, double *bytes)
{
    scratch_sizes(f->network, &f->columns_size, &f->hidden_size);
    NORMA_TRY(NORMA_PLACE_UNSET(f->columns, f->n_threads, f->columns_size, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(f->hidden, f->n_threads, f->hidden_size, bytes));
    return NORMA_PLACE(f->in, most_inputs(f->network), bytes);
}

int64_t norma_forward_bytes(const norma_network *network, int n_threads)
{
    norma_forward f = {.network = network, .n_threads = n_threads};
    double bytes = (double)sizeof f;
    (void)place(&f, &bytes);
    return (int64_t)bytes;
}

norma_status norma_forward_create(const norma_network *network, int n_threads, norma_forward **out)
{
    norma_status status = NORMA_OK;
    norma_forward *forward = NULL;
    NORMA_GOTO(status, check_extents(network));
    NORMA_GOTO(status, NORMA_CALLOC(forward, 1));
    forward->network = network;
    forward->n_threads = n_threads;
    NORMA_GOTO(status, place(forward, NULL));
    *out = forward;
    return NORMA_OK;
done:
    norma_forward_destroy(&forward);
    return status;
}

/* hidden = W * in + b for one image. */
static void convolve(const norma_layer *layer, const double *in, double *columns, double *hidden)
{
    int64_t n_pixels = layer->hidden.height * layer->hidden.width;
    int m = (int)(layer->n_channels_out / layer->groups);
    int k = (int)(layer->n_channels_in / layer->groups * norma_kernel_taps(layer->kernel));
    int n = (int)n_pixels;
    if (needs_columns(layer)) {
        norma_im2col(layer->input, layer->kernel, layer->stride, layer->dilation, layer->padding,
                     layer->hidden, in, n_pixels, columns);
        in = columns;
    }
    for (int64_t g = 0; g < layer->groups; g++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1,
                    layer->weight + g * m * k, k, in + g * k * n, n, 0, hidden + g * m * n, n);
    for (int64_t i = 0; i < layer->n_channels_out; i++)
        for (int64_t x = 0; x < n_pixels; x++)
            hidden[i * n_pixels + x] += layer->bias[i];
}

void norma_forward_finish(const norma_layer *layer, double *x, double *out)
{
    int64_t n = norma_shape_size(layer->hidden);
    norma_activation_apply(&layer->activation, n, x);
    switch (layer->pool) {
    case NORMA_POOL_MAX2:
        norma_window_max2(layer->hidden, layer->output, x, out);
        break;
    case NORMA_POOL_GLOBAL_AVERAGE:
        norma_window_average_all(layer->hidden, x, out);
        break;
    case NORMA_POOL_NONE:
    case NORMA_N_POOLS:
        memcpy(out, x, (size_t)n * sizeof *out);
        break;
    }
}

void norma_forward_layer(norma_forward *forward, int64_t l, int64_t n_images, const double *in,
                         double *out)
{
    const norma_layer *layer = &forward->network->layers[l];
    int64_t in_size = norma_shape_size(layer->input);
    int64_t out_size = norma_shape_size(layer->output);
#pragma omp parallel for schedule(static) num_threads(forward->n_threads)
    for (int64_t n = 0; n < n_images; n++) {
        int thread = omp_get_thread_num();
        double *columns = forward->columns + thread * forward->columns_size;
        double *hidden = forward->hidden + thread * forward->hidden_size;
        convolve(layer, in + n * in_size, columns, hidden);
        norma_forward_finish(layer, hidden, out + n * out_size);
    }
}

void norma_forward_step(norma_forward *forward, int64_t l, int64_t n_images,
                        const norma_slots *slots, double *const *buffers)
{
    const norma_network *network = forward->network;
    const norma_layer *layer = &network->layers[l];
    double *out = buffers[slots->of[l + 1]];
    int64_t out_size = norma_shape_size(layer->output);
    const double **in = forward->in;
    for (int64_t k = 0; k < layer->n_inputs; k++)
        in[k] = buffers[slots->of[network->inputs[layer->first_input + k] + 1]];
    if (norma_layer_has_kernel(layer)) {
        norma_forward_layer(forward, l, n_images, in[0], out);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(forward->n_threads)
    for (int64_t n = 0; n < n_images; n++)
        norma_forward_node(network, layer, in, n, out + n * out_size);
}

void norma_forward_destroy(norma_forward **forward)
{
    if (!*forward)
        return;
    NORMA_FREE((*forward)->columns);
    NORMA_FREE((*forward)->hidden);
    NORMA_FREE((*forward)->in);
    NORMA_FREE(*forward);
}
