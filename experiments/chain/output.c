#include "experiments/chain/output.h"

#include "experiments/job/sweep_dimensions.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 96, LONG_NAME_LENGTH = 192 };

static const char *const no_yes[] = {"no", "yes"};

/* The parts of every average of every replica, with their names in the file. */
static const struct {
    const char *suffix, *long_name;
} averages[] = {
    {"mean", "average along the chain after burn-in"},
    {"stderr", "standard error of the average along the chain"},
    {"tau_int", "integrated autocorrelation time, in measured layers"},
    {"ess", "effective sample size"},
    {"burn_in", "measured layers left out as burn-in"},
};
enum { N_AVERAGES = sizeof averages / sizeof averages[0] };

static norma_status add(norma_chain_output *output, const char *name, const char *long_name,
                        norma_type type, const char *const *trailing)
{
    norma_variable variable = {.name = name, .type = type, .units = "1", .long_name = long_name};
    if (type == NORMA_NAME)
        variable.names = (norma_schema_names){2, no_yes};
    norma_sweep_dimensions_set(output->setup->config, &variable, trailing);
    return norma_schema_add_variable(output->file, "/", &variable);
}

/* The dimension between replica and layer; NULL for observables with one value. */
static const char *inner_dimension(int o)
{
    return norma_observable_axis_name(norma_observable_get((norma_observable)o)->axis);
}

static bool is_wanted(const norma_chain_setup *setup, int o)
{
    return (setup->wanted & NORMA_OBSERVABLE_BIT(o)) != 0;
}

/* Does a wanted observable have values along the axis? */
static bool has_axis(const norma_chain_setup *setup, norma_observable_axis axis)
{
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if (is_wanted(setup, o) && norma_observable_get((norma_observable)o)->axis == axis)
            return true;
    return false;
}

/* The observable whose layers are the dimension `layer`; the others' may have their own. */
static int first_wanted(const norma_chain_setup *setup)
{
    int o = 0;
    while (o < NORMA_N_OBSERVABLES - 1 && !is_wanted(setup, o))
        o++;
    return o;
}

static void layer_dimension(const norma_chain_setup *setup, int o, char name[NAME_LENGTH])
{
    int first = first_wanted(setup);
    if (setup->stride[o] == setup->stride[first])
        snprintf(name, NAME_LENGTH, "layer");
    else
        snprintf(name, NAME_LENGTH, "layer_%s", norma_observable_name((norma_observable)o));
}

static norma_status add_axis(norma_chain_output *output, const char *name, int64_t length,
                             const char *long_name, norma_type type, const void *values)
{
    return norma_schema_add_dimension(output->file, "/",
                                      &(norma_dimension){.name = name,
                                                         .length = length,
                                                         .units = "1",
                                                         .long_name = long_name,
                                                         .type = type,
                                                         .values = values});
}

static norma_status add_counted_axis(norma_chain_output *output, const char *name, int64_t length,
                                     int64_t first, const char *long_name)
{
    int64_t *numbers = NULL;
    norma_status status = NORMA_ALLOC(numbers, length);
    NORMA_TRY(norma_agree(output->runtime->world, status));
    for (int64_t i = 0; i < length; i++)
        numbers[i] = first + i;
    status = add_axis(output, name, length, long_name, NORMA_INT64, numbers);
    norma_mem_free(numbers);
    return status;
}

/* norma_dimension's */
static void fill_layers(const void *context, int64_t first, int64_t n, void *out)
{
    int64_t *layers = out;
    for (int64_t i = 0; i < n; i++)
        layers[i] = norma_chain_schedule_layer(context, first + i);
}

static norma_status add_axes(norma_chain_output *output)
{
    const norma_chain_setup *setup = output->setup;
    int64_t n_k = has_axis(setup, NORMA_OBSERVABLE_AXIS_K) ? setup->axes.n_singular : 0;
    n_k = setup->n_exponents > n_k ? setup->n_exponents : n_k;
    NORMA_TRY(norma_sweep_dimensions_add(output->runtime->world, setup->config, output->file));
    NORMA_TRY(norma_sweep_dimensions_add_replicas(setup->config, output->file, "/", NORMA_INT64,
                                                  "independent chain"));
    if (has_axis(setup, NORMA_OBSERVABLE_AXIS_TAU))
        NORMA_TRY(add_axis(output, "tau", setup->axes.n_tau, "threshold of the soft rank",
                           NORMA_FLOAT64, setup->axes.tau));
    if (n_k > 0)
        NORMA_TRY(add_counted_axis(output, "k", n_k, 1, "number from the largest"));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        const norma_chain_schedule *schedule = &setup->schedule[o];
        char name[NAME_LENGTH];
        layer_dimension(setup, o, name);
        if (is_wanted(setup, o) && schedule->n > 0 &&
            (o == first_wanted(setup) || strcmp(name, "layer") != 0))
            NORMA_TRY(
                norma_schema_add_dimension(output->file, "/",
                                           &(norma_dimension){.name = name,
                                                              .length = schedule->n,
                                                              .units = "1",
                                                              .long_name = "layer, 0 is the input",
                                                              .type = NORMA_INT64,
                                                              .fill = fill_layers,
                                                              .context = schedule}));
    }
    return NORMA_OK;
}

static norma_status add_observable(norma_chain_output *output, int o)
{
    const norma_chain_setup *setup = output->setup;
    const char *base = norma_observable_name((norma_observable)o);
    const char *what = norma_observable_get((norma_observable)o)->summary;
    const char *inner = inner_dimension(o);
    char layer[NAME_LENGTH];
    char name[NAME_LENGTH];
    char long_name[LONG_NAME_LENGTH];
    layer_dimension(setup, o, layer);
    const char *records[] = {"replica", inner ? inner : layer, inner ? layer : NULL, NULL};
    const char *per_replica[] = {"replica", inner, NULL};
    const char *pooled[] = {inner, NULL};
    bool count = norma_observable_get((norma_observable)o)->is_count;
    if (setup->schedule[o].n > 0)
        NORMA_TRY(add(output, base, what, count ? NORMA_INT32 : NORMA_FLOAT64, records));
    if (!setup->averages)
        return NORMA_OK;
    for (int a = 0; a < N_AVERAGES; a++) {
        snprintf(name, sizeof name, "%s_%s", base, averages[a].suffix);
        snprintf(long_name, sizeof long_name, "%s: %s", what, averages[a].long_name);
        NORMA_TRY(add(output, name, long_name, NORMA_FLOAT64, per_replica));
    }
    snprintf(name, sizeof name, "%s_too_short", base);
    snprintf(long_name, sizeof long_name, "%s: are these fewer than 50 autocorrelation times",
             what);
    NORMA_TRY(add(output, name, long_name, NORMA_NAME, per_replica));
    snprintf(name, sizeof name, "%s_rhat", base);
    snprintf(long_name, sizeof long_name, "%s: split R-hat over the replicas", what);
    NORMA_TRY(add(output, name, long_name, NORMA_FLOAT64, pooled));
    snprintf(name, sizeof name, "%s_pooled_mean", base);
    snprintf(long_name, sizeof long_name, "%s: average over layers and replicas", what);
    NORMA_TRY(add(output, name, long_name, NORMA_FLOAT64, pooled));
    snprintf(name, sizeof name, "%s_pooled_stderr", base);
    snprintf(long_name, sizeof long_name, "%s: standard error of the pooled average", what);
    return add(output, name, long_name, NORMA_FLOAT64, pooled);
}

static bool has_regularity(const norma_chain_setup *setup)
{
    return setup->averages && is_wanted(setup, NORMA_OBSERVABLE_TR_M3) &&
           is_wanted(setup, NORMA_OBSERVABLE_TR_DIAG2);
}

/* Pooled over replicas: a value that is not an average of an observable. */
static norma_status add_pooled(norma_chain_output *output, const char *base, const char *what,
                               const char *const *trailing)
{
    char name[NAME_LENGTH];
    char long_name[LONG_NAME_LENGTH];
    snprintf(name, sizeof name, "%s_pooled_mean", base);
    snprintf(long_name, sizeof long_name, "%s: average over the replicas", what);
    NORMA_TRY(add(output, name, long_name, NORMA_FLOAT64, trailing));
    snprintf(name, sizeof name, "%s_pooled_stderr", base);
    snprintf(long_name, sizeof long_name, "%s: standard error of the average over the replicas",
             what);
    return add(output, name, long_name, NORMA_FLOAT64, trailing);
}

static norma_status add_others(norma_chain_output *output)
{
    static const char *const per_replica[] = {"replica", NULL};
    static const char *const per_exponent[] = {"replica", "k", NULL};
    const norma_chain_setup *setup = output->setup;
    if (has_regularity(setup)) {
        NORMA_TRY(add(output, "regularity_alpha",
                      "regularity constant: average of tr(diag(M^2)^2) over average of tr(M^3)",
                      NORMA_FLOAT64, per_replica));
        NORMA_TRY(add(output, "regularity_alpha_stderr",
                      "standard error of the regularity constant", NORMA_FLOAT64, per_replica));
        NORMA_TRY(add_pooled(output, "regularity_alpha", "regularity constant", per_replica + 1));
    }
    if (setup->n_exponents == 0 || !setup->averages)
        return NORMA_OK;
    NORMA_TRY(add(output, "lyapunov", "Lyapunov exponents, natural logarithm a layer",
                  NORMA_FLOAT64, per_exponent));
    return add_pooled(output, "lyapunov", "Lyapunov exponents", per_exponent + 1);
}

static norma_status add_differences(norma_chain_output *output, int o)
{
    const char *base = norma_observable_name((norma_observable)o);
    const char *pooled[] = {inner_dimension(o), NULL};
    char name[NAME_LENGTH];
    char long_name[LONG_NAME_LENGTH];
    snprintf(name, sizeof name, "%s_single_difference", base);
    snprintf(long_name, sizeof long_name,
             "%s: largest difference of single precision from double over the first single_layers "
             "layers of replica 0",
             base);
    NORMA_TRY(add(output, name, long_name, NORMA_FLOAT64, pooled));
    snprintf(name, sizeof name, "%s_single_relative", base);
    snprintf(long_name, sizeof long_name,
             "%s: that difference over the largest magnitude in double precision", base);
    return add(output, name, long_name, NORMA_FLOAT64, pooled);
}

/* Variables for the error of single precision. */
static norma_status add_comparison(norma_chain_output *output)
{
    static const char *const none[] = {NULL};
    if (!output->setup->single)
        return NORMA_OK;
    NORMA_TRY(add(output, "single_layers",
                  "layers of replica 0 that were run in single and double precision to compare",
                  NORMA_INT32, none));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if (output->setup->single & NORMA_OBSERVABLE_BIT(o))
            NORMA_TRY(add_differences(output, o));
    return NORMA_OK;
}

static norma_status add_variables(norma_chain_output *output)
{
    static const char *const per_replica[] = {"replica", NULL};
    const norma_chain_setup *setup = output->setup;
    NORMA_TRY(add_axes(output));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if (is_wanted(setup, o))
            NORMA_TRY(add_observable(output, o));
    NORMA_TRY(add_others(output));
    NORMA_TRY(add_comparison(output));
    norma_variable seconds = {.name = "seconds",
                              .type = NORMA_FLOAT64,
                              .units = "s",
                              .long_name = "time of the block that the replica was computed in"};
    norma_sweep_dimensions_set(setup->config, &seconds, per_replica);
    return norma_schema_add_variable(output->file, "/", &seconds);
}

int64_t norma_chain_output_bytes(const norma_chain_setup *setup)
{
    const int64_t fixed = 524288;
    double numbers = 2;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        double values = (double)norma_observable_n_values((norma_observable)o, &setup->axes);
        if (is_wanted(setup, o))
            numbers += values * ((double)setup->schedule[o].n + N_AVERAGES + 1);
    }
    numbers += (double)setup->n_exponents;
    double bytes = 8 * numbers * (double)setup->n_replicas * (double)setup->n_cells;
    return (int64_t)fmin(bytes, 9e18) + fixed;
}

norma_status norma_chain_output_layout(norma_chain_output *output, const norma_runtime *runtime,
                                       const norma_chain_setup *setup, norma_result *file)
{
    char signal[NAME_LENGTH];
    memset(output, 0, sizeof *output);
    output->file = file;
    output->setup = setup;
    output->runtime = runtime;
    norma_status status = NORMA_ALLOC(output->summary_at, setup->n_tasks);
    NORMA_TRY(norma_agree(runtime->world, status));
    for (int64_t i = 0; i < setup->n_tasks; i++)
        output->summary_at[i] = -1;
    if (setup->single)
        NORMA_TRY(norma_result_set_text(
            output->file, "/", "single_precision",
            "H and W rounded to FP32, W H in FP32; normalization, activation and observables in "
            "FP64 (cells with precision single)"));
    NORMA_TRY(add_variables(output));
    snprintf(signal, sizeof signal, "/%s",
             norma_observable_name((norma_observable)first_wanted(setup)));
    if (setup->wanted && setup->schedule[first_wanted(setup)].n > 0)
        NORMA_TRY(norma_result_set_default(output->file, signal));
    return norma_result_begin(output->file);
}

void norma_chain_output_clear(norma_chain_output *output)
{
    NORMA_FREE(output->summaries);
    NORMA_FREE(output->summary_at);
}
