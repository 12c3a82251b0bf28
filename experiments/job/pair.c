#include "experiments/job/pair.h"

#include "experiments/job/law_options.h"
#include "io/checkpoint/checkpoint.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/config/config_common.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static norma_status check_shapes(const norma_config *config)
{
    static const char *const random_only[] = {"c-out",  "c-in",        "channels",
                                              "kernel", "target-dist", NULL};
    bool channels = norma_config_has(config, "channels");
    bool both = norma_config_has(config, "c-out") && norma_config_has(config, "c-in");
    bool either = norma_config_has(config, "c-out") || norma_config_has(config, "c-in");
    if (norma_config_has(config, "target"))
        NORMA_TRY(norma_config_refuse_given(
            config, random_only, "describes a layer without a file, but --target names one"));
    if (channels && either)
        return norma_config_refuse(config, "channels",
                                   "stands for both --c-out and --c-in; leave these out");
    if (!norma_config_has(config, "target") && !channels && !both)
        return NORMA_FAIL(NORMA_USAGE,
                          "no shape: give --c-out and --c-in, or --channels, or --target FILE");
    if (!norma_config_has(config, "target") && !norma_config_has(config, "source") &&
        norma_config_is_given(config, "layer"))
        return norma_config_refuse(config, "layer", "needs --target or --source");
    return NORMA_OK;
}

norma_status norma_pair_check_options(const norma_config *config)
{
    static const char *const file_decides[] = {"features",     "excess",           "overparam",
                                               "kernel-split", "keep-probability", NULL};
    static const char *const repeats[] = {"replicas", "replica-offset", NULL};
    static const char *const laws[] = {"source-dist", "target-dist", NULL};
    NORMA_TRY(check_shapes(config));
    if (!norma_config_has(config, "source"))
        return norma_law_options_check(config, laws);
    NORMA_TRY(norma_config_refuse_given(config, file_decides, "the file of --source decides this"));
    if (norma_config_has(config, "target"))
        NORMA_TRY(norma_config_refuse_given(
            config, repeats, "source and target are the same for every replica; leave it out"));
    return NORMA_OK;
}

/* The tensor field of the counters. */
enum { TENSOR_FIRST = 0, TENSOR_SECOND = 1 };

static int64_t channels_of(const norma_config *config, int64_t cell, const char *side)
{
    return norma_config_get_integer(config, cell,
                                    norma_config_has(config, "channels") ? "channels" : side);
}

static norma_kernel_shape kernel_of(const norma_config *config, int64_t cell)
{
    norma_config_shape shape = {1, 1};
    if (norma_config_has(config, "kernel"))
        shape = norma_config_get_shape(config, cell, "kernel");
    return (norma_kernel_shape){shape.height, shape.width};
}

static norma_status read_source(const norma_runtime *runtime, const norma_config *config,
                                norma_pair_inputs *inputs)
{
    const char *path = norma_config_get_text(config, 0, "source");
    norma_network *random = NULL;
    bool *needed = NULL;
    const norma_network *network =
        inputs->target ? norma_target_network_local(inputs->target) : NULL;
    norma_status status = NORMA_OK;
    if (!network)
        status = norma_network_create_single(
            channels_of(config, 0, "c-out"), channels_of(config, 0, "c-in"), kernel_of(config, 0),
            &(norma_activation){.kind = NORMA_ACTIVATION_IDENTITY}, &random);
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    network = network ? network : random;
    NORMA_GOTO(status, norma_agree(runtime->world, NORMA_CALLOC(needed, network->n_layers)));
    needed[inputs->layer] = true;
    status = norma_source_read(runtime->world, path, network, needed, true, false, &inputs->source);
    if (status != NORMA_OK)
        status = norma_status_context(status, "%s: ", norma_config_where(config, "source"));
done:
    norma_network_destroy(&random);
    NORMA_FREE(needed);
    return status;
}

norma_status norma_pair_check_layer(const norma_config *config, const char *option,
                                    const norma_network *network, int64_t number, bool in_groups)
{
    int64_t n_layers = network ? network->n_layers : 1;
    if (number >= n_layers)
        return NORMA_FAIL(norma_config_blame(config, option),
                          "%s: there is no layer %lld: the target has layers 0 to %lld",
                          norma_config_where(config, option), (long long)number,
                          (long long)n_layers - 1);
    const norma_layer *layer = network ? &network->layers[number] : NULL;
    const char *why = layer ? norma_layer_unpaired(layer) : NULL;
    if (layer && !why && layer->groups > 1 && !in_groups)
        why = "its channels are in groups, of which each has a system of its own";
    if (why)
        return NORMA_FAIL(norma_config_blame(config, option),
                          "%s: layer %lld (%s, '%s') cannot be reconstructed: %s",
                          norma_config_where(config, option), (long long)number,
                          norma_layer_kind_name(layer->kind), layer->name, why);
    return NORMA_OK;
}

norma_status norma_pair_inputs_read(const norma_runtime *runtime, const norma_config *config,
                                    norma_pair_inputs *inputs)
{
    const norma_network *network = NULL;
    memset(inputs, 0, sizeof *inputs);
    inputs->layer = norma_config_get_integer(config, 0, "layer");
    if (norma_config_has(config, "target")) {
        norma_status status = norma_target_read(
            runtime->world, norma_config_get_text(config, 0, "target"), &inputs->target);
        if (status != NORMA_OK)
            return norma_status_context(status, "%s: ", norma_config_where(config, "target"));
        network = norma_target_network_local(inputs->target);
    }
    NORMA_TRY(norma_agree(runtime->world,
                          norma_pair_check_layer(config, "layer", network, inputs->layer, false)));
    return norma_config_has(config, "source") ? read_source(runtime, config, inputs) : NORMA_OK;
}

static void append_hash(norma_text *text, const char *key, const double *values, int64_t n)
{
    norma_text_append(text, "  %s: %016" PRIx64 "\n", key,
                      norma_checkpoint_hash_local(values, n * (int64_t)sizeof *values));
}

void norma_pair_fingerprint(const norma_pair_inputs *inputs, norma_text *text)
{
    if (inputs->target)
        norma_text_append(text, "  target_digest: %016" PRIx64 "\n",
                          norma_network_digest(norma_target_network_local(inputs->target)));
    if (!inputs->source)
        return;
    const norma_source_pair *pair = norma_source_pair_local(inputs->source, inputs->layer);
    append_hash(text, "source_w1", pair->w1,
                pair->n_features * pair->n_channels_in * norma_kernel_taps(pair->k1));
    append_hash(text, "source_w2", pair->w2,
                pair->n_features * pair->n_channels_out * norma_kernel_taps(pair->k2));
}

void norma_pair_inputs_clear(norma_pair_inputs *inputs)
{
    norma_source_destroy(&inputs->source);
    norma_target_destroy(&inputs->target);
}

/* c1 from --features, --excess, --overparam, or the rule's minimum. */
static norma_status choose_width(const norma_config *config, int64_t cell, int64_t n_minimum,
                                 int64_t *n_features)
{
    double wanted = (double)n_minimum;
    if (norma_config_has(config, "features"))
        wanted = (double)norma_config_get_integer(config, cell, "features");
    else if (norma_config_has(config, "excess"))
        wanted += (double)norma_config_get_integer(config, cell, "excess");
    else if (norma_config_has(config, "overparam")) /* 10% of 100 are 10: rounding adds none */
        wanted =
            ceil(wanted * (1 + norma_config_get_real(config, cell, "overparam")) * (1 - 1e-15));
    if (wanted < 1)
        return NORMA_FAIL(NORMA_CONFIG, "%.0f features: a source pair needs at least one", wanted);
    if (wanted > 2147483647.0)
        return NORMA_FAIL(NORMA_LIMIT, "%.0f features: at most 2^31 - 1 are supported", wanted);
    *n_features = (int64_t)wanted;
    return NORMA_OK;
}

static norma_status init_shape(const norma_config *config, const norma_pair_inputs *inputs,
                               norma_pair_cell *cell)
{
    norma_khatri_rao_shape *shape = &cell->shape;
    norma_kernel_shape kernel = {1, 1};
    if (inputs->target) {
        const norma_layer *layer =
            &norma_target_network_local(inputs->target)->layers[inputs->layer];
        shape->n_channels_out = layer->n_channels_out;
        shape->n_channels_in = layer->n_channels_in;
        kernel = layer->kernel;
        cell->target_weight = layer->weight;
    } else {
        shape->n_channels_out = channels_of(config, cell->number, "c-out");
        shape->n_channels_in = channels_of(config, cell->number, "c-in");
        kernel = kernel_of(config, cell->number);
    }
    const norma_source_pair *pair = cell->given;
    if (pair && (pair->n_channels_out != shape->n_channels_out ||
                 pair->n_channels_in != shape->n_channels_in)) /* a sweep over channels */
        return NORMA_FAIL(NORMA_CONFIG,
                          "the pair of --source has %lld output and %lld input channels, the "
                          "target %lld and %lld",
                          (long long)pair->n_channels_out, (long long)pair->n_channels_in,
                          (long long)shape->n_channels_out, (long long)shape->n_channels_in);
    if (pair)
        NORMA_TRY(norma_kernel_init(&shape->kernel, pair->k1, pair->k2, kernel));
    else
        NORMA_TRY(norma_kernel_split(
            &shape->kernel, norma_config_get_text(config, cell->number, "kernel-split"), kernel));
    return norma_khatri_rao_check(shape);
}

norma_tensor_spec norma_pair_spec(const norma_pair_cell *cell, norma_tensor_role role)
{
    const norma_khatri_rao_shape *shape = &cell->shape;
    const norma_kernel *kernel = &shape->kernel;
    bool first = role == NORMA_TENSOR_FIRST;
    norma_tensor_spec spec = {
        .distribution = cell->distribution,
        .keep_probability = cell->keep_probability,
        .role = role,
        .seed = cell->seed,
        .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS,
                   .tensor = first ? TENSOR_FIRST : TENSOR_SECOND,
                   .layer = cell->layer,
                   .replica = cell->replica,
                   .cell = cell->stream_cell},
        .n_features = cell->n_features,
        .n_channels = first ? shape->n_channels_in : shape->n_channels_out,
        .n_taps = norma_kernel_taps(first ? kernel->first : kernel->second),
        .pair = {.n_outputs = shape->n_channels_out,
                 .n_inputs = shape->n_channels_in,
                 .first = {kernel->first.height, kernel->first.width},
                 .second = {kernel->second.height, kernel->second.width}},
    };
    if (cell->given)
        spec.values = first ? cell->given->w1 : cell->given->w2;
    return spec;
}

norma_status norma_pair_cell_init(const norma_config *config, const norma_pair_inputs *inputs,
                                  int64_t number, norma_width width, norma_pair_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    cell->number = number;
    cell->seed = norma_config_get_seed(config, number, "seed");
    bool independent =
        norma_config_get_choice(config, 0, "cell-streams") == NORMA_CELL_STREAMS_INDEPENDENT;
    cell->stream_cell = independent ? norma_config_get_cell_number(config, number) : 0;
    cell->first_replica = norma_config_get_integer(config, 0, "replica-offset");
    cell->layer = inputs->layer;
    cell->keep_probability = norma_config_get_real(config, number, "keep-probability");
    cell->distribution = NORMA_DISTRIBUTION_GIVEN;
    if (inputs->source)
        cell->given = norma_source_pair_local(inputs->source, inputs->layer);
    else
        NORMA_TRY(norma_distribution_from_name(norma_config_get_text(config, number, "source-dist"),
                                               &cell->distribution));
    NORMA_TRY(init_shape(config, inputs, cell));
    int64_t n_minimum =
        norma_width_rule_minimum(width, NORMA_RESIDUAL_NONE, &cell->shape, NULL, NULL);
    cell->n_features = cell->given ? cell->given->n_features : 0;
    if (!cell->given)
        NORMA_TRY(choose_width(config, number, n_minimum, &cell->n_features));
    if (cell->target_weight)
        return NORMA_OK;
    cell->target_spec = (norma_tensor_spec){
        .keep_probability = cell->keep_probability,
        .role = NORMA_TENSOR_FIRST,
        .seed = cell->seed,
        .stream = {.purpose = NORMA_RNG_TARGET_WEIGHTS, .cell = cell->stream_cell},
        .n_features = cell->shape.n_channels_out,
        .n_channels = cell->shape.n_channels_in,
        .n_taps = norma_kernel_taps(cell->shape.kernel.target),
    };
    return norma_distribution_from_name(norma_config_get_text(config, number, "target-dist"),
                                        &cell->target_spec.distribution);
}

norma_status norma_pair_cell_draw(norma_pair_cell *cell, int64_t replica)
{
    norma_pair_cell_clear(cell);
    cell->replica = cell->first_replica + replica;
    norma_tensor_spec spec = norma_pair_spec(cell, NORMA_TENSOR_FIRST);
    NORMA_TRY(norma_tensor_create(&spec, &cell->w1));
    spec = norma_pair_spec(cell, NORMA_TENSOR_SECOND);
    return norma_tensor_create(&spec, &cell->w2);
}

norma_status norma_pair_cell_draw_target(norma_pair_cell *cell)
{
    const norma_khatri_rao_shape *shape = &cell->shape;
    int64_t n_pairs = shape->n_channels_out * shape->n_channels_in;
    norma_tensor *tensor = NULL;
    double *drawn = NULL;
    norma_status status = NORMA_ALLOC(cell->target, norma_khatri_rao_n_rows(shape));
    NORMA_GOTO(status, status);
    if (!cell->target_weight) {
        cell->target_spec.stream.replica = cell->replica;
        NORMA_GOTO(status, norma_tensor_create(&cell->target_spec, &tensor));
        NORMA_GOTO(status, NORMA_ALLOC(drawn, n_pairs * cell->target_spec.n_taps));
        norma_tensor_fill(tensor, 0, cell->target_spec.n_features, drawn);
    }
    norma_kernel_embed(&shape->kernel, n_pairs, drawn ? drawn : cell->target_weight, cell->target);
done:
    norma_tensor_destroy(&tensor);
    NORMA_FREE(drawn);
    return status;
}

void norma_pair_cell_clear(norma_pair_cell *cell)
{
    norma_tensor_destroy(&cell->w2);
    norma_tensor_destroy(&cell->w1);
    NORMA_FREE(cell->target);
}
