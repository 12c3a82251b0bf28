#include "experiments/chain/input.h"

#include "io/hdf5/h5_input.h"
#include "io/input/array.h"
#include "io/input/dataset.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/network/images.h"

#include <math.h>
#include <string.h>

/* One of the drawn kinds, not a file or a data set? What is none of them counts as drawn, for the
 * message that lists the kinds. */
static bool is_drawn(const char *text)
{
    static const char *const names[] = {"fashion-mnist", "cifar-10", "cifar-100"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0)
            return false;
    return !strchr(text, '.') && !strchr(text, '/');
}

/* Does the file hold /H0, rather than images: HDF5 by its content, or by its name where it is not
 * there? */
static bool holds_array_root(const char *name)
{
    const char *ending = strrchr(name, '.');
    return norma_h5_input_is_hdf5_root(name) ||
           (ending && (strcmp(ending, ".h5") == 0 || strcmp(ending, ".hdf5") == 0));
}

static bool is_drawn_in_cell(const norma_chain_setup *setup, int64_t cell)
{
    return is_drawn(norma_config_get_text(setup->config, cell, "input"));
}

/* The run's only file or data set, NULL without one. */
static norma_status find_source(const norma_chain_setup *setup, const char **name)
{
    *name = NULL;
    for (int64_t i = 0; i < setup->n_cells; i++) {
        const char *text = norma_config_get_text(setup->config, i, "input");
        if (is_drawn(text))
            continue;
        if (*name && strcmp(*name, text) != 0)
            return NORMA_FAIL(NORMA_CONFIG, "%s: a run takes one input file or data set",
                              norma_config_where(setup->config, "input"));
        *name = text;
    }
    return NORMA_OK;
}

/* Images of the largest batch. */
static int64_t most_images(const norma_chain_setup *setup, int64_t n_pixels)
{
    const norma_config *config = setup->config;
    int64_t most = 1;
    if (!norma_config_has(config, "batch"))
        return n_pixels;
    for (int64_t i = 0; i < setup->n_cells; i++)
        if (!is_drawn_in_cell(setup, i))
            most = norma_config_get_integer(config, i, "batch") > most
                       ? norma_config_get_integer(config, i, "batch")
                       : most;
    return most;
}

/* The first images as columns. */
static norma_status read_images(const norma_runtime *runtime, norma_chain_setup *setup,
                                const char *name)
{
    const norma_config *config = setup->config;
    norma_dataset *dataset = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_dataset_read_images(runtime->world, name, 1, &dataset));
    int64_t n_pixels = norma_shape_size(norma_dataset_images_local(dataset)->shape);
    norma_dataset_destroy(&dataset);
    int64_t n = most_images(setup, n_pixels);
    NORMA_GOTO(status, norma_dataset_read_images(runtime->world, name, n, &dataset));
    status = NORMA_ALLOC(setup->h0, n_pixels * n);
    const norma_images *images = norma_dataset_images_local(dataset);
    const char *type = norma_dataset_type_local(dataset);
    double scale = norma_config_has(config, "input-scale")
                       ? norma_config_get_real(config, 0, "input-scale")
                   : images->pixels ? 1.0 / 255
                                    : 1;
    if (status == NORMA_OK)
        norma_images_load_columns(images, scale, norma_config_get_real(config, 0, "input-offset"),
                                  setup->h0);
    status = norma_agree(runtime->world, status);
    if (norma_config_has(config, "input-scale"))
        norma_log_info("input: %s, stored as %s, times %g as given", name, type, scale);
    else
        norma_log_info("input: %s, stored as %s: %s", name, type,
                       images->pixels ? "pixels of a byte, times 1/255"
                                      : "numbers, taken as they are");
    setup->from_images = true;
    setup->h0_extents[0] = n_pixels;
    setup->h0_extents[1] = n;
done:
    norma_dataset_destroy(&dataset);
    return status;
}

static norma_status read_weights(const norma_runtime *runtime, norma_chain_setup *setup)
{
    const char *path = norma_config_get_text(setup->config, 0, "weights");
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    norma_status status = norma_array_read(runtime->world, path, "/W", 3, extents, &setup->weights);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: ", norma_config_where(setup->config, "weights"));
    memcpy(setup->weights_extents, extents, sizeof setup->weights_extents);
    if (extents[1] != extents[2])
        return NORMA_FAIL(NORMA_CONFIG, "%s: /W is [L, %lld, %lld], not [L, d, d]", path,
                          (long long)extents[1], (long long)extents[2]);
    return NORMA_OK;
}

norma_status norma_chain_input_read(const norma_runtime *runtime, norma_chain_setup *setup)
{
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    const char *name = NULL;
    NORMA_TRY(find_source(setup, &name));
    bool images =
        name && !norma_agree_any(runtime->world, runtime->rank == 0 && holds_array_root(name));
    static const char *const of_images[] = {"input-scale", "input-offset"};
    for (int i = 0; i < 2 && !images; i++)
        if (norma_config_is_given(setup->config, of_images[i]))
            return NORMA_FAIL(norma_config_blame(setup->config, of_images[i]),
                              "%s: only for --input of a data set",
                              norma_config_where(setup->config, of_images[i]));
    norma_status status = NORMA_OK;
    if (images)
        status = read_images(runtime, setup, name);
    else if (name)
        status = norma_array_read(runtime->world, name, "/H0", 2, extents, &setup->h0);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: ", norma_config_where(setup->config, "input"));
    if (name && !images) {
        memcpy(setup->h0_extents, extents, sizeof setup->h0_extents);
    }
    return norma_config_has(setup->config, "weights") ? read_weights(runtime, setup) : NORMA_OK;
}

norma_status norma_chain_input_settle_sizes(const norma_chain_setup *setup, int64_t i,
                                            int64_t *width, int64_t *batch)
{
    const norma_config *config = setup->config;
    bool from_file = !is_drawn_in_cell(setup, i);
    const char *what = setup->from_images ? "an image" : "/H0";
    *width = norma_config_get_integer(config, i, "width");
    *batch = norma_config_has(config, "batch") ? norma_config_get_integer(config, i, "batch") : 0;
    int64_t found = from_file ? setup->h0_extents[0] : 0;
    if (setup->weights)
        found = setup->weights_extents[1];
    if (from_file && setup->weights && setup->h0_extents[0] != found)
        return NORMA_FAIL(NORMA_CONFIG, "%s has %lld %s, /W is for a width of %lld", what,
                          (long long)setup->h0_extents[0], setup->from_images ? "pixels" : "rows",
                          (long long)found);
    if (found && norma_config_is_given(config, "width") && *width != found)
        return NORMA_FAIL(norma_config_blame(config, "width"), "%s: %lld, but %s has %lld",
                          norma_config_where(config, "width"), (long long)*width,
                          from_file && setup->from_images ? "an image" : "the file",
                          (long long)found);
    *width = found ? found : *width;
    if (from_file && setup->from_images)
        return NORMA_OK; /* as many images as asked for were read */
    if (from_file && *batch && *batch != setup->h0_extents[1])
        return NORMA_FAIL(norma_config_blame(config, "batch"), "%s: %lld, but /H0 has %lld columns",
                          norma_config_where(config, "batch"), (long long)*batch,
                          (long long)setup->h0_extents[1]);
    *batch = from_file ? setup->h0_extents[1] : *batch;
    return NORMA_OK;
}

norma_status norma_chain_input_make(const norma_chain_setup *setup, norma_chain_cell *cell)
{
    const norma_config *config = setup->config;
    int64_t i = cell->number;
    norma_chain_input input = {.epsilon = NAN};
    if (norma_config_has(config, "input-epsilon"))
        input.epsilon = norma_config_get_real(config, i, "input-epsilon");
    if (norma_config_has(config, "input-distinct"))
        input.n_distinct = norma_config_get_integer(config, i, "input-distinct");
    if (is_drawn_in_cell(setup, i)) {
        NORMA_TRY(norma_chain_input_parse(norma_config_get_text(config, i, "input"), &input.kind));
    } else {
        input.kind = NORMA_CHAIN_INPUT_GIVEN;
        input.values = setup->h0;
        input.rows = setup->h0_extents[0];
        input.columns = setup->from_images ? cell->spec.batch : setup->h0_extents[1];
        input.row_length = setup->h0_extents[1];
    }
    cell->input = input;
    return norma_chain_input_finish(&cell->input, cell->spec.width, cell->spec.batch);
}
