#include "io/input/target.h"

#include "io/hdf5/h5_input.h"
#include "io/input/place.h"
#include "io/input/target_graph.h"
#include "io/input/target_layer.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/shared.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct norma_target {
    norma_network *network; /* owned; attached to shared */
    norma_shared *shared;   /* owned */
};

/* input_shape: [channels, height, width], [height, width], or [inputs]. */
static norma_status read_input_shape_root(const norma_h5_input *input, norma_network *network)
{
    const norma_layer *layer = &network->layers[0];
    double shape[3];
    int64_t n = 0;
    if (!norma_h5_input_has_attribute_root(input, "/", "input_shape")) {
        int64_t pixels = layer->kind == NORMA_LAYER_LINEAR ? 1 : 0;
        if (!norma_layer_has_kernel(layer))
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: attribute input_shape is missing; a network that begins with "
                              "%s needs it",
                              norma_h5_input_name_root(input), norma_layer_kind_name(layer->kind));
        network->input = (norma_shape){layer->n_channels_in, pixels, pixels};
        return NORMA_OK;
    }
    NORMA_TRY(norma_h5_input_numbers_root(input, "/", "input_shape", 1, 3, shape, &n));
    for (int64_t k = 0; k < n; k++)
        if (!(shape[k] >= 1 && shape[k] <= 1e6) || shape[k] != floor(shape[k]))
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: attribute input_shape holds %g; whole numbers from 1 on are "
                              "expected",
                              norma_h5_input_name_root(input), shape[k]);
    network->input.channels = n == 2 ? 1 : (int64_t)shape[0];
    network->input.height = n == 1 ? 1 : (int64_t)shape[n - 2];
    network->input.width = n == 1 ? 1 : (int64_t)shape[n - 1];
    return NORMA_OK;
}

/* A number for all channels or one for each; left as it is when missing. */
static norma_status read_per_channel_root(const norma_h5_input *input, const char *name,
                                          int64_t n_channels, double *values)
{
    int64_t n = 0;
    if (!norma_h5_input_has_attribute_root(input, "/", name))
        return NORMA_OK;
    NORMA_TRY(norma_h5_input_numbers_root(input, "/", name, 1, n_channels, values, &n));
    if (n != 1 && n != n_channels)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: attribute %s holds %" PRId64 " numbers; 1 or %" PRId64
                          " (one per channel) are expected",
                          norma_h5_input_name_root(input), name, n, n_channels);
    for (int64_t c = n; c < n_channels; c++)
        values[c] = values[0];
    return NORMA_OK;
}

static norma_status read_input_root(const norma_h5_input *input, norma_network *network)
{
    int64_t n = 0;
    bool has_min = norma_h5_input_has_attribute_root(input, "/", "input_min");
    bool has_max = norma_h5_input_has_attribute_root(input, "/", "input_max");
    int64_t c = network->input.channels;
    NORMA_TRY(read_per_channel_root(input, "input_scale", c, network->scale));
    NORMA_TRY(read_per_channel_root(input, "input_offset", c, network->offset));
    if (norma_h5_input_has_attribute_root(input, "/", "dataset"))
        NORMA_TRY(norma_h5_input_text_root(input, "/", "dataset", network->dataset,
                                           NORMA_NETWORK_NAME_LENGTH));
    if (has_min != has_max)
        return NORMA_FAIL(NORMA_CONFIG, "%s: attribute %s is there without %s",
                          norma_h5_input_name_root(input), has_min ? "input_min" : "input_max",
                          has_min ? "input_max" : "input_min");
    if (!has_min)
        return NORMA_OK;
    NORMA_TRY(norma_h5_input_numbers_root(input, "/", "input_min", 1, 1, &network->input_min, &n));
    NORMA_TRY(norma_h5_input_numbers_root(input, "/", "input_max", 1, 1, &network->input_max, &n));
    if (network->input_min > network->input_max)
        return NORMA_FAIL(NORMA_CONFIG, "%s: input_min %g is larger than input_max %g",
                          norma_h5_input_name_root(input), network->input_min, network->input_max);
    return NORMA_OK;
}

static norma_status read_network_root(const norma_h5_input *input, norma_network **out)
{
    norma_status status = NORMA_OK;
    norma_network *network = NULL;
    char group[NORMA_TARGET_GROUP_LENGTH];
    NORMA_GOTO(status, norma_target_read_graph_root(input, &network));
    for (int64_t l = 0; l < network->n_layers; l++) {
        norma_layer *layer = &network->layers[l];
        NORMA_GOTO(status, norma_target_describe_layer_root(
                               input, norma_target_format_group(layer, group), layer));
    }
    NORMA_GOTO(status, read_input_shape_root(input, network));
    status = norma_network_infer_shapes(network);
    if (status != NORMA_OK) {
        (void)norma_status_context(status, "%s: ", norma_h5_input_name_root(input));
        goto done;
    }
    NORMA_GOTO(status, norma_network_allocate(network));
    NORMA_GOTO(status, read_input_root(input, network));
    for (int64_t l = 0; l < network->n_layers; l++) {
        norma_layer *layer = &network->layers[l];
        NORMA_GOTO(status, norma_target_read_layer_root(
                               input, norma_target_format_group(layer, group), layer));
    }
    *out = network;
    return NORMA_OK;
done:
    norma_network_destroy(&network);
    return status;
}

/* A bare weight dataset. */
static norma_status read_weight_root(const norma_h5_input *input, const char *path,
                                     norma_network **out)
{
    norma_status status = NORMA_OK;
    norma_network *network = NULL;
    norma_activation identity = {NORMA_ACTIVATION_IDENTITY, 0};
    int rank = 0;
    int64_t n = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {1, 1, 1, 1};
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, &rank, extents));
    if (rank == 3)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: has 3 axes; [outputs, inputs] or [outputs, inputs, height, "
                          "width] are expected",
                          norma_h5_input_name_root(input), path);
    norma_kernel_shape kernel = {rank == 4 ? extents[2] : 1, rank == 4 ? extents[3] : 1};
    NORMA_TRY(norma_index_multiply(extents[0], extents[1], "elements of a weight", &n));
    NORMA_TRY(norma_index_multiply(n, norma_kernel_taps(kernel), "elements of a weight", &n));
    NORMA_GOTO(status,
               norma_network_create_single(extents[0], extents[1], kernel, &identity, &network));
    NORMA_GOTO(status, norma_network_allocate(network));
    NORMA_GOTO(status,
               norma_h5_input_read_root(input, path, rank, extents, network->layers[0].weight));
    *out = network;
    return NORMA_OK;
done:
    norma_network_destroy(&network);
    return status;
}

static norma_status read_root(const char *where, norma_network **out)
{
    norma_status status = NORMA_OK;
    norma_h5_input *input = NULL;
    char *file = NULL;
    const char *path = NULL;
    NORMA_TRY(norma_place_split_root(where, &file, &path));
    NORMA_GOTO(status, norma_h5_input_open_root(file, &input));
    status = path ? read_weight_root(input, path, out) : read_network_root(input, out);
done:
    norma_h5_input_close_root(&input);
    norma_mem_free(file);
    return status;
}

/* Rank 0's description of the network to everybody, without weights. */
static norma_status share_description(MPI_Comm comm, int rank, norma_network **network)
{
    norma_network description = {0};
    norma_status status = NORMA_OK;
    int64_t *inputs = NULL;
    if (rank == 0)
        description = **network;
    MPI_Bcast(&description, (int)sizeof description, MPI_BYTE, 0, comm);
    if (rank != 0)
        status = norma_network_create(description.n_layers, network);
    if (rank != 0 && status == NORMA_OK)
        status = NORMA_ALLOC(inputs, description.n_inputs);
    status = norma_agree(comm, status);
    if (status != NORMA_OK) {
        NORMA_FREE(inputs);
        return status;
    }
    if (rank != 0) {
        norma_layer *layers = (*network)->layers;
        NORMA_FREE((*network)->inputs);
        **network = description;
        (*network)->layers = layers;
        (*network)->inputs = inputs;
        (*network)->storage = NULL;
    }
    MPI_Bcast((*network)->inputs, (int)description.n_inputs, MPI_INT64_T, 0, comm);
    MPI_Bcast((*network)->layers, (int)((size_t)description.n_layers * sizeof(norma_layer)),
              MPI_BYTE, 0, comm);
    return NORMA_OK;
}

/* Rank 0's weights to every node. */
static norma_status share_weights(MPI_Comm comm, norma_target *target)
{
    norma_network *network = target->network;
    size_t bytes = (size_t)norma_network_storage_size(network) * sizeof(double);
    NORMA_TRY(norma_shared_create(comm, (int64_t)bytes, &target->shared));
    double *storage = norma_shared_data_local(target->shared);
    if (network->storage)
        memcpy(storage, network->storage, bytes);
    norma_shared_broadcast(target->shared);
    NORMA_FREE(network->storage);
    norma_network_attach(network, storage);
    return NORMA_OK;
}

norma_status norma_target_read(MPI_Comm comm, const char *where, norma_target **out)
{
    int rank = 0;
    norma_target *target = NULL;
    MPI_Comm_rank(comm, &rank);
    norma_status status = NORMA_CALLOC(target, 1);
    if (status == NORMA_OK && rank == 0)
        status = read_root(where, &target->network);
    NORMA_GOTO(status, norma_agree(comm, status));
    NORMA_GOTO(status, share_description(comm, rank, &target->network));
    NORMA_GOTO(status, share_weights(comm, target));
    *out = target;
    return NORMA_OK;
done:
    norma_target_destroy(&target);
    return status;
}

const norma_network *norma_target_network_local(const norma_target *target)
{
    return target->network;
}

void norma_target_declare_range_local(norma_target *target, double min, double max, bool *declared)
{
    norma_network *network = target->network;
    if (isnan(network->input_min)) {
        network->input_min = min;
        network->input_max = max;
    }
    *declared = network->input_min == min && network->input_max == max;
}

void norma_target_destroy(norma_target **target)
{
    if (!*target)
        return;
    norma_network_destroy(&(*target)->network);
    norma_shared_destroy(&(*target)->shared);
    NORMA_FREE(*target);
}
