#include "experiments/reconstruct/skip.h"

#include "experiments/job/sweep_dimensions.h"
#include "experiments/reconstruct/options.h"
#include "src/base/mem.h"

#include <string.h>

static bool is_file(const char *text)
{
    return strpbrk(text, "./") != NULL;
}

static norma_status get_residual(const norma_config *config, int64_t cell, norma_residual *residual)
{
    return norma_residual_from_name(norma_config_get_text(config, cell, "residual"), residual);
}

bool norma_reconstruct_skip_is_used(const norma_config *config)
{
    norma_residual residual = NORMA_RESIDUAL_NONE;
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++)
        if (get_residual(config, i, &residual) == NORMA_OK && residual != NORMA_RESIDUAL_NONE)
            return true;
    return false;
}

norma_status norma_reconstruct_skip_check_options(const norma_config *config)
{
    static const char *const about_skips[] = {"skip", "skip-kernel"};
    bool used = norma_reconstruct_skip_is_used(config);
    for (int i = 0; i < 2; i++) {
        if (!norma_config_has(config, about_skips[i]) ||
            !norma_config_is_given(config, about_skips[i]))
            continue;
        if (!used)
            return NORMA_FAIL(norma_config_blame(config, about_skips[i]),
                              "%s: no cell has skip connections; give --residual inner or outer",
                              norma_config_where(config, about_skips[i]));
        if (norma_config_has(config, "source"))
            return NORMA_FAIL(norma_config_blame(config, about_skips[i]),
                              "%s: the file of --source decides this (its /source/000/Ws, ...)",
                              norma_config_where(config, about_skips[i]));
    }
    const char *skip =
        norma_config_has(config, "skip") ? norma_config_get_text(config, 0, "skip") : "identity";
    bool targets_differ = norma_sweep_dimensions_has(config, "c-out") ||
                          norma_sweep_dimensions_has(config, "c-in") ||
                          norma_sweep_dimensions_has(config, "kernel");
    if (is_file(skip) && targets_differ)
        return NORMA_FAIL(norma_config_blame(config, "skip"),
                          "%s: one file cannot fit targets of different shapes",
                          norma_config_where(config, "skip"));
    if (!norma_config_is_given(config, "skip-kernel"))
        return NORMA_OK;
    if (strcmp(skip, "identity") == 0 || is_file(skip))
        return NORMA_FAIL(norma_config_blame(config, "skip-kernel"),
                          "%s: is for drawn skip connections, and '%s' is none; give --skip a law",
                          norma_config_where(config, "skip-kernel"), skip);
    return NORMA_OK;
}

norma_status norma_reconstruct_skip_read(const norma_runtime *runtime, const norma_config *config,
                                         const norma_network *network, const bool *needed,
                                         norma_reconstruct_inputs *inputs)
{
    const char *path = NULL;
    if (!norma_reconstruct_skip_is_used(config))
        return NORMA_OK;
    if (norma_config_has(config, "source"))
        path = norma_config_get_text(config, 0, "source");
    else if (norma_config_has(config, "skip") && is_file(norma_config_get_text(config, 0, "skip")))
        path = norma_config_get_text(config, 0, "skip");
    if (!path)
        return NORMA_OK;
    norma_status status = norma_skips_read(runtime->world, path, network, needed, &inputs->skips);
    if (status != NORMA_OK)
        return norma_status_context(
            status, "%s: ",
            norma_config_where(config, norma_config_has(config, "source") ? "source" : "skip"));
    return NORMA_OK;
}

norma_status norma_reconstruct_skip_init(const norma_config *config,
                                         const norma_reconstruct_inputs *inputs,
                                         norma_reconstruct_cell *cell)
{
    norma_skip_spec *skip = &cell->skip;
    NORMA_TRY(get_residual(config, cell->number, &cell->residual));
    skip->kind = NORMA_SKIP_IDENTITY;
    skip->keep_probability = cell->keep_probability;
    skip->seed = cell->seed;
    skip->stream = (norma_rng_stream){.purpose = NORMA_RNG_SKIP_WEIGHTS, .cell = cell->stream_cell};
    skip->whole_kernel = strcmp(norma_config_get_text(config, 0, "skip-kernel"),
                                NORMA_RECONSTRUCT_WHOLE_KERNEL) == 0;
    if (inputs->skips) {
        skip->kind = NORMA_SKIP_GIVEN;
        return NORMA_OK;
    }
    if (!norma_config_has(config, "skip") ||
        strcmp(norma_config_get_text(config, 0, "skip"), "identity") == 0)
        return NORMA_OK;
    skip->kind = NORMA_SKIP_DRAWN;
    norma_status status =
        norma_distribution_from_name(norma_config_get_text(config, 0, "skip"), &skip->distribution);
    return norma_status_context(status, "%s: ", norma_config_where(config, "skip"));
}

/* A gamma2 that the activation rescales would rescale an outer skip as well. */
static norma_status check_activation(const norma_reconstruct_cell *cell, int64_t number)
{
    const norma_activation *activation = &cell->layers[number].activation;
    char known[NORMA_ACTIVATION_LIST];
    if (cell->residual != NORMA_RESIDUAL_OUTER || norma_activation_is_homogeneous(activation))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "an outer skip works with %s only: the scale that brings %s into its linear "
                      "region would rescale the skip; use --residual inner",
                      norma_names_join(&norma_activation_homogeneous_names, known, sizeof known),
                      norma_activation_name(activation->kind));
}

norma_status norma_reconstruct_skip_init_layer(norma_reconstruct_cell *cell, int64_t number,
                                               bool shapes_only)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    const norma_layer *target = &cell->network->layers[number];
    if (cell->residual == NORMA_RESIDUAL_NONE)
        return NORMA_OK;
    layer->source_shape.with_skip = true;
    NORMA_TRY(check_activation(cell, number));
    NORMA_TRY(norma_skip_check(&cell->skip, target));
    if (shapes_only)
        return NORMA_OK;
    NORMA_TRY(NORMA_CALLOC(layer->skip, norma_layer_weight_size(target)));
    return NORMA_CALLOC(layer->skip_embedded, norma_khatri_rao_n_rows(&layer->shape));
}

norma_status norma_reconstruct_skip_fill(norma_reconstruct_cell *cell,
                                         const norma_reconstruct_inputs *inputs, int64_t number,
                                         int64_t replica)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    norma_skip_spec spec = cell->skip;
    if (cell->residual == NORMA_RESIDUAL_NONE)
        return NORMA_OK;
    spec.stream.layer = number;
    spec.stream.replica = replica;
    if (inputs->skips)
        spec.values = norma_skips_values_local(inputs->skips, number, &spec.whole_kernel);
    NORMA_TRY(norma_skip_fill(&spec, &cell->network->layers[number], layer->skip));
    norma_kernel_embed(&layer->shape.kernel,
                       layer->shape.n_channels_out * layer->shape.n_channels_in, layer->skip,
                       layer->skip_embedded);
    return NORMA_OK;
}
