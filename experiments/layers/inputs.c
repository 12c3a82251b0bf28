#include "experiments/layers/inputs.h"

#include "io/checkpoint/checkpoint.h"
#include "io/hdf5/h5_input.h"
#include "io/input/array.h"
#include "io/input/dataset.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/network/images.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Does the text name a data set, a path, or a file or folder that rank 0 finds? Else it is a drawn
 * kind, or unknown, which counts as one for the message that lists the kinds. Collective. */
static bool names_source(const norma_runtime *runtime, const char *text)
{
    norma_chain_input_kind kind = NORMA_CHAIN_INPUT_GIVEN;
    if (norma_dataset_is_named_local(text) || strchr(text, '.') || strchr(text, '/'))
        return true;
    if (norma_chain_input_parse(text, &kind) == NORMA_OK)
        return false;
    norma_status_clear();
    return norma_agree_any(runtime->world, runtime->rank == 0 && access(text, F_OK) == 0);
}

/* Does the file hold /H0, rather than images: HDF5 by its content, or by its name where it is not
 * there? */
static bool holds_array_root(const char *name)
{
    const char *ending = strrchr(name, '.');
    return norma_h5_input_is_hdf5_root(name) ||
           (ending && (strcmp(ending, ".h5") == 0 || strcmp(ending, ".hdf5") == 0));
}

static bool is_drawn_in_cell(const norma_layer_inputs *inputs, int64_t cell)
{
    return !inputs->source ||
           strcmp(inputs->source, norma_config_get_text(inputs->config, cell, "input")) != 0;
}

/* Finds the run's only file or data set. Collective. */
static norma_status find_source(const norma_runtime *runtime, norma_layer_inputs *inputs)
{
    for (int64_t i = 0; i < inputs->n_cells; i++) {
        const char *text = norma_config_get_text(inputs->config, i, "input");
        if ((inputs->source && strcmp(inputs->source, text) == 0) || !names_source(runtime, text))
            continue;
        if (inputs->source)
            return NORMA_FAIL(NORMA_CONFIG, "%s: a run takes one input file or data set",
                              norma_config_where(inputs->config, "input"));
        inputs->source = text;
    }
    return NORMA_OK;
}

/* Images of the largest batch. */
static int64_t most_images(const norma_layer_inputs *inputs, int64_t n_pixels)
{
    const norma_config *config = inputs->config;
    int64_t most = 1;
    if (!norma_config_has(config, "batch"))
        return n_pixels;
    for (int64_t i = 0; i < inputs->n_cells; i++)
        if (!is_drawn_in_cell(inputs, i))
            most = norma_config_get_integer(config, i, "batch") > most
                       ? norma_config_get_integer(config, i, "batch")
                       : most;
    return most;
}

/* The first images as columns. */
static norma_status read_images(const norma_runtime *runtime, norma_layer_inputs *inputs,
                                const char *name)
{
    const norma_config *config = inputs->config;
    const bool labels =
        norma_config_knows(config, "labels") && norma_config_get_choice(config, 0, "labels") == 1;
    norma_dataset *dataset = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_dataset_read_images(runtime->world, name, 1, &dataset));
    int64_t n_pixels = norma_shape_size(norma_dataset_images_local(dataset)->shape);
    norma_dataset_destroy(&dataset);
    int64_t n = most_images(inputs, n_pixels);
    NORMA_GOTO(status, labels ? norma_dataset_read(runtime->world, name, n, &dataset)
                              : norma_dataset_read_images(runtime->world, name, n, &dataset));
    status = NORMA_ALLOC(inputs->h0, n_pixels * n);
    const norma_images *images = norma_dataset_images_local(dataset);
    const char *type = norma_dataset_type_local(dataset);
    double scale = norma_config_has(config, "input-scale")
                       ? norma_config_get_real(config, 0, "input-scale")
                   : images->pixels ? 1.0 / 255
                                    : 1;
    if (status == NORMA_OK)
        norma_images_load_columns(images, scale, norma_config_get_real(config, 0, "input-offset"),
                                  inputs->h0);
    if (status == NORMA_OK && labels && images->labels) {
        status = NORMA_ALLOC(inputs->labels, n);
        if (status == NORMA_OK)
            memcpy(inputs->labels, images->labels, (size_t)n * sizeof *inputs->labels);
    }
    status = norma_agree(runtime->world, status);
    if (norma_config_has(config, "input-scale"))
        norma_log_info("input: %s, stored as %s, times %g as given", name, type, scale);
    else
        norma_log_info("input: %s, stored as %s: %s", name, type,
                       images->pixels ? "pixels of a byte, times 1/255"
                                      : "numbers, taken as they are");
    inputs->from_images = true;
    inputs->h0_extents[0] = n_pixels;
    inputs->h0_extents[1] = n;
done:
    norma_dataset_destroy(&dataset);
    return status;
}

static norma_status read_weights(const norma_runtime *runtime, norma_layer_inputs *inputs)
{
    const char *path = norma_config_get_text(inputs->config, 0, "weights");
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    norma_status status =
        norma_array_read(runtime->world, path, "/W", 3, extents, &inputs->weights);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: ", norma_config_where(inputs->config, "weights"));
    memcpy(inputs->weights_extents, extents, sizeof inputs->weights_extents);
    if (extents[1] != extents[2])
        return NORMA_FAIL(NORMA_CONFIG, "%s: /W is [L, %lld, %lld], not [L, d, d]", path,
                          (long long)extents[1], (long long)extents[2]);
    return NORMA_OK;
}

norma_status norma_layer_inputs_read(const norma_runtime *runtime, const norma_config *config,
                                     norma_layer_inputs *inputs)
{
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    memset(inputs, 0, sizeof *inputs);
    inputs->config = config;
    inputs->n_cells = norma_config_get_sweep(config)->n_cells;
    NORMA_TRY(find_source(runtime, inputs));
    const char *name = inputs->source;
    bool images =
        name && !norma_agree_any(runtime->world, runtime->rank == 0 && holds_array_root(name));
    static const char *const of_images[] = {"input-scale", "input-offset"};
    for (int i = 0; i < 2 && !images; i++)
        if (norma_config_is_given(inputs->config, of_images[i]))
            return NORMA_FAIL(norma_config_blame(inputs->config, of_images[i]),
                              "%s: only for --input of a data set",
                              norma_config_where(inputs->config, of_images[i]));
    norma_status status = NORMA_OK;
    if (images)
        status = read_images(runtime, inputs, name);
    else if (name)
        status = norma_array_read(runtime->world, name, "/H0", 2, extents, &inputs->h0);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: ", norma_config_where(inputs->config, "input"));
    if (name && !images) {
        memcpy(inputs->h0_extents, extents, sizeof inputs->h0_extents);
    }
    return norma_config_has(inputs->config, "weights") ? read_weights(runtime, inputs) : NORMA_OK;
}

norma_status norma_layer_inputs_settle_sizes(const norma_layer_inputs *inputs, int64_t i,
                                             int64_t *width, int64_t *batch)
{
    const norma_config *config = inputs->config;
    bool from_file = !is_drawn_in_cell(inputs, i);
    const char *what = inputs->from_images ? "an image" : "/H0";
    *width = norma_config_get_integer(config, i, "width");
    *batch = norma_config_has(config, "batch") ? norma_config_get_integer(config, i, "batch") : 0;
    int64_t found = from_file ? inputs->h0_extents[0] : 0;
    if (inputs->weights)
        found = inputs->weights_extents[1];
    if (from_file && inputs->weights && inputs->h0_extents[0] != found)
        return NORMA_FAIL(NORMA_CONFIG, "%s has %lld %s, /W is for a width of %lld", what,
                          (long long)inputs->h0_extents[0], inputs->from_images ? "pixels" : "rows",
                          (long long)found);
    if (found && norma_config_is_given(config, "width") && *width != found)
        return NORMA_FAIL(norma_config_blame(config, "width"), "%s: %lld, but %s has %lld",
                          norma_config_where(config, "width"), (long long)*width,
                          from_file && inputs->from_images ? "an image" : "the file",
                          (long long)found);
    *width = found ? found : *width;
    if (from_file && inputs->from_images)
        return NORMA_OK; /* as many images as asked for were read */
    if (from_file && *batch && *batch != inputs->h0_extents[1])
        return NORMA_FAIL(norma_config_blame(config, "batch"), "%s: %lld, but /H0 has %lld columns",
                          norma_config_where(config, "batch"), (long long)*batch,
                          (long long)inputs->h0_extents[1]);
    *batch = from_file ? inputs->h0_extents[1] : *batch;
    return NORMA_OK;
}

norma_status norma_layer_inputs_make(const norma_layer_inputs *inputs, int64_t i,
                                     const norma_chain_spec *spec, norma_chain_input *out)
{
    const norma_config *config = inputs->config;
    norma_chain_input input = {.epsilon = NAN};
    if (norma_config_has(config, "input-epsilon"))
        input.epsilon = norma_config_get_real(config, i, "input-epsilon");
    if (norma_config_has(config, "input-distinct"))
        input.n_distinct = norma_config_get_integer(config, i, "input-distinct");
    if (is_drawn_in_cell(inputs, i)) {
        NORMA_TRY(norma_chain_input_parse(norma_config_get_text(config, i, "input"), &input.kind));
    } else {
        input.kind = NORMA_CHAIN_INPUT_GIVEN;
        input.values = inputs->h0;
        input.rows = inputs->h0_extents[0];
        input.columns = inputs->from_images ? spec->batch : inputs->h0_extents[1];
        input.row_length = inputs->h0_extents[1];
    }
    *out = input;
    return norma_chain_input_finish(out, spec->width, spec->batch);
}

norma_status norma_layer_inputs_check_depth(const norma_layer_inputs *inputs, int64_t depth)
{
    if (!inputs->weights || depth <= inputs->weights_extents[0])
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(inputs->config, "depth"),
                      "%s: %lld layers, but /W has weights of %lld",
                      norma_config_where(inputs->config, "depth"), (long long)depth,
                      (long long)inputs->weights_extents[0]);
}

void norma_layer_inputs_fingerprint(const norma_layer_inputs *inputs, norma_text *text)
{
    const int64_t *w = inputs->weights_extents;
    const int64_t *h = inputs->h0_extents;
    if (inputs->weights)
        norma_text_append(text, "  content-of-weights: %016llx\n",
                          (unsigned long long)norma_checkpoint_hash_local(
                              inputs->weights, w[0] * w[1] * w[2] * (int64_t)sizeof(double)));
    if (inputs->h0)
        norma_text_append(text, "  content-of-input: %016llx\n",
                          (unsigned long long)norma_checkpoint_hash_local(
                              inputs->h0, h[0] * h[1] * (int64_t)sizeof(double)));
}

void norma_layer_inputs_clear(norma_layer_inputs *inputs)
{
    NORMA_FREE(inputs->weights);
    NORMA_FREE(inputs->h0);
    NORMA_FREE(inputs->labels);
}
