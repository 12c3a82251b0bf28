/* The values of a block into the result file. */
#include "experiments/chain/output.h"

#include "experiments/job/sweep_dimensions.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 96 };

/* Where a block's part of a variable lies: the cell, its replicas, and up to two inner axes. */
typedef struct part {
    int64_t start[NORMA_MAX_DIMENSIONS], count[NORMA_MAX_DIMENSIONS];
} part;

static part place(const norma_chain_output *output, const norma_chain_cell *cell, int64_t first,
                  int64_t count, int64_t inner)
{
    const norma_config *config = output->setup->config;
    int n = (int)norma_config_get_sweep(config)->n_axes;
    const int64_t at[] = {first, 0, 0};
    part p;
    norma_sweep_dimensions_index(config, cell->number, at, 3, p.start);
    for (int i = 0; i < n; i++)
        p.count[i] = 1;
    p.count[n++] = count;
    if (inner > 0)
        p.count[n] = inner;
    return p;
}

/* The same of an observable's records begin .. begin + n - 1. */
static part place_records(const norma_chain_output *output, const norma_chain_cell *cell,
                          const norma_chain_piece *piece, int o, int64_t inner)
{
    int layer = (int)norma_config_get_sweep(output->setup->config)->n_axes + 1 + (inner > 0);
    part p = place(output, cell, piece->first, piece->count, inner);
    p.start[layer] = piece->begin[o];
    p.count[layer] = piece->n[o];
    return p;
}

/* The same for what a cell has without replicas. */
static part place_cell(const norma_chain_output *output, const norma_chain_cell *cell,
                       int64_t inner)
{
    const norma_config *config = output->setup->config;
    int n = (int)norma_config_get_sweep(config)->n_axes;
    const int64_t at[] = {0};
    part p;
    norma_sweep_dimensions_index(config, cell->number, at, 1, p.start);
    for (int i = 0; i < n; i++)
        p.count[i] = 1;
    if (inner > 0)
        p.count[n] = inner;
    return p;
}

static bool has_inner(int o)
{
    return norma_observable_get((norma_observable)o)->axis != NORMA_OBSERVABLE_AXIS_ONE;
}

static norma_status write_numbers(norma_chain_output *output, const char *name, const part *p,
                                  int64_t n, const double *values, bool as_counts)
{
    int32_t *counts = NULL;
    if (!as_counts)
        return norma_result_write_local(output->file, name, NORMA_FLOAT64, p->start, p->count,
                                        values);
    NORMA_TRY(NORMA_ALLOC(counts, n));
    for (int64_t i = 0; i < n; i++)
        counts[i] = isnan(values[i]) ? NORMA_MISSING_INT32 : (int32_t)values[i];
    norma_status status =
        norma_result_write_local(output->file, name, NORMA_INT32, p->start, p->count, counts);
    norma_mem_free(counts);
    return status;
}

/* from[record][value][lane] becomes [replica][value][record]. */
static norma_status write_records(norma_chain_output *output, const norma_chain_cell *cell,
                                  const norma_chain_piece *piece, int o, int64_t n_values,
                                  const double *from)
{
    int64_t n_layers = piece->n[o];
    int64_t n = piece->count * n_values * n_layers;
    double *values = NULL;
    part p = place_records(output, cell, piece, o, has_inner(o) ? n_values : 0);
    NORMA_TRY(NORMA_ALLOC(values, n));
    for (int64_t r = 0; r < piece->count; r++)
        for (int64_t v = 0; v < n_values; v++)
            for (int64_t l = 0; l < n_layers; l++)
                values[(r * n_values + v) * n_layers + l] =
                    from[(l * n_values + v) * piece->lanes + r];
    norma_status status =
        write_numbers(output, norma_observable_name((norma_observable)o), &p, n, values,
                      norma_observable_get((norma_observable)o)->is_count);
    norma_mem_free(values);
    return status;
}

norma_status norma_chain_output_piece_local(norma_chain_output *output,
                                            const norma_chain_cell *cell,
                                            const norma_chain_layout *layout,
                                            const norma_chain_piece *piece, const double *records)
{
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        if (piece->n[o] == 0)
            continue;
        NORMA_TRY(write_records(output, cell, piece, o, layout->n_of[o], records));
        records += piece->n[o] * layout->n_of[o] * piece->lanes;
    }
    return NORMA_OK;
}

/* One field of the averages of an observable, [replica][value]. */
static norma_status write_field(norma_chain_output *output, const norma_chain_cell *cell,
                                const norma_chain_layout *layout, int o, const char *suffix,
                                double (*field)(const norma_ergodic_result *),
                                const norma_chain_outcome *outcome)
{
    const norma_chain_progress *progress = outcome->progress;
    int64_t n_values = layout->n_of[o];
    char name[NAME_LENGTH];
    double *values = NULL;
    int8_t *flags = NULL;
    bool flag = strcmp(suffix, "too_short") == 0;
    int64_t n = progress->count * n_values;
    part p = place(output, cell, progress->first, progress->count, has_inner(o) ? n_values : 0);
    snprintf(name, sizeof name, "%s_%s", norma_observable_name((norma_observable)o), suffix);
    norma_status status = NORMA_ALLOC(values, n);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(flags, n);
    for (int64_t i = 0; i < n && status == NORMA_OK; i++) {
        int64_t at = (layout->offset[o] + i % n_values) * layout->lanes + i / n_values;
        values[i] = field(&outcome->averages[at].result);
        flags[i] = values[i] != 0 ? 1 : 0;
    }
    if (status == NORMA_OK)
        status =
            flag ? norma_result_write_local(output->file, name, NORMA_NAME, p.start, p.count, flags)
                 : write_numbers(output, name, &p, n, values, false);
    norma_mem_free(flags);
    norma_mem_free(values);
    return status;
}

static double get_mean(const norma_ergodic_result *r)
{
    return r->mean;
}

static double get_error(const norma_ergodic_result *r)
{
    return r->standard_error;
}

static double get_tau(const norma_ergodic_result *r)
{
    return r->tau;
}

static double get_ess(const norma_ergodic_result *r)
{
    return r->ess;
}

static double get_burn_in(const norma_ergodic_result *r)
{
    return (double)r->burn_in;
}

static double get_too_short(const norma_ergodic_result *r)
{
    return r->too_short ? 1 : 0;
}

static norma_status write_averages(norma_chain_output *output, const norma_chain_cell *cell,
                                   const norma_chain_layout *layout, int o,
                                   const norma_chain_outcome *outcome)
{
    static const struct {
        const char *suffix;
        double (*get)(const norma_ergodic_result *);
    } fields[] = {{"mean", get_mean}, {"stderr", get_error},    {"tau_int", get_tau},
                  {"ess", get_ess},   {"burn_in", get_burn_in}, {"too_short", get_too_short}};
    for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
        NORMA_TRY(write_field(output, cell, layout, o, fields[f].suffix, fields[f].get, outcome));
    return NORMA_OK;
}

static norma_status write_rest(norma_chain_output *output, const norma_chain_cell *cell,
                               const norma_chain_layout *layout, const norma_chain_outcome *outcome)
{
    const norma_chain_progress *progress = outcome->progress;
    part p = place(output, cell, progress->first, progress->count, 0);
    if (layout->n_of[NORMA_OBSERVABLE_TR_M3] > 0 && layout->n_of[NORMA_OBSERVABLE_TR_DIAG2] > 0) {
        NORMA_TRY(norma_result_write_local(output->file, "regularity_alpha", NORMA_FLOAT64, p.start,
                                           p.count, outcome->regularity));
        NORMA_TRY(norma_result_write_local(output->file, "regularity_alpha_stderr", NORMA_FLOAT64,
                                           p.start, p.count, outcome->regularity + layout->lanes));
    }
    if (layout->n_exponents == 0)
        return NORMA_OK;
    double *values = NULL;
    int64_t n = layout->n_exponents;
    NORMA_TRY(NORMA_ALLOC(values, progress->count * n));
    for (int64_t i = 0; i < progress->count * n; i++)
        values[i] = outcome->exponents[i % n * layout->lanes + i / n];
    p = place(output, cell, progress->first, progress->count, n);
    norma_status status =
        norma_result_write_local(output->file, "lyapunov", NORMA_FLOAT64, p.start, p.count, values);
    norma_mem_free(values);
    return status;
}

/* Writes the error of single precision, from the block with replica 0. */
static norma_status write_differences(norma_chain_output *output, const norma_chain_cell *cell,
                                      const norma_chain_layout *layout,
                                      const norma_chain_outcome *outcome)
{
    static const char *const suffixes[] = {"difference", "relative"};
    const int32_t n_layers = (int32_t)cell->n_compared;
    char name[NAME_LENGTH];
    part p = place_cell(output, cell, 0);
    if (!outcome->differences || outcome->progress->first != 0)
        return NORMA_OK;
    NORMA_TRY(norma_result_write_local(output->file, "single_layers", NORMA_INT32, p.start, p.count,
                                       &n_layers));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        for (int s = 0; s < 2 && layout->n_of[o] > 0; s++) {
            const double *values = outcome->differences + s * layout->n_values + layout->offset[o];
            p = place_cell(output, cell, has_inner(o) ? layout->n_of[o] : 0);
            snprintf(name, sizeof name, "%s_single_%s", norma_observable_name((norma_observable)o),
                     suffixes[s]);
            NORMA_TRY(norma_result_write_local(output->file, name, NORMA_FLOAT64, p.start, p.count,
                                               values));
        }
    return NORMA_OK;
}

static norma_status write_seconds(norma_chain_output *output, const norma_chain_cell *cell,
                                  const norma_chain_progress *progress)
{
    double seconds[NORMA_CHAIN_MOST_LANES];
    part p = place(output, cell, progress->first, progress->count, 0);
    for (int64_t r = 0; r < progress->count; r++)
        seconds[r] = progress->seconds;
    return norma_result_write_local(output->file, "seconds", NORMA_FLOAT64, p.start, p.count,
                                    seconds);
}

norma_status norma_chain_output_write_local(norma_chain_output *output,
                                            const norma_chain_cell *cell,
                                            const norma_chain_layout *layout,
                                            const norma_chain_outcome *outcome)
{
    for (int o = 0; o < NORMA_N_OBSERVABLES && output->setup->averages; o++)
        if (layout->n_of[o] > 0)
            NORMA_TRY(write_averages(output, cell, layout, o, outcome));
    if (output->setup->averages)
        NORMA_TRY(write_rest(output, cell, layout, outcome));
    NORMA_TRY(write_differences(output, cell, layout, outcome));
    return write_seconds(output, cell, outcome->progress);
}
