#include "experiments/gradient/output.h"

#include "experiments/job/sweep_dimensions.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* Variables of a replica or a cell; `last` is the dimension behind the replica, NULL: none. */
typedef struct line {
    const char *name, *last, *units, *long_name;
    bool per_replica, is_count;
} line;

static const line lines[] = {
    {"log_grad_norm", "layer", "1",
     "natural logarithm of the Frobenius norm of dL/dW of the layer; missing where it is 0", true,
     false},
    {"explosion_rate", "layer", "1",
     "rate a layer at which log_grad_norm grows towards the input: its slope over 10 layers", true,
     false},
    {"loss", NULL, "1", "the loss", true, false},
    {"n_zero_gradients", NULL, "1", "layers whose gradient is exactly 0", true, true},
    {"explosion_rate_fit", NULL, "1",
     "rate a layer at which log_grad_norm grows towards the input: least squares over all layers",
     true, false},
    {"seconds", NULL, "s", "time of the replica", true, false},
    {"log_grad_norm_mean", "layer", "1", "average of log_grad_norm over replicas", false, false},
    {"log_grad_norm_stderr", "layer", "1", "standard error of log_grad_norm_mean", false, false},
    {"log_grad_norm_rms", "layer", "1",
     "natural logarithm of the root mean square over replicas of the norm of dL/dW", false, false},
    {"rate_of_mean_log", NULL, "1",
     "slope towards the input of log_grad_norm_mean, over the middle three quarters of the layers",
     false, false},
    {"rate_of_mean_log_stderr", NULL, "1",
     "standard error of rate_of_mean_log, by leaving out one replica at a time", false, false},
    {"rate_of_mean_square", NULL, "1",
     "slope towards the input of log_grad_norm_rms, over the middle three quarters of the layers",
     false, false},
    {"rate_of_mean_square_stderr", NULL, "1",
     "standard error of rate_of_mean_square, by leaving out one replica at a time", false, false},
};
enum { N_LINES = sizeof lines / sizeof lines[0] };

static const line isometry_line = {
    "isometry_gap", "layer", "1", "isometry gap of the Gram matrix of the representation",
    true,           false};
static const line jacobian_line = {
    "log_jacobian_norm",
    "window",
    "1",
    "natural logarithm of the spectral norm of the Jacobian of a window of layers, from below",
    true,
    false};
static const line cosine_line = {
    "sample_cosine",
    "pair",
    "1",
    "cosine between the gradients of two samples in the last W; missing where one is 0",
    true,
    false};

int64_t norma_gradient_output_bytes(const norma_gradient_setup *setup)
{
    const int64_t fixed = 524288;
    double numbers =
        4.0 + 3.0 * (double)setup->schedule.n + (double)setup->n_windows + (double)setup->n_pairs;
    double bytes = 8 * numbers * (double)(setup->n_replicas + 3) * (double)setup->n_cells;
    return (int64_t)fmin(bytes, 9e18) + fixed;
}

static norma_status add_axis(norma_gradient_output *output, const char *name, int64_t length,
                             int64_t step, const int64_t *given, const char *long_name)
{
    int64_t *numbers = NULL;
    norma_status status = NORMA_ALLOC(numbers, length);
    NORMA_TRY(norma_agree(output->runtime->world, status));
    for (int64_t i = 0; i < length; i++)
        numbers[i] = given ? given[i] : i * step;
    status = norma_schema_add_dimension(output->file, "/",
                                        &(norma_dimension){.name = name,
                                                           .length = length,
                                                           .units = "1",
                                                           .long_name = long_name,
                                                           .type = NORMA_INT64,
                                                           .values = numbers});
    norma_mem_free(numbers);
    return status;
}

static norma_status add_axes(norma_gradient_output *output)
{
    const norma_gradient_setup *setup = output->setup;
    NORMA_TRY(norma_sweep_dimensions_add(output->runtime->world, setup->config, output->file));
    NORMA_TRY(norma_sweep_dimensions_add_replicas(setup->config, output->file, "/", NORMA_INT64,
                                                  "independent chain"));
    if (setup->schedule.n > 0)
        NORMA_TRY(add_axis(output, "layer", setup->schedule.n, 1, setup->layers,
                           "layer: W of that number, from 0, and its input H"));
    if (setup->n_windows > 0)
        NORMA_TRY(add_axis(output, "window", setup->n_windows, setup->window, NULL,
                           "first layer of a window"));
    if (setup->n_pairs > 0)
        NORMA_TRY(add_axis(output, "pair", setup->n_pairs, 1, NULL,
                           "pair of samples: (0, 1), (0, 2), .., (1, 2), .."));
    return NORMA_OK;
}

static norma_status add_line(norma_gradient_output *output, const line *l)
{
    const char *const with_replica[] = {"replica", l->last, NULL};
    const char *const without[] = {l->last, NULL};
    norma_variable variable = {.name = l->name,
                               .type = l->is_count ? NORMA_INT64 : NORMA_FLOAT64,
                               .units = l->units,
                               .long_name = l->long_name};
    if (l->last && strcmp(l->last, "layer") == 0 && output->setup->schedule.n == 0)
        return NORMA_OK;
    norma_sweep_dimensions_set(output->setup->config, &variable,
                               l->per_replica ? with_replica : without);
    return norma_schema_add_variable(output->file, "/", &variable);
}

static norma_status add_rate_fit(norma_gradient_output *output)
{
    static const char *const none[] = {NULL};
    norma_variable variable = {.type = NORMA_FLOAT64, .units = "1"};
    if (!norma_sweep_dimensions_has(output->setup->config, "gain"))
        return NORMA_OK;
    norma_sweep_dimensions_set(output->setup->config, &variable, none);
    int n = 0; /* every axis but the gain's */
    for (int i = 0; variable.dimensions[i]; i++)
        if (strcmp(variable.dimensions[i], "gain") != 0)
            variable.dimensions[n++] = variable.dimensions[i];
    variable.dimensions[n] = NULL;
    variable.name = "rate_fit_c1";
    variable.long_name = "c1 of rate_of_mean_log = c1 gain^c2, fitted over the gains";
    NORMA_TRY(norma_schema_add_variable(output->file, "/", &variable));
    variable.name = "rate_fit_c2";
    variable.long_name = "c2 of rate_of_mean_log = c1 gain^c2, fitted over the gains";
    return norma_schema_add_variable(output->file, "/", &variable);
}

norma_status norma_gradient_output_layout(norma_gradient_output *output,
                                          const norma_runtime *runtime,
                                          const norma_gradient_setup *setup, norma_result *file)
{
    memset(output, 0, sizeof *output);
    output->file = file;
    output->setup = setup;
    output->runtime = runtime;
    norma_status status = NORMA_CALLOC(output->records, setup->n_tasks);
    NORMA_TRY(norma_agree(runtime->world, status));
    NORMA_TRY(add_axes(output));
    for (int i = 0; i < N_LINES; i++)
        NORMA_TRY(add_line(output, &lines[i]));
    if (setup->isometry)
        NORMA_TRY(add_line(output, &isometry_line));
    if (setup->n_windows > 0)
        NORMA_TRY(add_line(output, &jacobian_line));
    if (setup->n_pairs > 0)
        NORMA_TRY(add_line(output, &cosine_line));
    NORMA_TRY(add_rate_fit(output));
    if (setup->schedule.n > 0)
        NORMA_TRY(norma_result_set_default(file, "/log_grad_norm"));
    return norma_result_begin(file);
}

/* `count` numbers from the cell's place; replica -1: a variable without replicas. */
static norma_status write(norma_gradient_output *output, int64_t cell, int64_t replica,
                          const char *name, bool along, int64_t count, const double *values)
{
    const norma_config *config = output->setup->config;
    const int64_t at[] = {replica < 0 ? 0 : replica, 0};
    int64_t start[NORMA_MAX_DIMENSIONS];
    int64_t extent[NORMA_MAX_DIMENSIONS];
    int n = (int)norma_config_get_sweep(config)->n_axes;
    norma_sweep_dimensions_index(config, cell, at, 2, start);
    for (int i = 0; i <= n; i++)
        extent[i] = 1;
    n += replica < 0 ? 0 : 1;
    start[n] = 0;
    if (along)
        extent[n] = count;
    if (count == 0)
        return NORMA_OK;
    return norma_result_write_local(output->file, name, NORMA_FLOAT64, start, extent, values);
}

static norma_status write_record(norma_gradient_output *output, const norma_gradient_cell *cell,
                                 int64_t replica, const norma_gradient_record *record)
{
    const int64_t c = cell->number;
    const int64_t n = cell->n_recorded;
    const double *s = record->scalars;
    const int64_t n_zero = (int64_t)s[NORMA_GRADIENT_N_ZERO];
    int64_t start[NORMA_MAX_DIMENSIONS];
    NORMA_TRY(write(output, c, replica, "log_grad_norm", true, n, record->log_norm));
    NORMA_TRY(write(output, c, replica, "explosion_rate", true, n, record->rate));
    NORMA_TRY(write(output, c, replica, "loss", false, 1, s + NORMA_GRADIENT_LOSS));
    NORMA_TRY(write(output, c, replica, "explosion_rate_fit", false, 1, s + NORMA_GRADIENT_FIT));
    NORMA_TRY(write(output, c, replica, "seconds", false, 1, s + NORMA_GRADIENT_SECONDS));
    if (record->isometry_gap)
        NORMA_TRY(write(output, c, replica, "isometry_gap", true, n, record->isometry_gap));
    NORMA_TRY(write(output, c, replica, "log_jacobian_norm", true, cell->n_windows,
                    record->log_jacobian));
    NORMA_TRY(write(output, c, replica, "sample_cosine", true, cell->n_pairs, record->cosine));
    norma_sweep_dimensions_index(output->setup->config, c, &replica, 1, start);
    return norma_result_write_local(output->file, "n_zero_gradients", NORMA_INT64, start, NULL,
                                    &n_zero);
}

norma_status norma_gradient_output_write_local(norma_gradient_output *output, int64_t task,
                                               const double *numbers)
{
    const norma_gradient_cell *cell = norma_gradient_setup_cell(output->setup, task);
    double *copy = NULL;
    NORMA_TRY(NORMA_ALLOC(copy, cell->n_numbers));
    memcpy(copy, numbers, (size_t)cell->n_numbers * sizeof *copy);
    norma_mem_free(output->records[task]);
    output->records[task] = copy;
    norma_gradient_record record = norma_gradient_record_view(cell, copy);
    return write_record(output, cell, task % output->setup->n_replicas, &record);
}

norma_status norma_gradient_output_write_cell_local(norma_gradient_output *output,
                                                    const norma_gradient_cell *cell,
                                                    const char *name, bool along, int64_t count,
                                                    const double *values)
{
    return write(output, cell->number, -1, name, along, count, values);
}

void norma_gradient_output_clear(norma_gradient_output *output)
{
    for (int64_t t = 0; output->records && t < output->setup->n_tasks; t++)
        NORMA_FREE(output->records[t]);
    NORMA_FREE(output->records);
}
