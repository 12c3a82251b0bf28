#include "experiments/align/output.h"

#include "experiments/job/sweep_dimensions.h"

#include <math.h>

int64_t norma_align_output_bytes(const norma_align_layout *layout)
{
    int64_t n =
        NORMA_N_ALIGN_SCALARS + layout->n_searches * (NORMA_N_ALIGN_RESULTS + layout->n_channels);
    return 8 * n * layout->n_cells * layout->n_replicas + 200000;
}

static norma_status add_variable(norma_job_context *job, const norma_variable *about,
                                 const char *const *trailing)
{
    norma_variable variable = *about;
    norma_sweep_dimensions_set(job->config, &variable, trailing);
    return norma_schema_add_variable(job->file, "/", &variable);
}

static norma_status add_searches(norma_job_context *job, const norma_align_layout *layout)
{
    static const char *const search[] = {"replica", "search", NULL};
    static const char *const channel[] = {"replica", "search", "channel", NULL};
    const norma_variable permutation = {
        .name = "permutation",
        .type = NORMA_INT32,
        .units = "1",
        .long_name = "target row that an output channel of the features takes"};
    const char *names[NORMA_N_ALIGN_SEARCHES];
    int8_t numbers[NORMA_N_ALIGN_SEARCHES];
    for (int s = 0; s < layout->n_searches; s++) {
        names[s] = norma_names_name(&norma_align_search_names, layout->searches[s]);
        numbers[s] = (int8_t)s;
    }
    NORMA_TRY(norma_schema_add_dimension(
        job->file, "/",
        &(norma_dimension){.name = "search",
                           .length = layout->n_searches,
                           .units = "1",
                           .long_name = "how the permutation was searched for",
                           .type = NORMA_NAME,
                           .values = numbers,
                           .names = {layout->n_searches, names}}));
    NORMA_TRY(norma_schema_add_axis(job->file, "/", "channel", layout->n_channels,
                                    "output channel of the features"));
    for (int i = 0; i < NORMA_N_ALIGN_RESULTS; i++)
        NORMA_TRY(add_variable(job, &norma_align_results[i], search));
    NORMA_TRY(add_variable(job, &permutation, channel));
    return norma_result_set_default(job->file, "/rmse");
}

norma_status norma_align_output_begin(norma_job_context *job, const norma_align_layout *layout)
{
    static const char *const replica[] = {"replica", NULL};
    norma_result *file = job->file;
    NORMA_TRY(norma_sweep_dimensions_add(job->runtime->world, job->config, file));
    NORMA_TRY(norma_sweep_dimensions_add_replicas(job->config, file, "/", NORMA_INT32,
                                                  "independent draw of features and target"));
    for (int i = 0; i < NORMA_N_ALIGN_SCALARS; i++)
        NORMA_TRY(add_variable(job, &norma_align_scalars[i], replica));
    if (layout->n_searches > 0)
        NORMA_TRY(add_searches(job, layout));
    else
        NORMA_TRY(norma_result_set_default(file, "/match_probability"));
    return norma_result_begin(file);
}

/* A number in its variable's type; NaN stays missing in integers. */
static norma_status write_number(const norma_job_context *job, const norma_variable *about,
                                 const int64_t *start, double value)
{
    int64_t whole = isnan(value) ? NORMA_MISSING_INT64 : (int64_t)value;
    const void *data = about->type == NORMA_INT64 ? (const void *)&whole : (const void *)&value;
    return norma_result_write_local(job->file, about->name, about->type, start, NULL, data);
}

static norma_status write_permutation(const norma_job_context *job, int64_t cell, const int64_t *at,
                                      int64_t n, const double *permutation)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    for (int64_t i = 0; i < n && !isnan(permutation[i]); i++) {
        const int64_t trailing[3] = {at[0], at[1], i};
        const int32_t row = (int32_t)permutation[i];
        norma_sweep_dimensions_index(job->config, cell, trailing, 3, start);
        NORMA_TRY(
            norma_result_write_local(job->file, "permutation", NORMA_INT32, start, NULL, &row));
    }
    return NORMA_OK;
}

norma_status norma_align_output_write_local(const norma_job_context *job, int64_t cell,
                                            int64_t replica, const norma_align_record *record)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    norma_sweep_dimensions_index(job->config, cell, &replica, 1, start);
    for (int i = 0; i < NORMA_N_ALIGN_SCALARS; i++)
        NORMA_TRY(write_number(job, &norma_align_scalars[i], start, record->scalars[i]));
    for (int64_t s = 0; s < record->n_searches; s++) {
        const int64_t at[2] = {replica, s};
        norma_sweep_dimensions_index(job->config, cell, at, 2, start);
        for (int i = 0; i < NORMA_N_ALIGN_RESULTS; i++)
            NORMA_TRY(write_number(job, &norma_align_results[i], start,
                                   record->results[i * record->n_searches + s]));
        NORMA_TRY(write_permutation(job, cell, at, record->n_channels,
                                    record->permutations + s * record->n_channels));
    }
    return NORMA_OK;
}
