/* A replica of a layer: the source pair, its system, the layer that runs in the target's place. */
#include "experiments/reconstruct/construct/systems.h"
#include "experiments/reconstruct/setup.h"
#include "experiments/reconstruct/skip.h"
#include "src/base/mem.h"

/* The tensor field of the counters. */
enum { TENSOR_FIRST = 0, TENSOR_SECOND = 1 };

norma_status norma_reconstruct_fill_target(norma_reconstruct_cell *cell, int64_t replica)
{
    norma_tensor *tensor = NULL;
    cell->target_spec.stream.replica = replica;
    cell->drawn.stream.replica = replica;
    NORMA_TRY(norma_tensor_create(&cell->target_spec, &tensor));
    norma_tensor_fill(tensor, 0, cell->target_spec.n_features, cell->random->layers[0].weight);
    norma_tensor_destroy(&tensor);
    return NORMA_OK;
}

/* The tensor of the first or second layer, of all groups. */
static norma_status draw(const norma_reconstruct_cell *cell, int64_t number,
                         const norma_tensor_spec *common, const double *values, norma_tensor **out)
{
    int64_t n_groups = cell->layers[number].groups;
    int64_t size = common->n_features * common->n_channels * common->n_taps;
    norma_tensor_spec *specs = NULL;
    norma_tensor_destroy(out);
    NORMA_TRY(NORMA_ALLOC(specs, n_groups));
    for (int64_t g = 0; g < n_groups; g++) {
        specs[g] = *common;
        specs[g].stream.layer = norma_reconstruct_system_number(cell->network, number, g);
        specs[g].values = values ? values + g * size : NULL;
    }
    norma_status status = norma_tensor_create_joined(specs, n_groups, out);
    NORMA_FREE(specs);
    return status;
}

norma_status norma_reconstruct_pair_init(norma_reconstruct_cell *cell,
                                         const norma_reconstruct_inputs *inputs, int64_t number,
                                         int64_t replica)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    const int64_t drawn = cell->first_replica + replica;
    norma_tensor_spec spec = {
        .distribution = cell->distribution,
        .keep_probability = cell->keep_probability,
        .seed = cell->seed,
        .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS,
                   .replica = drawn,
                   .cell = cell->stream_cell},
        .n_features = layer->n_features / layer->groups,
        .pair = {.n_outputs = layer->shape.n_channels_out,
                 .n_inputs = layer->shape.n_channels_in,
                 .first = {layer->shape.kernel.first.height, layer->shape.kernel.first.width},
                 .second = {layer->shape.kernel.second.height, layer->shape.kernel.second.width}},
    };
    const norma_source_pair *pair =
        inputs->source ? norma_source_pair_local(inputs->source, number) : NULL;

    spec.role = NORMA_TENSOR_FIRST;
    spec.stream.tensor = TENSOR_FIRST;
    spec.n_channels = layer->shape.n_channels_in;
    spec.n_taps = norma_kernel_taps(layer->shape.kernel.first);
    NORMA_TRY(draw(cell, number, &spec, pair ? pair->w1 : NULL, &layer->w1));

    spec.role = NORMA_TENSOR_SECOND;
    spec.stream.tensor = TENSOR_SECOND;
    spec.n_channels = layer->shape.n_channels_out;
    spec.n_taps = norma_kernel_taps(layer->shape.kernel.second);
    NORMA_TRY(draw(cell, number, &spec, pair ? pair->w2 : NULL, &layer->w2));
    if (cell->target_per_replica) {
        const norma_layer *target = &cell->network->layers[number];
        NORMA_TRY(norma_reconstruct_fill_target(cell, drawn));
        norma_kernel_embed(&layer->shape.kernel, target->n_channels_out * target->n_channels_in,
                           target->weight, layer->embedded);
    }
    return norma_reconstruct_skip_fill(cell, inputs, number, drawn);
}

norma_source_layer norma_reconstruct_source_layer(const norma_reconstruct_cell *cell,
                                                  int64_t number)
{
    const norma_reconstruct_layer *layer = &cell->layers[number];
    norma_source_layer source = {
        .shape = layer->source_shape,
        .w1 = layer->w1,
        .w2 = layer->w2,
        .activation = layer->activation,
        .single = cell->single,
        .residual = cell->residual,
        .skip = layer->skip,
    };
    norma_maps_use(layer->maps, &source);
    return source;
}
