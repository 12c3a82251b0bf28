/* A stack's network beside its target, on images or on inputs drawn from the declared range. Layers
 * with a kernel stand alone and see patches of the kernel's size. */
#include "experiments/reconstruct/stack/stack.h"

#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/construct/dense.h"

#include <math.h>
#include <string.h>

/* x[n][n_in]: the images, or uniform numbers in the network's range, the same for all replicas. */
static norma_status fill_inputs(const norma_stack_place *place,
                                const norma_reconstruct_inputs *inputs, int64_t n, int64_t n_in,
                                double *x)
{
    const norma_network *network = place->cell->network;
    const norma_images *images = norma_reconstruct_images(inputs);
    const norma_rng_stream stream = {.purpose = NORMA_RNG_RUN_INPUT,
                                     .cell = place->cell->stream_cell};
    if (images) {
        norma_images_load(images, network, 0, n, x);
        return NORMA_OK;
    }
    NORMA_TRY(norma_rng_check(&stream, n * n_in));
    norma_rng_fill_uniform(place->cell->seed, &stream, 0, n * n_in, x);
    for (int64_t e = 0; e < n * n_in; e++)
        x[e] = network->input_min + (network->input_max - network->input_min) * x[e];
    return NORMA_OK;
}

static int64_t widest(const norma_stack_place *place)
{
    const norma_network *network = place->cell->network;
    int64_t most = 0;
    for (int64_t i = 0; i < network->n_layers; i++) {
        const norma_layer *layer = &network->layers[i];
        int64_t n_in = layer->n_channels_in * norma_kernel_taps(layer->kernel);
        most = n_in > most ? n_in : most;
        most = layer->n_channels_out > most ? layer->n_channels_out : most;
    }
    return most;
}

static void compare(int64_t n, int64_t n_out, const double *source, const double *target,
                    double *outputs)
{
    double error2 = 0;
    outputs[NORMA_STACK_OUTPUT_MAX_ERROR] = outputs[NORMA_STACK_OUTPUT_MAX] = 0;
    outputs[NORMA_STACK_N_DIFFERING] = 0;
    for (int64_t e = 0; e < n * n_out; e++) {
        double error = fabs(source[e] - target[e]);
        error2 += error * error;
        if (!(error <= outputs[NORMA_STACK_OUTPUT_MAX_ERROR])) /* NaN too */
            outputs[NORMA_STACK_OUTPUT_MAX_ERROR] = error;
        outputs[NORMA_STACK_OUTPUT_MAX] = fmax(outputs[NORMA_STACK_OUTPUT_MAX], fabs(target[e]));
    }
    for (int64_t s = 0; s < n; s++)
        outputs[NORMA_STACK_N_DIFFERING] += norma_index_of_largest(n_out, source + s * n_out) !=
                                            norma_index_of_largest(n_out, target + s * n_out);
    outputs[NORMA_STACK_OUTPUT_RMSE] = sqrt(error2 / (double)(n * n_out));
}

norma_status norma_stack_run_network(const norma_stack_place *place,
                                     const norma_reconstruct_inputs *inputs,
                                     const norma_stack_layout *layout, void *const *sources,
                                     double *outputs)
{
    const norma_network *network = place->cell->network;
    int64_t n = layout->n_inputs;
    int64_t size = n * widest(place);
    int64_t n_clipped = 0;
    norma_stack_place at = *place;
    double *x = NULL;
    norma_status status = NORMA_ALLOC(x, 4 * size);
    NORMA_GOTO(status, status);
    double *source = x;
    double *target = x + size;
    double *next_source = x + 2 * size;
    double *next_target = x + 3 * size;
    at.number = 0;
    NORMA_GOTO(status, fill_inputs(&at, inputs, n, norma_stack_inputs(&at), source));
    memcpy(target, source, (size_t)(n * norma_stack_inputs(&at)) * sizeof *target);
    for (at.number = 0; at.number < network->n_layers; at.number++) {
        const norma_layer *layer = &network->layers[at.number];
        int64_t n_in = norma_stack_inputs(&at);
        int64_t n_out = layer->n_channels_out;
        norma_dense_run(layer->weight, layer->bias, n_out, n_in, n, target, next_target);
        if (sources[at.number])
            NORMA_GOTO(status, layout->kind->run(&at, sources[at.number], n, source, next_source,
                                                 &n_clipped));
        else
            norma_dense_run(layer->weight, layer->bias, n_out, n_in, n, source, next_source);
        norma_activation_apply(&layer->activation, n * n_out, next_source);
        norma_activation_apply(&layer->activation, n * n_out, next_target);
        double *swapped[] = {source, target};
        source = next_source;
        target = next_target;
        next_source = swapped[0];
        next_target = swapped[1];
    }
    compare(n, network->layers[network->n_layers - 1].n_channels_out, source, target, outputs);
    outputs[NORMA_STACK_N_CLIPPED] = (double)n_clipped;
done:
    NORMA_FREE(x);
    return status;
}
