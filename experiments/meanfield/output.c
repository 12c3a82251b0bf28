#include "experiments/meanfield/output.h"

#include "experiments/job/sweep_dimensions.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdlib.h>

static const char *const axis_names[NORMA_N_MEANFIELD_AXES] = {
    NULL,         "rho_grid",  "k",   "layer", "fixed_point_number",
    "gram_entry", "gram_kind", "row", "column"};

static const char *const entries[] = {"diagonal", "off_diagonal"};
static const char *const kinds[] = {"scalar", "vector", "traceless"};

static norma_status add_number_axis(norma_job_context *job, const char *name, const char *long_name,
                                    const int64_t *numbers, int64_t n)
{
    return norma_schema_add_dimension(job->file, "/",
                                      &(norma_dimension){.name = name,
                                                         .length = n,
                                                         .units = "1",
                                                         .long_name = long_name,
                                                         .type = NORMA_INT64,
                                                         .values = numbers});
}

static norma_status add_name_axis(norma_job_context *job, const char *name, const char *long_name,
                                  const char *const *names, int n)
{
    static const int8_t numbers[] = {0, 1, 2};
    return norma_schema_add_dimension(job->file, "/",
                                      &(norma_dimension){.name = name,
                                                         .length = n,
                                                         .units = "1",
                                                         .long_name = long_name,
                                                         .type = NORMA_NAME,
                                                         .values = numbers,
                                                         .names = {n, names}});
}

/* numbers: 0, 1, ... as many as the longest axis has; grid: room for the kernel map's. */
static norma_status add_axes(norma_job_context *job, const norma_meanfield_sizes *sizes,
                             bool kernel, bool batch, const int64_t *numbers, double *grid)
{
    NORMA_TRY(norma_sweep_dimensions_add(job->runtime->world, job->config, job->file));
    NORMA_TRY(add_number_axis(job, "layer", "layer, 0 is the input", numbers, sizes->n_layers));
    if (kernel) {
        for (int64_t i = 0; i < sizes->n_grid; i++)
            grid[i] = norma_meanfield_grid_point(sizes->n_grid, i);
        NORMA_TRY(
            norma_schema_add_dimension(job->file, "/",
                                       &(norma_dimension){.name = "rho_grid",
                                                          .length = sizes->n_grid,
                                                          .units = "1",
                                                          .long_name = "cosine of two samples",
                                                          .type = NORMA_FLOAT64,
                                                          .values = grid}));
        NORMA_TRY(add_number_axis(job, "k", "degree of the Hermite polynomial", numbers,
                                  sizes->n_coefficients));
        NORMA_TRY(add_number_axis(job, "fixed_point_number", "fixed points in ascending order",
                                  numbers, NORMA_KERNEL_MAX_FIXED_POINTS));
    }
    if (!batch)
        return NORMA_OK;
    NORMA_TRY(add_name_axis(job, "gram_entry", "entry of a symmetric Gram matrix", entries, 2));
    NORMA_TRY(add_name_axis(job, "gram_kind", "kind of deviations from a symmetric Gram matrix",
                            kinds, NORMA_N_GRAM_KINDS));
    NORMA_TRY(add_number_axis(job, "row", "row of a block", numbers, 2));
    return add_number_axis(job, "column", "column of a block", numbers, 2);
}

static norma_status add_variables(norma_job_context *job, bool kernel, bool batch)
{
    for (int v = 0; v < NORMA_N_MEANFIELD_VARIABLES; v++) {
        const norma_meanfield_variable *about = &norma_meanfield_variables[v];
        const char *trailing[NORMA_MEANFIELD_MAX_AXES + 1] = {NULL};
        norma_variable variable = {.name = about->name,
                                   .type = about->count ? NORMA_INT32 : NORMA_FLOAT64,
                                   .units = "1",
                                   .long_name = about->long_name};
        if (!(kernel && about->kernel) && !(batch && about->batch))
            continue;
        for (int i = 0; i < NORMA_MEANFIELD_MAX_AXES; i++)
            trailing[i] = axis_names[about->axes[i]];
        norma_sweep_dimensions_set(job->config, &variable, trailing);
        NORMA_TRY(norma_schema_add_variable(job->file, "/", &variable));
    }
    return norma_result_set_default(job->file, "/distance");
}

norma_status norma_meanfield_output_open(norma_job_context *job, const norma_meanfield_sizes *sizes,
                                         bool kernel, bool batch)
{
    const int64_t cells = norma_config_get_sweep(job->config)->n_cells;
    const norma_job_file about = {.title = "Random networks at infinite width",
                                  .process_grid = "cells dealt out to ranks",
                                  .configuration = job->settings,
                                  .bytes = 8 * cells * norma_meanfield_total(sizes) + (1 << 20)};
    int64_t *numbers = NULL, longest = NORMA_KERNEL_MAX_FIXED_POINTS;
    double *grid = NULL;
    NORMA_TRY(norma_job_open(job, &about));
    longest = sizes->n_layers > longest ? sizes->n_layers : longest;
    longest = sizes->n_coefficients > longest ? sizes->n_coefficients : longest;
    norma_status status = NORMA_ALLOC(numbers, longest);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(grid, sizes->n_grid);
    NORMA_GOTO(status, norma_agree(job->runtime->world, status));
    for (int64_t i = 0; i < longest; i++)
        numbers[i] = i;
    NORMA_GOTO(status, add_axes(job, sizes, kernel, batch, numbers, grid));
    NORMA_GOTO(status, add_variables(job, kernel, batch));
    status = norma_result_begin(job->file);
done:
    NORMA_FREE(numbers);
    NORMA_FREE(grid);
    return status;
}

norma_status norma_meanfield_output_write_local(norma_job_context *job,
                                                const norma_meanfield_request *request,
                                                const norma_meanfield_record *record, int64_t cell)
{
    const int64_t n_axes = norma_config_get_sweep(job->config)->n_axes;
    for (int v = 0; v < NORMA_N_MEANFIELD_VARIABLES; v++) {
        const norma_meanfield_variable *about = &norma_meanfield_variables[v];
        int64_t start[NORMA_MAX_DIMENSIONS] = {0}, count[NORMA_MAX_DIMENSIONS];
        int32_t integers[NORMA_N_GRAM_KINDS];
        int n = (int)n_axes;
        if (request->batched ? !about->batch : !about->kernel)
            continue;
        norma_sweep_dimensions_index(job->config, cell, NULL, 0, start);
        for (int i = 0; i < n; i++)
            count[i] = 1;
        for (int i = 0; i < NORMA_MEANFIELD_MAX_AXES && about->axes[i]; i++)
            count[n++] = norma_meanfield_axis_length(&request->sizes, about->axes[i]);
        const double *values = record->variable[v];
        for (int64_t i = 0; about->count && i < norma_meanfield_count(&request->sizes, v); i++)
            integers[i] = isnan(values[i]) ? NORMA_MISSING_INT32 : (int32_t)values[i];
        NORMA_TRY(norma_result_write_local(
            job->file, about->name, about->count ? NORMA_INT32 : NORMA_FLOAT64, start, count,
            about->count ? (const void *)integers : (const void *)values));
    }
    return NORMA_OK;
}

static double first(const norma_meanfield_record *record, int variable)
{
    return record->variable[variable][0];
}

void norma_meanfield_output_print(const norma_meanfield_request *request,
                                  const norma_meanfield_record *r)
{
    char name[NORMA_TRANSFER_NAME];
    (void)norma_transfer_format(&request->activation, name);
    if (request->batched) {
        const double *contraction = r->variable[NORMA_MEANFIELD_GRAM_CONTRACTION];
        norma_log_result("%.80s: G* has %.10g on the diagonal, %.10g off it", name,
                         r->variable[NORMA_MEANFIELD_GRAM_FIXED_POINT][0],
                         r->variable[NORMA_MEANFIELD_GRAM_FIXED_POINT][1]);
        norma_log_result("contraction a layer: scalar %.6g, vector %.6g, traceless %.6g",
                         contraction[0], contraction[1], contraction[2]);
        norma_log_result(
            "distance from G* at width %lld: %.6g one layer behind it, %.6g stationary",
            (long long)request->width, first(r, NORMA_MEANFIELD_GRAM_ONE_LAYER),
            first(r, NORMA_MEANFIELD_GRAM_STATIONARY));
        norma_log_result("growth of the gradient's logarithm a layer: %.6g",
                         first(r, NORMA_MEANFIELD_GRADIENT_RATE));
        return;
    }
    norma_log_result("%.80s: case %d, rho* = %.15g, kappa(0) = %.12g, kappa'(1) = %.12g", name,
                     (int)first(r, NORMA_MEANFIELD_CASE), first(r, NORMA_MEANFIELD_FIXED_POINT),
                     first(r, NORMA_MEANFIELD_AT_ZERO), first(r, NORMA_MEANFIELD_SLOPE_ONE));
    norma_log_result("rates: printed %.12g, corrected %.12g, asymptotic %.12g%s",
                     first(r, NORMA_MEANFIELD_RATE_PRINTED),
                     first(r, NORMA_MEANFIELD_RATE_CORRECTED),
                     first(r, NORMA_MEANFIELD_RATE_ASYMPTOTIC),
                     first(r, NORMA_MEANFIELD_DECAY_POWER) == 2   ? " / layer^2"
                     : first(r, NORMA_MEANFIELD_DECAY_POWER) == 1 ? " / layer"
                                                                  : "");
    norma_log_result("last layers: factor %.12g measured, %.12g predicted",
                     first(r, NORMA_MEANFIELD_RATE_MEASURED),
                     first(r, NORMA_MEANFIELD_RATE_PREDICTED));
}
