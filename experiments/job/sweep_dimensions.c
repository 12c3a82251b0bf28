#include "experiments/job/sweep_dimensions.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/config/config_common.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 127, TEXT_LENGTH = 160 };

static const norma_option *find_option(const norma_config *config, const char *name)
{
    const norma_option *const *tables = norma_config_get_command(config)->tables;
    for (; *tables; tables++)
        for (const norma_option *option = *tables; option->name; option++)
            if (strcmp(option->name, name) == 0)
                return option;
    return NULL;
}

static norma_status add_numbers(MPI_Comm world, const norma_config *config, norma_result *file,
                                const norma_sweep_axis *axis, const norma_option *option,
                                norma_dimension dimension)
{
    double *reals = NULL;
    int64_t *integers = NULL;
    norma_status status = NORMA_OK;
    bool real = option->type == NORMA_OPTION_REAL || option->type == NORMA_OPTION_DURATION;
    status = NORMA_ALLOC(reals, axis->n);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(integers, axis->n);
    NORMA_GOTO(status, norma_agree(world, status));
    for (int64_t i = 0; i < axis->n; i++) {
        int64_t cell = i * axis->stride;
        if (option->type == NORMA_OPTION_REAL)
            reals[i] = norma_config_get_real(config, cell, axis->name);
        else if (option->type == NORMA_OPTION_DURATION)
            reals[i] = norma_config_get_seconds(config, cell, axis->name);
        else
            integers[i] = norma_config_get_integer(config, cell, axis->name);
    }
    dimension.type = real ? NORMA_FLOAT64 : NORMA_INT64;
    dimension.values = real ? (const void *)reals : (const void *)integers;
    status = norma_schema_add_dimension(file, "/", &dimension);
done:
    NORMA_FREE(integers);
    NORMA_FREE(reals);
    return status;
}

/* Names, texts, shapes and seeds: a list of names. */
static norma_status add_names(const norma_config *config, norma_result *file,
                              const norma_sweep_axis *axis, const norma_option *option,
                              norma_dimension dimension)
{
    char texts[MOST_NAMES][TEXT_LENGTH];
    const char *names[MOST_NAMES];
    int8_t numbers[MOST_NAMES];
    if (axis->n > MOST_NAMES)
        return NORMA_FAIL(NORMA_LIMIT, "--%s: a sweep takes at most %d names or seeds, not %lld",
                          axis->name, MOST_NAMES, (long long)axis->n);
    for (int64_t i = 0; i < axis->n; i++) {
        int64_t cell = i * axis->stride;
        if (option->type == NORMA_OPTION_SEED) {
            snprintf(texts[i], TEXT_LENGTH, "%llu",
                     (unsigned long long)norma_config_get_seed(config, cell, axis->name));
        } else if (option->type == NORMA_OPTION_SHAPE) {
            norma_config_shape shape = norma_config_get_shape(config, cell, axis->name);
            snprintf(texts[i], TEXT_LENGTH, "%lldx%lld", (long long)shape.height,
                     (long long)shape.width);
        } else {
            snprintf(texts[i], TEXT_LENGTH, "%s", norma_config_get_text(config, cell, axis->name));
        }
        for (char *c = texts[i]; *c; c++) /* "leaky-relu:0.1": a name has no colon */
            *c = (char)(isalnum((unsigned char)*c) || strchr("_-.+@", *c) ? *c : '_');
        names[i] = texts[i];
        numbers[i] = (int8_t)i;
    }
    dimension.type = NORMA_NAME;
    dimension.values = numbers;
    dimension.names = (norma_schema_names){(int)axis->n, names};
    return norma_schema_add_dimension(file, "/", &dimension);
}

static void fill_cells(const void *context, int64_t first, int64_t n, void *out)
{
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)out)[i] = norma_config_get_cell_number(context, first + i);
}

/* The cells that --cells selects, by their numbers in the whole sweep. */
static norma_status add_share(const norma_config *config, norma_result *file)
{
    const norma_sweep *whole = norma_config_get_whole_sweep(config);
    norma_text text;
    char *axes = NULL;
    NORMA_TRY(norma_schema_add_dimension(
        file, "/",
        &(norma_dimension){.name = "cell",
                           .length = norma_config_get_sweep(config)->n_cells,
                           .units = "1",
                           .long_name = "number of the cell in the whole sweep",
                           .type = NORMA_INT64,
                           .fill = fill_cells,
                           .context = config}));
    norma_text_init(&text);
    for (int64_t i = 0; i < whole->n_axes; i++)
        norma_text_append(&text, "%s%s %lld", i > 0 ? ", " : "", whole->axes[i].dimension,
                          (long long)whole->axes[i].n);
    NORMA_TRY(norma_text_take(&text, &axes));
    norma_status status = norma_result_set_text(file, "/", "whole_sweep", axes);
    norma_mem_free(axes);
    NORMA_TRY(status);
    NORMA_TRY(norma_result_set_int64(file, "/", "whole_sweep_cells", whole->n_cells));
    return norma_result_set_text(file, "/", "cells", norma_config_get_text(config, 0, "cells"));
}

norma_status norma_sweep_dimensions_add(MPI_Comm world, const norma_config *config,
                                        norma_result *file)
{
    const norma_sweep *sweep = norma_config_get_sweep(config);
    const norma_sweep *whole = norma_config_get_whole_sweep(config);
    if (whole->n_axes > NORMA_MAX_DIMENSIONS - 4)
        return NORMA_FAIL(NORMA_LIMIT, "at most %d options can be swept at once, not %lld",
                          NORMA_MAX_DIMENSIONS - 4, (long long)whole->n_axes);
    if (norma_config_is_share(config))
        return add_share(config, file);
    for (int64_t i = 0; i < sweep->n_axes; i++) {
        const norma_sweep_axis *axis = &sweep->axes[i];
        const norma_option *option = find_option(config, axis->name);
        norma_dimension dimension = {.name = axis->dimension,
                                     .length = axis->n,
                                     .units = "1", /* counted things are dimensionless to CF */
                                     .long_name = axis->name};
        bool number = option->type == NORMA_OPTION_INTEGER || option->type == NORMA_OPTION_REAL ||
                      option->type == NORMA_OPTION_DURATION;
        if (option->type == NORMA_OPTION_DURATION)
            dimension.units = "s";
        NORMA_TRY(number ? add_numbers(world, config, file, axis, option, dimension)
                         : add_names(config, file, axis, option, dimension));
    }
    return NORMA_OK;
}

norma_status norma_sweep_dimensions_describe(const norma_config *config, norma_result *file)
{
    if (norma_config_is_single(config) || !norma_config_knows(config, "cell-streams"))
        return NORMA_OK;
    bool common = norma_config_get_choice(config, 0, "cell-streams") == NORMA_CELL_STREAMS_COMMON;
    return norma_result_set_text(
        file, "/", "cell_streams",
        common ? "common: cells share random numbers, their errors correlate" : "independent");
}

static void fill_replicas32(const void *context, int64_t first, int64_t n, void *out)
{
    first += norma_config_get_integer(context, 0, "replica-offset");
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)out)[i] = (int32_t)(first + i);
}

static void fill_replicas64(const void *context, int64_t first, int64_t n, void *out)
{
    first += norma_config_get_integer(context, 0, "replica-offset");
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)out)[i] = first + i;
}

norma_status norma_sweep_dimensions_add_replicas(const norma_config *config, norma_result *file,
                                                 const char *group, norma_type type,
                                                 const char *long_name)
{
    return norma_schema_add_dimension(
        file, group,
        &(norma_dimension){.name = "replica",
                           .length = norma_config_get_integer(config, 0, "replicas"),
                           .units = "1",
                           .long_name = long_name,
                           .type = type,
                           .fill = type == NORMA_INT32 ? fill_replicas32 : fill_replicas64,
                           .context = config});
}

bool norma_sweep_dimensions_has(const norma_config *config, const char *option)
{
    const norma_sweep *sweep = norma_config_get_whole_sweep(config);
    for (int64_t i = 0; i < sweep->n_axes; i++)
        if (strcmp(sweep->axes[i].name, option) == 0)
            return true;
    return false;
}

void norma_sweep_dimensions_set(const norma_config *config, norma_variable *variable,
                                const char *const *trailing)
{
    const norma_sweep *sweep = norma_config_get_sweep(config);
    int n = 0;
    memset(variable->dimensions, 0, sizeof variable->dimensions);
    for (int64_t i = 0; i < sweep->n_axes; i++)
        variable->dimensions[n++] = sweep->axes[i].dimension;
    for (; *trailing; trailing++)
        variable->dimensions[n++] = *trailing;
}

void norma_sweep_dimensions_index(const norma_config *config, int64_t cell, const int64_t *trailing,
                                  int n_trailing, int64_t *start)
{
    const norma_sweep *sweep = norma_config_get_sweep(config);
    norma_sweep_get_indices(sweep, cell, start);
    for (int i = 0; i < n_trailing; i++)
        start[sweep->n_axes + i] = trailing[i];
}
