/* A cell of the sweep: shapes, widths and target weights of its layers. */
#include "experiments/job/sweep_dimensions.h"
#include "experiments/reconstruct/construct/alignment.h"
#include "experiments/reconstruct/construct/layers.h"
#include "experiments/reconstruct/construct/systems.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/setup.h"
#include "experiments/reconstruct/skip.h"
#include "experiments/reconstruct/solver.h"
#include "experiments/reconstruct/statistics.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The tensor field of the counters of a random target. */
enum { TENSOR_TARGET = 0 };

/* A random target: one layer, identity activation; or a teacher. */
static norma_status draw_target(const norma_config *config, const norma_reconstruct_inputs *inputs,
                                bool shapes_only, norma_reconstruct_cell *cell)
{
    norma_config_shape kernel = {1, 1};
    if (norma_reconstruct_teacher_wanted(config))
        return norma_reconstruct_teacher_init(config, inputs, shapes_only, cell);
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
    return norma_reconstruct_fill_target(cell, 0);
}

norma_status norma_reconstruct_choose_width(const norma_config *config, int64_t cell,
                                            int64_t n_minimum, int64_t *n_features)
{
    double wanted = (double)n_minimum;
    if (norma_config_has(config, "features"))
        wanted = (double)norma_config_get_integer(config, cell, "features");
    else if (norma_config_has(config, "excess"))
        wanted += (double)norma_config_get_integer(config, cell, "excess");
    else if (norma_config_has(config, "overparam")) {
        double overparam = norma_config_get_real(config, cell, "overparam");
        wanted = norma_width_rule_overparametrized(n_minimum, overparam);
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

    layer->groups = target->groups;
    if (pair && (pair->n_channels_out != target->n_channels_out ||
                 pair->n_channels_in != target->n_channels_in)) /* a sweep over targets */
        return NORMA_FAIL(NORMA_CONFIG,
                          "the pair of --source has %lld output and %lld input channels, the "
                          "target %lld and %lld",
                          (long long)pair->n_channels_out, (long long)pair->n_channels_in,
                          (long long)target->n_channels_out, (long long)target->n_channels_in);
    NORMA_TRY(init_kernel(config, cell, pair, target, &layer->shape.kernel));
    layer->shape.n_channels_out = target->n_channels_out / layer->groups;
    layer->shape.n_channels_in = target->n_channels_in / layer->groups;
    NORMA_TRY(norma_khatri_rao_check(&layer->shape));
    NORMA_TRY(init_activation(config, cell->number, target, &layer->activation));

    if (!shapes_only) {
        int64_t n_pairs = target->n_channels_out * layer->shape.n_channels_in;
        NORMA_TRY(NORMA_ALLOC(layer->embedded,
                              n_pairs * norma_kernel_taps(layer->shape.kernel.composite)));
        norma_kernel_embed(&layer->shape.kernel, n_pairs, target->weight, layer->embedded);
    }
    /* Groups have equally many features: as many as one without a zero channel needs. */
    bool any = cell->target_per_replica || layer->groups > 1;
    layer->n_minimum = norma_width_rule_minimum(cell->width, cell->residual, &layer->shape,
                                                any ? NULL : layer->embedded, NULL);
    if (pair && norma_config_has(config, "features") &&
        norma_config_get_integer(config, cell->number, "features") != pair->n_features)
        return NORMA_FAIL(norma_config_blame(config, "features"),
                          "%s: %lld, but the pair of --source has %lld features",
                          norma_config_where(config, "features"),
                          (long long)norma_config_get_integer(config, cell->number, "features"),
                          (long long)pair->n_features);
    if (pair)
        layer->n_features = pair->n_features;
    else
        NORMA_TRY(norma_reconstruct_choose_width(config, cell->number, layer->n_minimum,
                                                 &layer->n_features));
    if (!pair)
        NORMA_TRY(norma_index_multiply(layer->n_features, layer->groups, "features of all groups",
                                       &layer->n_features));
    layer->n_minimum *= layer->groups;
    NORMA_TRY(norma_reconstruct_systems_check(config, cell, number));
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
    char curved[NORMA_ACTIVATION_LIST];
    if (!norma_config_has(config, "epsilon") || norma_sweep_dimensions_has(config, "activation") ||
        !norma_reconstruct_is_exact(cell))
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, "epsilon"),
                      "%s: every activation of the source is exact; leave epsilon out, which is "
                      "for %s",
                      norma_config_where(config, "epsilon"),
                      norma_names_join(&norma_activation_curved_names, curved, sizeof curved));
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
                      "interval-deep bounds start from: give --input-range MIN,MAX, set these root "
                      "attributes, or give --dataset",
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

norma_status norma_reconstruct_cell_init(const norma_config *config,
                                         const norma_reconstruct_inputs *inputs, int64_t number,
                                         bool shapes_only, norma_reconstruct_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    cell->number = number;
    cell->seed = norma_config_get_seed(config, number, "seed");
    bool independent = norma_config_get_choice(config, 0, "cell-streams") != 0;
    cell->stream_cell = independent ? norma_config_get_cell_number(config, number) : 0;
    cell->first_replica = norma_config_get_integer(config, 0, "replica-offset");
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
    cell->bound =
        norma_reconstruct_has_images(config, inputs) ? NORMA_BOUND_DATA : NORMA_BOUND_INTERVAL_DEEP;
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
    if (inputs->factored)
        cell->network = inputs->factored;
    else if (inputs->target)
        cell->network = norma_target_network_local(inputs->target);
    else
        NORMA_TRY(draw_target(config, inputs, shapes_only, cell));
    NORMA_TRY(check_input_range(config, cell));

    NORMA_TRY(NORMA_CALLOC(cell->layers, cell->network->n_layers));
    cell->n_layers = cell->network->n_layers;
    NORMA_TRY(norma_reconstruct_layers_check(config, cell->network));
    for (int64_t i = 0; i < cell->n_layers; i++) {
        cell->layers[i].wanted = norma_reconstruct_layers_take(config, cell->network, i);
        if (!cell->layers[i].wanted)
            continue;
        norma_status status = init_layer(config, inputs, cell, i, shapes_only);
        if (status != NORMA_OK)
            return norma_status_context(status, "layer %lld: ", (long long)i);
    }
    NORMA_TRY(check_epsilon(config, cell));
    return norma_reconstruct_alignment_init(config, shapes_only, cell);
}

norma_status norma_reconstruct_in_cell(const norma_config *config, int64_t cell,
                                       norma_status status)
{
    norma_text where;
    if (status == NORMA_OK || status == NORMA_STOPPED)
        return status;
    norma_text_init(&where);
    norma_config_describe_cell(config, cell, &where);
    if (where.data)
        status = norma_status_context(status, "%s: ", where.data);
    norma_text_clear(&where);
    return status;
}

void norma_reconstruct_cell_clear(norma_reconstruct_cell *cell)
{
    norma_reconstruct_alignment_clear(cell);
    for (int64_t i = 0; cell->layers && i < cell->n_layers; i++) {
        norma_reconstruct_layer *layer = &cell->layers[i];
        norma_maps_destroy(&layer->maps);
        norma_tensor_destroy(&layer->w2);
        norma_tensor_destroy(&layer->w1);
        NORMA_FREE(layer->embedded);
        NORMA_FREE(layer->skip);
        NORMA_FREE(layer->skip_embedded);
        NORMA_FREE(layer->measured);
        NORMA_FREE(layer->values);
    }
    NORMA_FREE(cell->layers);
    norma_network_destroy(&cell->student);
    norma_network_destroy(&cell->random);
    memset(cell, 0, sizeof *cell);
}
