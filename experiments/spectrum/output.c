#include "experiments/spectrum/output.h"

#include "experiments/job/sweep_dimensions.h"
#include "src/stats/quantile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const quantile_names[] = {"condition_low_quartile", "condition_median",
                                             "condition_high_quartile"};

int64_t norma_spectrum_output_bytes(const norma_spectrum_layout *layout)
{
    int64_t n = NORMA_N_SPECTRUM_SCALARS + NORMA_N_SPECTRUM_CURVES * layout->n_bins +
                2 * layout->n_outliers;
    int64_t total = n * layout->n_cells * layout->n_replicas;
    for (int64_t cell = 0; cell < layout->n_cells; cell++)
        total += layout->n_saved[cell] * layout->n_replicas;
    return 8 * total + 200000;
}

static norma_status add_variable(norma_job_context *job, const norma_variable *about,
                                 const char *const *trailing)
{
    norma_variable variable = *about;
    norma_sweep_dimensions_set(job->config, &variable, trailing);
    return norma_schema_add_variable(job->file, "/", &variable);
}

static norma_status add_scalars(norma_job_context *job, const norma_spectrum_layout *layout)
{
    static const char *const replica[] = {"replica", NULL};
    static const char *const bins[] = {"replica", "bin", NULL};
    static const char *const channels[] = {"replica", "outlier_index", NULL};
    static const char *const none[] = {NULL};
    static const char *const quantiles[] = {"quantile 0.25 of condition_number",
                                            "quantile 0.5 of condition_number",
                                            "quantile 0.75 of condition_number"};
    static const char *const texts[] = {"lower quartile of condition_number over replicas",
                                        "median of condition_number over replicas",
                                        "upper quartile of condition_number over replicas"};
    norma_variable variable = {.type = NORMA_FLOAT64, .units = "1"};
    for (int i = 0; i < NORMA_N_SPECTRUM_SCALARS; i++)
        NORMA_TRY(add_variable(job, &norma_spectrum_scalars[i], replica));
    for (int i = 0; i < NORMA_N_SPECTRUM_CURVES; i++)
        NORMA_TRY(add_variable(job, &norma_spectrum_curves[i], bins));
    for (int i = 0; i < 3; i++) {
        variable.name = quantile_names[i];
        variable.long_name = texts[i];
        NORMA_TRY(add_variable(job, &variable, none));
        NORMA_TRY(norma_result_set_text(job->file, variable.name, NORMA_POOLED, quantiles[i]));
    }
    if (layout->n_outliers == 0)
        return NORMA_OK;
    variable.name = "outlier";
    variable.long_name = "largest values, as many as outliers are predicted";
    NORMA_TRY(add_variable(job, &variable, channels));
    variable.name = "outlier_predicted";
    variable.long_name = "predicted outliers of the min rule, largest first";
    return add_variable(job, &variable, channels);
}

/* The group of a cell's singular values. */
static const char *group_of(const norma_config *config, int64_t cell, char *text, size_t size)
{
    if (norma_config_is_single(config))
        return "/";
    snprintf(text, size, "/cells/%06lld", (long long)norma_config_get_cell_number(config, cell));
    return text;
}

static norma_status add_values(norma_job_context *job, const norma_spectrum_layout *layout)
{
    norma_variable variable = {.name = "singular_value",
                               .type = NORMA_FLOAT64,
                               .dimensions = {"replica", "index", NULL},
                               .units = "1",
                               .long_name = "singular values, largest first"};
    for (int64_t cell = 0; cell < layout->n_cells; cell++) {
        char text[32];
        const char *group = group_of(job->config, cell, text, sizeof text);
        if (layout->n_saved[cell] == 0)
            continue;
        if (!norma_config_is_single(job->config)) {
            NORMA_TRY(norma_schema_add_group(job->file, group));
            NORMA_TRY(norma_sweep_dimensions_add_replicas(
                job->config, job->file, group, NORMA_INT32, "independent draw of the weights"));
        }
        NORMA_TRY(norma_schema_add_axis(job->file, group, "index", layout->n_saved[cell],
                                        "singular value, largest first"));
        NORMA_TRY(norma_schema_add_variable(job->file, group, &variable));
    }
    return NORMA_OK;
}

norma_status norma_spectrum_output_begin(norma_job_context *job,
                                         const norma_spectrum_layout *layout)
{
    norma_result *file = job->file;
    NORMA_TRY(norma_sweep_dimensions_add(job->runtime->world, job->config, file));
    NORMA_TRY(norma_sweep_dimensions_add_replicas(job->config, file, "/", NORMA_INT32,
                                                  "independent draw of the weights"));
    NORMA_TRY(norma_schema_add_axis(file, "/", "bin", layout->n_bins, "point of s_grid"));
    if (layout->n_outliers > 0)
        NORMA_TRY(norma_schema_add_axis(file, "/", "outlier_index", layout->n_outliers,
                                        "outlier, largest first"));
    NORMA_TRY(add_scalars(job, layout));
    NORMA_TRY(add_values(job, layout));
    NORMA_TRY(norma_result_set_default(file, "/spectral_density"));
    return norma_result_begin(file);
}

/* A scalar in its variable's type; NaN stays missing in integers. */
static norma_status write_scalar(norma_job_context *job, const norma_variable *about,
                                 const int64_t *start, double value)
{
    int64_t whole = isnan(value) ? NORMA_MISSING_INT64 : (int64_t)value;
    int8_t name = isnan(value) ? NORMA_MISSING_NAME : (int8_t)value;
    const void *data = &value;
    if (about->type == NORMA_INT64)
        data = &whole;
    if (about->type == NORMA_NAME)
        data = &name;
    return norma_result_write_local(job->file, about->name, about->type, start, NULL, data);
}

/* n numbers along the last dimension. */
static norma_status write_row(norma_job_context *job, const char *name, int64_t cell,
                              int64_t replica, int64_t n, const double *data)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    int64_t count[NORMA_MAX_DIMENSIONS];
    const int64_t trailing[2] = {replica, 0};
    int n_sweep = (int)norma_config_get_sweep(job->config)->n_axes;
    norma_sweep_dimensions_index(job->config, cell, trailing, 2, start);
    for (int d = 0; d <= n_sweep; d++)
        count[d] = 1;
    count[n_sweep + 1] = n;
    return norma_result_write_local(job->file, name, NORMA_FLOAT64, start, count, data);
}

norma_status norma_spectrum_output_write_local(norma_job_context *job, int64_t cell,
                                               int64_t replica, const norma_spectrum_record *record)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    char name[64];
    if (job->runtime->rank != 0)
        return NORMA_OK;
    norma_sweep_dimensions_index(job->config, cell, &replica, 1, start);
    for (int i = 0; i < NORMA_N_SPECTRUM_SCALARS; i++)
        NORMA_TRY(write_scalar(job, &norma_spectrum_scalars[i], start, record->scalars[i]));
    for (int i = 0; i < NORMA_N_SPECTRUM_CURVES; i++)
        NORMA_TRY(write_row(job, norma_spectrum_curves[i].name, cell, replica, record->n_bins,
                            record->curves + i * record->n_bins));
    if (record->n_outliers > 0) {
        NORMA_TRY(write_row(job, "outlier", cell, replica, record->n_outliers, record->outlier));
        NORMA_TRY(write_row(job, "outlier_predicted", cell, replica, record->n_outliers,
                            record->predicted));
    }
    if (record->n_saved == 0)
        return NORMA_OK;
    const int64_t from[2] = {replica, 0};
    const int64_t count[2] = {1, record->n_saved};
    if (norma_config_is_single(job->config))
        snprintf(name, sizeof name, "/singular_value");
    else
        snprintf(name, sizeof name, "/cells/%06lld/singular_value",
                 (long long)norma_config_get_cell_number(job->config, cell));
    return norma_result_write_local(job->file, name, NORMA_FLOAT64, from, count, record->values);
}

norma_status norma_spectrum_output_quantiles_local(norma_job_context *job, int64_t cell,
                                                   double *condition, int64_t n_replicas)
{
    static const double parts[] = {0.25, 0.5, 0.75};
    int64_t start[NORMA_MAX_DIMENSIONS];
    if (job->runtime->rank != 0)
        return NORMA_OK;
    norma_sweep_dimensions_index(job->config, cell, NULL, 0, start);
    for (int i = 0; i < 3; i++) {
        double value = norma_quantile(condition, n_replicas, parts[i]);
        NORMA_TRY(norma_result_write_local(job->file, quantile_names[i], NORMA_FLOAT64, start, NULL,
                                           &value));
    }
    return NORMA_OK;
}
