/* The result file of a stack: numbers of a layer [sweep..., replica, layer], of its stages
 * [sweep..., replica, layer, stage], of a network [sweep..., replica]; scales and shifts in the
 * groups of the layers, as for pairs. */
#include "experiments/job/sweep_dimensions.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/stack/stack.h"
#include "experiments/reconstruct/stack/weights.h"

#include <math.h>
#include <stdio.h>

enum { MOST_PATH = 96 };

/* The group of a layer's arrays. */
static void layer_group(const norma_config *config, int64_t cell, int64_t layer,
                        char path[MOST_PATH])
{
    if (norma_config_is_single(config))
        snprintf(path, MOST_PATH, "/layers/%03lld", (long long)layer);
    else
        snprintf(path, MOST_PATH, "/cells/%06lld/layers/%03lld",
                 (long long)norma_config_get_cell_number(config, cell), (long long)layer);
}

/* Has a layer a group of arrays? */
static bool has_groups(const norma_stack_layout *l)
{
    return l->n_scales > 0 || l->saves_weights;
}

int64_t norma_stack_output_bytes(const norma_stack_layout *l)
{
    double layer = NORMA_N_STACK_NUMBERS + l->kind->n_layer_variables +
                   (double)(l->kind->n_stage_variables * l->n_stages + l->n_scales + l->n_shifts);
    double numbers = NORMA_N_STACK_OUTPUTS + (double)l->n_layers * layer + l->n_weights;
    double bytes = 8 * numbers * (double)(l->n_cells * l->n_replicas) + 300000 +
                   (has_groups(l) ? 20000.0 * (double)(l->n_cells * l->n_layers) : 0);
    return (int64_t)fmin(bytes, 9e18);
}

static norma_status add_variable(const norma_stack_run *run, const norma_variable *about,
                                 const char *const *trailing)
{
    norma_variable variable = *about;
    norma_sweep_dimensions_set(run->job->config, &variable, trailing);
    return norma_schema_add_variable(run->job->file, "/", &variable);
}

/* The arrays of a layer. */
static norma_status add_layer_group(const norma_stack_run *run, const norma_stack_place *place,
                                    const char *group, const norma_stack_size *size)
{
    norma_result *file = run->job->file;
    const norma_variable gamma = {.name = "gamma",
                                  .type = NORMA_FLOAT64,
                                  .dimensions = {"replica", "scale"},
                                  .units = "1",
                                  .long_name = "scales of the source, stage by stage"};
    const norma_variable beta = {.name = "beta",
                                 .type = NORMA_FLOAT64,
                                 .dimensions = {"replica", "shift"},
                                 .units = "1",
                                 .long_name = "shifts of the source, stage by stage, last of them "
                                              "those of the outputs"};
    NORMA_TRY(norma_schema_add_group(file, group));
    NORMA_TRY(norma_sweep_dimensions_add_replicas(run->job->config, file, group, NORMA_INT32,
                                                  "independent draw of the source weights"));
    if (run->layout.saves_weights)
        NORMA_TRY(norma_stack_weights_add(run->layout.kind, place, file, group));
    if (run->layout.n_scales == 0)
        return NORMA_OK;
    NORMA_TRY(
        norma_schema_add_axis(run->job->file, group, "scale", size->n_scales, "number of a scale"));
    NORMA_TRY(
        norma_schema_add_axis(run->job->file, group, "shift", size->n_shifts, "number of a shift"));
    NORMA_TRY(norma_schema_add_variable(file, group, &gamma));
    return norma_schema_add_variable(file, group, &beta);
}

static norma_status add_groups(const norma_stack_run *run, int64_t number)
{
    norma_reconstruct_cell cell;
    norma_status status =
        norma_reconstruct_cell_init(run->job->config, run->inputs, number, true, &cell);
    norma_stack_place place = {.config = run->job->config, .cell = &cell};
    for (place.number = 0; status == NORMA_OK && place.number < cell.n_layers; place.number++) {
        norma_stack_size size;
        char group[MOST_PATH];
        if (!cell.layers[place.number].wanted)
            continue;
        layer_group(run->job->config, number, place.number, group);
        status = run->layout.kind->size(&place, &size);
        if (status == NORMA_OK)
            status = add_layer_group(run, &place, group, &size);
    }
    norma_reconstruct_cell_clear(&cell);
    return status;
}

norma_status norma_stack_output_begin(const norma_stack_run *run)
{
    static const char *const replica[] = {"replica", NULL};
    static const char *const layer[] = {"replica", "layer", NULL};
    const norma_stack_layout *l = &run->layout;
    const norma_stack_kind *kind = l->kind;
    const char *const stage[] = {"replica", "layer", kind->stage, NULL};
    norma_result *file = run->job->file;
    NORMA_TRY(norma_sweep_dimensions_add(run->job->runtime->world, run->job->config, file));
    NORMA_TRY(norma_sweep_dimensions_add_replicas(run->job->config, file, "/", NORMA_INT32,
                                                  "independent draw of the source weights"));
    NORMA_TRY(norma_schema_add_axis(run->job->file, "/", "layer", l->n_layers,
                                    "layer of the target network"));
    NORMA_TRY(
        norma_schema_add_axis(run->job->file, "/", kind->stage, l->n_stages, kind->stage_meaning));
    for (int i = 0; i < NORMA_N_STACK_OUTPUTS; i++)
        NORMA_TRY(add_variable(run, &norma_stack_run_variables[i], replica));
    for (int i = 0; i < NORMA_N_STACK_NUMBERS; i++)
        NORMA_TRY(add_variable(run, &norma_stack_variables[i], layer));
    for (int i = 0; i < kind->n_layer_variables; i++)
        NORMA_TRY(add_variable(run, &kind->layer_variables[i], layer));
    for (int i = 0; i < kind->n_stage_variables; i++)
        NORMA_TRY(add_variable(run, &kind->stage_variables[i], stage));
    for (int64_t c = 0; has_groups(l) && c < l->n_cells; c++)
        NORMA_TRY(add_groups(run, c));
    NORMA_TRY(norma_result_set_default(file, "/rmse"));
    return norma_result_begin(file);
}

/* --- a record --------------------------------------------------------------------------------- */

/* A number in its variable's type; NaN stays missing in integers. */
static norma_status write_number(const norma_stack_run *run, const norma_variable *about,
                                 int64_t cell, const int64_t *at, int n_at, double value)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    int64_t whole = isnan(value) ? NORMA_MISSING_INT64 : (int64_t)value;
    const void *data = about->type == NORMA_INT64 ? (const void *)&whole : (const void *)&value;
    norma_sweep_dimensions_index(run->job->config, cell, at, n_at, start);
    return norma_result_put_local(run->job->file, about->name, about->type, start, NULL, data);
}

static norma_status write_layer(const norma_stack_run *run, int64_t cell, int64_t replica,
                                int64_t layer, const norma_stack_record *record)
{
    const norma_stack_layout *l = &run->layout;
    const norma_stack_kind *kind = l->kind;
    int64_t at[3] = {replica, layer, 0};
    for (int i = 0; i < NORMA_N_STACK_NUMBERS; i++)
        NORMA_TRY(write_number(run, &norma_stack_variables[i], cell, at, 2,
                               record->common[layer * NORMA_N_STACK_NUMBERS + i]));
    for (int i = 0; i < kind->n_layer_variables; i++)
        NORMA_TRY(write_number(run, &kind->layer_variables[i], cell, at, 2,
                               record->layers[layer * kind->n_layer_variables + i]));
    for (int i = 0; i < kind->n_stage_variables; i++)
        for (at[2] = 0; at[2] < l->n_stages; at[2]++)
            NORMA_TRY(write_number(
                run, &kind->stage_variables[i], cell, at, 3,
                record->stages[(layer * kind->n_stage_variables + i) * l->n_stages + at[2]]));
    return NORMA_OK;
}

static int64_t count_numbers(const double *values, int64_t most)
{
    while (most > 0 && isnan(values[most - 1]))
        most--;
    return most;
}

static norma_status write_arrays(const norma_stack_run *run, int64_t cell, int64_t replica,
                                 int64_t layer, const norma_stack_record *record)
{
    const norma_stack_layout *l = &run->layout;
    const double *const arrays[] = {record->scales + layer * l->n_scales,
                                    record->shifts + layer * l->n_shifts};
    const int64_t most[] = {l->n_scales, l->n_shifts};
    static const char *const names[] = {"gamma", "beta"};
    char group[MOST_PATH];
    layer_group(run->job->config, cell, layer, group);
    for (int i = 0; i < 2; i++) {
        char path[2 * MOST_PATH];
        const int64_t start[] = {replica, 0};
        const int64_t count[] = {1, count_numbers(arrays[i], most[i])};
        if (count[1] == 0)
            continue; /* a layer that was not wanted */
        snprintf(path, sizeof path, "%s/%s", group, names[i]);
        NORMA_TRY(
            norma_result_put_local(run->job->file, path, NORMA_FLOAT64, start, count, arrays[i]));
    }
    return NORMA_OK;
}

/* The frozen weights of all layers. */
static norma_status write_weights(const norma_stack_run *run, int64_t number, int64_t replica)
{
    norma_reconstruct_cell cell;
    norma_status status =
        norma_reconstruct_cell_init(run->job->config, run->inputs, number, true, &cell);
    norma_stack_place place = {.config = run->job->config, .cell = &cell, .replica = replica};
    for (place.number = 0; status == NORMA_OK && place.number < cell.n_layers; place.number++) {
        char group[MOST_PATH];
        if (!cell.layers[place.number].wanted)
            continue;
        layer_group(run->job->config, number, place.number, group);
        status = norma_stack_weights_write_local(run->layout.kind, &place, run->job->file, group);
    }
    norma_reconstruct_cell_clear(&cell);
    return status;
}

norma_status norma_stack_output_write_local(const norma_stack_run *run, int64_t cell,
                                            int64_t replica, const norma_stack_record *record)
{
    for (int i = 0; i < NORMA_N_STACK_OUTPUTS; i++)
        NORMA_TRY(write_number(run, &norma_stack_run_variables[i], cell, &replica, 1,
                               record->outputs[i]));
    for (int64_t layer = 0; layer < run->layout.n_layers; layer++) {
        NORMA_TRY(write_layer(run, cell, replica, layer, record));
        if (run->layout.n_scales > 0)
            NORMA_TRY(write_arrays(run, cell, replica, layer, record));
    }
    return run->layout.saves_weights ? write_weights(run, cell, replica) : NORMA_OK;
}
