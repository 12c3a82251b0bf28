#include "experiments/reconstruct/setup.h"

#include "experiments/job/law_options.h"
#include "experiments/job/sweep_dimensions.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/skip.h"
#include "experiments/reconstruct/solver.h"
#include "experiments/reconstruct/statistics.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The tensor field of the counters. */
enum { TENSOR_FIRST = 0, TENSOR_SECOND = 1, TENSOR_TARGET = 0 };

norma_status norma_reconstruct_check_options(const norma_config *config)
{
    if (!norma_config_has(config, "target") &&
        (!norma_config_has(config, "c-out") || !norma_config_has(config, "c-in")))
        return NORMA_FAIL(NORMA_USAGE, "no target: give --target FILE, or --c-out and --c-in for a "
                                       "random one");
    static const char *const random_only[] = {"c-out", "c-in", "kernel", "target-dist",
                                              "target-per-replica"};
    for (size_t i = 0; i < sizeof random_only / sizeof random_only[0]; i++)
        if (norma_config_has(config, "target") && norma_config_is_given(config, random_only[i]))
            return NORMA_FAIL(norma_config_blame(config, random_only[i]),
                              "%s: describes a random target, but --target names a file",
                              norma_config_where(config, random_only[i]));
    static const char *const file_decides[] = {"features", "excess", "overparam", "kernel-split",
                                               "keep-probability"};
    for (size_t i = 0; i < sizeof file_decides / sizeof file_decides[0]; i++)
        if (norma_config_has(config, "source") && norma_config_is_given(config, file_decides[i]))
            return NORMA_FAIL(norma_config_blame(config, file_decides[i]),
                              "%s: the file of --source decides this",
                              norma_config_where(config, file_decides[i]));
    if (norma_config_has(config, "source") && norma_config_get_integer(config, 0, "replicas") > 1)
        return NORMA_FAIL(norma_config_blame(config, "replicas"),
                          "%s: source weights from a file are the same for every replica; give 1",
                          norma_config_where(config, "replicas"));
    if (norma_config_has(config, "dataset") && !norma_config_has(config, "target"))
        return NORMA_FAIL(norma_config_blame(config, "dataset"),
                          "%s: a random target layer has no images to run on; leave it out",
                          norma_config_where(config, "dataset"));
    if (!norma_config_has(config, "dataset") && norma_config_is_given(config, "samples"))
        return NORMA_FAIL(norma_config_blame(config, "samples"), "%s: needs --dataset",
                          norma_config_where(config, "samples"));
    static const char *const laws[] = {"source-dist", "target-dist", "skip", NULL};
    NORMA_TRY(norma_law_options_check(config, laws));
    NORMA_TRY(norma_reconstruct_skip_check_options(config));
    NORMA_TRY(norma_reconstruct_solver_check_options(config));
    NORMA_TRY(norma_reconstruct_statistics_check_options(config));
    if (!norma_config_has(config, "bound"))
        return NORMA_OK;
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++)
        if (!norma_config_has(config, "dataset") &&
            strcmp(norma_config_get_text(config, i, "bound"), "interval-deep") != 0)
            return NORMA_FAIL(norma_config_blame(config, "bound"),
                              "%s: '%s' is measured on images: give --dataset, or interval-deep",
                              norma_config_where(config, "bound"),
                              norma_config_get_text(config, i, "bound"));
    return NORMA_OK;
}

/* Weights of sources and skips for the layers of a network that are reconstructed. */
static norma_status read_weights(const norma_runtime *runtime, const norma_config *config,
                                 const norma_network *network, norma_reconstruct_inputs *inputs)
{
    bool statistics = norma_config_get_choice(config, 0, "bn-statistics") == NORMA_STATISTICS_FILE;
    int64_t n_listed = norma_config_get_count(config, "layers");
    bool *needed = NULL;
    norma_status status = NORMA_CALLOC(needed, network->n_layers);
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    for (int64_t l = 0; l < network->n_layers; l++)
        needed[l] = n_listed == 0;
    for (int64_t k = 0; k < n_listed; k++)
        if (norma_config_get_integer(config, k, "layers") < network->n_layers)
            needed[norma_config_get_integer(config, k, "layers")] = true;
    if (norma_config_has(config, "source"))
        NORMA_GOTO(status,
                   norma_source_read(runtime->world, norma_config_get_text(config, 0, "source"),
                                     network, needed, norma_reconstruct_skip_is_used(config),
                                     statistics, &inputs->source));
    status = norma_reconstruct_skip_read(runtime, config, network, needed, inputs);
done:
    NORMA_FREE(needed);
    return status;
}

norma_status norma_reconstruct_inputs_read(const norma_runtime *runtime, const norma_config *config,
                                           norma_reconstruct_inputs *inputs)
{
    norma_network *random = NULL;
    norma_config_shape kernel = {1, 1};
    memset(inputs, 0, sizeof *inputs);
    if (norma_config_has(config, "target"))
        NORMA_TRY(norma_target_read(runtime->world, norma_config_get_text(config, 0, "target"),
                                    &inputs->target));
    if (norma_config_has(config, "dataset")) {
        NORMA_TRY(norma_dataset_read(runtime->world, norma_config_get_text(config, 0, "dataset"),
                                     norma_config_get_integer(config, 0, "samples"),
                                     &inputs->dataset));
        NORMA_TRY(norma_images_check(norma_dataset_images_local(inputs->dataset),
                                     norma_target_network_local(inputs->target)));
    }
    if (inputs->target)
        return read_weights(runtime, config, norma_target_network_local(inputs->target), inputs);

    /* A random target of the first cell tells the shapes that the source must have; those of a
     * sweep over targets differ and are checked cell by cell. */
    if (norma_config_has(config, "kernel"))
        kernel = norma_config_get_shape(config, 0, "kernel");
    norma_status status = norma_network_create_single(
        norma_config_get_integer(config, 0, "c-out"), norma_config_get_integer(config, 0, "c-in"),
        (norma_kernel_shape){kernel.height, kernel.width},
        &(norma_activation){.kind = NORMA_ACTIVATION_IDENTITY}, &random);
    status = norma_agree(runtime->world, status);
    if (status == NORMA_OK)
        status = read_weights(runtime, config, random, inputs);
    norma_network_destroy(&random);
    return status;
}

void norma_reconstruct_inputs_clear(norma_reconstruct_inputs *inputs)
{
    norma_skips_destroy(&inputs->skips);
    norma_source_destroy(&inputs->source);
    norma_dataset_destroy(&inputs->dataset);
    norma_target_destroy(&inputs->target);
}

void norma_reconstruct_digest(const norma_reconstruct_inputs *inputs,
                              char digest[NORMA_RECONSTRUCT_DIGEST])
{
    digest[0] = '\0';
    if (inputs->target)
        snprintf(digest, NORMA_RECONSTRUCT_DIGEST, "%016" PRIx64,
                 norma_network_digest(norma_target_network_local(inputs->target)));
}

const norma_images *norma_reconstruct_images(const norma_reconstruct_inputs *inputs)
{
    return inputs->dataset ? norma_dataset_images_local(inputs->dataset) : NULL;
}

/* The weights of a random target for a replica. */
static norma_status fill_target(norma_reconstruct_cell *cell, int64_t replica)
{
    norma_tensor *tensor = NULL;
    cell->target_spec.stream.replica = replica;
    NORMA_TRY(norma_tensor_create(&cell->target_spec, &tensor));
    norma_tensor_fill(tensor, 0, cell->target_spec.n_features, cell->random->layers[0].weight);
    norma_tensor_destroy(&tensor);
    return NORMA_OK;
}

/* A random target: one layer, identity activation. */
static norma_status draw_target(const norma_config *config, bool shapes_only,
                                norma_reconstruct_cell *cell)
{
    norma_config_shape kernel = {1, 1};
    int64_t c2 = norma_config_get_integer(config, cell->number, "c-out");
    int64_t c0 = norma_config_get_integer(config, cell->number, "c-in");
    if (norma_config_has(config, "kernel"))
        kernel = norma_config_get_shape(config, cell->number, "kernel");
    norma_activation identity = {.kind = NORMA_ACTIVATION_IDENTITY};
    NORMA_TRY(norma_network_create_single(c2, c0, (norma_kernel_shape){kernel.height, kernel.width},
                                          &identity, &cell->random));
    cell->target_per_replica = norma_config_get_flag(config, "target-per-replica");
    cell->network = cell->random;
    if (shapes_only)
        return NORMA_OK;
    NORMA_TRY(norma_network_allocate(cell->random));
    cell->target_spec = (norma_tensor_spec){
        .keep_probability = cell->keep_probability,
        .role = NORMA_TENSOR_FIRST,
        .seed = cell->seed,
        .stream = {.purpose = NORMA_RNG_TARGET_WEIGHTS,
                   .tensor = TENSOR_TARGET,
                   .cell = cell->stream_cell},
        .n_features = c2,
        .n_channels = c0,
        .n_taps = kernel.height * kernel.width,
    };
    const char *name = norma_config_get_text(config, cell->number, "target-dist");
    NORMA_TRY(norma_distribution_from_name(name, &cell->target_spec.distribution));
    return fill_target(cell, 0);
}

/* c1 of a layer from --features, --excess, --overparam, or the rule's minimum. */
static norma_status choose_width(const norma_config *config, int64_t cell, int64_t n_minimum,
                                 int64_t *n_features)
{
    double wanted = (double)n_minimum;
    if (norma_config_has(config, "features"))
        wanted = (double)norma_config_get_integer(config, cell, "features");
    else if (norma_config_has(config, "excess"))
        wanted += (double)norma_config_get_integer(config, cell, "excess");
    else if (norma_config_has(config, "overparam")) {
        wanted *= 1 + norma_config_get_real(config, cell, "overparam");
        wanted = ceil(wanted * (1 - 1e-15)); /* 10% of 100 are 10: rounding adds no feature */
    }
    if (wanted < 1)
        return NORMA_FAIL(NORMA_CONFIG, "%.0f features: a source pair needs at least one", wanted);
    if (wanted > 2147483647.0)
        return NORMA_FAIL(NORMA_LIMIT, "%.0f features: at most 2^31 - 1 are supported", wanted);
    *n_features = (int64_t)wanted;
    return NORMA_OK;
}

static norma_status init_kernel(const norma_config *config, const norma_reconstruct_cell *cell,
                                const norma_source_pair *pair, const norma_layer *layer,
                                norma_kernel *kernel)
{
    if (pair)
        return norma_kernel_init(kernel, pair->k1, pair->k2, layer->kernel);
    /* A linear layer has a single pixel: every split of its kernel is 1x1 + 1x1. */
    if (layer->kernel.height == 1 && layer->kernel.width == 1)
        return norma_kernel_split(kernel, "second", layer->kernel);
    return norma_kernel_split(kernel, norma_config_get_text(config, cell->number, "kernel-split"),
                              layer->kernel);
}

/* The target's own, or --activation; a leaky-relu keeps the target's slope where it has one. */
static norma_status init_activation(const norma_config *config, int64_t cell,
                                    const norma_layer *target, norma_activation *activation)
{
    *activation = target->activation;
    if (!norma_config_has(config, "activation"))
        return NORMA_OK;
    NORMA_TRY(
        norma_activation_from_name(norma_config_get_text(config, cell, "activation"), activation));
    if (activation->kind == target->activation.kind)
        *activation = target->activation;
    return NORMA_OK;
}

static norma_status init_layer(const norma_config *config, const norma_reconstruct_inputs *inputs,
                               norma_reconstruct_cell *cell, int64_t number, bool shapes_only)
{
    const norma_layer *target = &cell->network->layers[number];
    norma_reconstruct_layer *layer = &cell->layers[number];
    const norma_source_pair *pair =
        inputs->source ? norma_source_pair_local(inputs->source, number) : NULL;

    if (pair && (pair->n_channels_out != target->n_channels_out ||
                 pair->n_channels_in != target->n_channels_in)) /* a sweep over targets */
        return NORMA_FAIL(NORMA_CONFIG,
                          "the pair of --source has %lld output and %lld input channels, the "
                          "target %lld and %lld",
                          (long long)pair->n_channels_out, (long long)pair->n_channels_in,
                          (long long)target->n_channels_out, (long long)target->n_channels_in);
    NORMA_TRY(init_kernel(config, cell, pair, target, &layer->shape.kernel));
    layer->shape.n_channels_out = target->n_channels_out;
    layer->shape.n_channels_in = target->n_channels_in;
    NORMA_TRY(norma_khatri_rao_check(&layer->shape));
    NORMA_TRY(init_activation(config, cell->number, target, &layer->activation));

    if (!shapes_only) {
        int64_t n_pairs = target->n_channels_out * target->n_channels_in;
        NORMA_TRY(NORMA_ALLOC(layer->embedded,
                              n_pairs * norma_kernel_taps(layer->shape.kernel.composite)));
        norma_kernel_embed(&layer->shape.kernel, n_pairs, target->weight, layer->embedded);
    }
    layer->n_minimum =
        norma_width_rule_minimum(cell->width, cell->residual, &layer->shape,
                                 cell->target_per_replica ? NULL : layer->embedded, NULL);
    if (pair)
        layer->n_features = pair->n_features;
    else
        NORMA_TRY(choose_width(config, cell->number, layer->n_minimum, &layer->n_features));
    NORMA_TRY(norma_source_shape_init(&layer->source_shape, target, &layer->shape.kernel,
                                      layer->n_features));
    return norma_reconstruct_skip_init_layer(cell, number, shapes_only);
}

bool norma_reconstruct_is_exact(const norma_reconstruct_cell *cell)
{
    for (int64_t i = 0; i < cell->n_layers; i++)
        if (cell->layers[i].wanted && !norma_linear_region_is_exact(&cell->layers[i].activation))
            return false;
    return true;
}

/* An epsilon that nothing can use: no sweep over activations brings one that is approximate. */
static norma_status check_epsilon(const norma_config *config, const norma_reconstruct_cell *cell)
{
    if (!norma_config_has(config, "epsilon") || norma_sweep_dimensions_has(config, "activation") ||
        !norma_reconstruct_is_exact(cell))
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, "epsilon"),
                      "%s: every activation of the source is exact; give --activation tanh, "
                      "sigmoid, gelu, silu or softplus, or leave epsilon out",
                      norma_config_where(config, "epsilon"));
}

/* Known before anything is solved. */
static norma_status check_input_range(const norma_config *config,
                                      const norma_reconstruct_cell *cell)
{
    if (cell->bound != NORMA_BOUND_INTERVAL_DEEP ||
        cell->network->input_min <= cell->network->input_max)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: declares no input_min and input_max, the range of its inputs, which "
                      "interval-deep bounds start from: set these root attributes, or give "
                      "--dataset",
                      norma_config_get_text(config, 0, "target"));
}

/* The choices of --store-weights are in the order of norma_store. An orthogonal feature takes the
 * time of many random numbers: such weights are stored always. */
static norma_status set_store(const norma_config *config, int64_t number,
                              norma_reconstruct_cell *cell)
{
    cell->store = (norma_store)norma_config_get_choice(config, number, "store-weights");
    if (norma_law_get(cell->distribution)->source != NORMA_LAW_HAAR)
        return NORMA_OK;
    if (cell->store == NORMA_STORE_NO)
        return NORMA_FAIL(NORMA_USAGE,
                          "%s: no: orthogonal weights depend on each other and are "
                          "stored; use yes or auto",
                          norma_config_where(config, "store-weights"));
    cell->store = NORMA_STORE_YES;
    return NORMA_OK;
}

/* The layers of --layers, or all. */
static norma_status mark_layers(const norma_config *config, norma_reconstruct_cell *cell)
{
    int64_t n_listed = norma_config_get_count(config, "layers");
    for (int64_t i = 0; i < cell->n_layers; i++)
        cell->layers[i].wanted = n_listed == 0;
    for (int64_t k = 0; k < n_listed; k++) {
        int64_t number = norma_config_get_integer(config, k, "layers");
        if (number >= cell->n_layers)
            return NORMA_FAIL(norma_config_blame(config, "layers"),
                              "%s: there is no layer %lld: the target has layers 0 to %lld",
                              norma_config_where(config, "layers"), (long long)number,
                              (long long)cell->n_layers - 1);
        cell->layers[number].wanted = true;
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_cell_init(const norma_config *config,
                                         const norma_reconstruct_inputs *inputs, int64_t number,
                                         bool shapes_only, norma_reconstruct_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    cell->number = number;
    cell->seed = norma_config_get_seed(config, number, "seed");
    bool independent = norma_config_get_choice(config, 0, "cell-streams") != 0;
    cell->stream_cell = independent ? number : 0;
    cell->keep_probability = norma_config_get_real(config, number, "keep-probability");
    cell->distribution = NORMA_DISTRIBUTION_GIVEN;
    if (!inputs->source)
        NORMA_TRY(norma_distribution_from_name(norma_config_get_text(config, number, "source-dist"),
                                               &cell->distribution));
    NORMA_TRY(
        norma_width_from_name(norma_config_get_text(config, number, "width-rule"), &cell->width));
    NORMA_TRY(norma_reconstruct_solver_init(config, cell));
    NORMA_TRY(norma_reconstruct_skip_init(config, inputs, cell));
    NORMA_TRY(set_store(config, number, cell));
    cell->bound = inputs->dataset ? NORMA_BOUND_DATA : NORMA_BOUND_INTERVAL_DEEP;
    if (norma_config_has(config, "bound"))
        NORMA_TRY(
            norma_bound_from_name(norma_config_get_text(config, number, "bound"), &cell->bound));
    cell->statistics = (norma_statistics)norma_config_get_choice(config, 0, "bn-statistics");
    cell->bn_eps = norma_config_get_real(config, 0, "bn-eps");
    cell->single =
        strcmp(norma_config_get_text(config, number, "precision"), NORMA_RECONSTRUCT_SINGLE) == 0;
    cell->accuracy.epsilon = NAN;
    cell->accuracy.roundoff = cell->single ? (double)FLT_EPSILON / 2 : DBL_EPSILON / 2;
    if (norma_config_has(config, "epsilon"))
        cell->accuracy.epsilon = norma_config_get_real(config, number, "epsilon");
    if (inputs->target)
        cell->network = norma_target_network_local(inputs->target);
    else
        NORMA_TRY(draw_target(config, shapes_only, cell));
    NORMA_TRY(check_input_range(config, cell));

    NORMA_TRY(NORMA_CALLOC(cell->layers, cell->network->n_layers));
    cell->n_layers = cell->network->n_layers;
    NORMA_TRY(mark_layers(config, cell));
    for (int64_t i = 0; i < cell->n_layers; i++) {
        if (!cell->layers[i].wanted)
            continue;
        norma_status status = init_layer(config, inputs, cell, i, shapes_only);
        if (status != NORMA_OK)
            return norma_status_context(status, "layer %lld: ", (long long)i);
    }
    return check_epsilon(config, cell);
}

norma_status norma_reconstruct_pair_init(norma_reconstruct_cell *cell,
                                         const norma_reconstruct_inputs *inputs, int64_t number,
                                         int64_t replica)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    norma_tensor_spec spec = {
        .distribution = cell->distribution,
        .keep_probability = cell->keep_probability,
        .seed = cell->seed,
        .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS,
                   .layer = number,
                   .replica = replica,
                   .cell = cell->stream_cell},
        .n_features = layer->n_features,
        .pair = {.n_outputs = layer->shape.n_channels_out,
                 .n_inputs = layer->shape.n_channels_in,
                 .first = {layer->shape.kernel.first.height, layer->shape.kernel.first.width},
                 .second = {layer->shape.kernel.second.height, layer->shape.kernel.second.width}},
    };
    const norma_source_pair *pair =
        inputs->source ? norma_source_pair_local(inputs->source, number) : NULL;
    norma_tensor_destroy(&layer->w1);
    norma_tensor_destroy(&layer->w2);

    spec.role = NORMA_TENSOR_FIRST;
    spec.stream.tensor = TENSOR_FIRST;
    spec.n_channels = layer->shape.n_channels_in;
    spec.n_taps = norma_kernel_taps(layer->shape.kernel.first);
    spec.values = pair ? pair->w1 : NULL;
    NORMA_TRY(norma_tensor_create(&spec, &layer->w1));

    spec.role = NORMA_TENSOR_SECOND;
    spec.stream.tensor = TENSOR_SECOND;
    spec.n_channels = layer->shape.n_channels_out;
    spec.n_taps = norma_kernel_taps(layer->shape.kernel.second);
    spec.values = pair ? pair->w2 : NULL;
    NORMA_TRY(norma_tensor_create(&spec, &layer->w2));
    if (cell->target_per_replica) {
        const norma_layer *target = &cell->network->layers[number];
        NORMA_TRY(fill_target(cell, replica));
        norma_kernel_embed(&layer->shape.kernel, target->n_channels_out * target->n_channels_in,
                           target->weight, layer->embedded);
    }
    return norma_reconstruct_skip_fill(cell, inputs, number, replica);
}

norma_layer_problem norma_reconstruct_problem(const norma_reconstruct_cell *cell, int64_t number)
{
    const norma_reconstruct_layer *layer = &cell->layers[number];
    return (norma_layer_problem){
        .shape = layer->shape,
        .n_features = layer->n_features,
        .width = cell->width,
        .target = layer->embedded,
        .w1 = layer->w1,
        .w2 = layer->w2,
        .residual = cell->residual,
        .skip = layer->skip_embedded,
    };
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

void norma_reconstruct_cell_clear(norma_reconstruct_cell *cell)
{
    for (int64_t i = 0; cell->layers && i < cell->n_layers; i++) {
        norma_reconstruct_layer *layer = &cell->layers[i];
        norma_maps_destroy(&layer->maps);
        norma_tensor_destroy(&layer->w2);
        norma_tensor_destroy(&layer->w1);
        NORMA_FREE(layer->embedded);
        NORMA_FREE(layer->skip);
        NORMA_FREE(layer->skip_embedded);
        NORMA_FREE(layer->measured);
    }
    NORMA_FREE(cell->layers);
    norma_network_destroy(&cell->random);
    memset(cell, 0, sizeof *cell);
}
