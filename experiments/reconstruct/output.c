#include "experiments/reconstruct/output.h"

#include "experiments/job/sweep_dimensions.h"
#include "experiments/reconstruct/construct/alignment.h"
#include "experiments/reconstruct/construct/layer_values.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/options.h"
#include "mpi/plan/plan.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/stats/interval.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A scalar of a struct and the variable it is written to. */
typedef struct field {
    const char *name;
    const char *units;
    const char *long_name;
    enum { REAL, COUNT } kind; /* double, int64_t */
    size_t offset;
} field;

#define LAYER(kind, member) kind, offsetof(norma_layer_solution, member)
static const field layer_fields[] = {
    {"rmse", "1", "root-mean-square error of the reconstructed kernel", LAYER(REAL, rmse)},
    {"max_error", "1", "largest error of the reconstructed kernel", LAYER(REAL, max_error)},
    {"relative_residual", "1", "norm of the kernel's error over the norm of the kernel",
     LAYER(REAL, relative_residual)},
    {"rmse_floor", "1", "rounding floor that rmse had to reach", LAYER(REAL, floor)},
    {"relative_gradient", "1", "gradient of the least squares over the norms of system, residual",
     LAYER(REAL, relative_gradient)},
    {"rmse_single", "1", "rmse with gamma rounded to single precision", LAYER(REAL, rmse_single)},
    {"iterations", "1", "refinement steps or iterations of the solver", LAYER(COUNT, iterations)},
    {"condition_number", "1", "largest over smallest nonzero singular value of M's n_used features",
     LAYER(REAL, condition_number)},
    {"condition_number_solved", "1", "condition number of the system solved, closing row included",
     LAYER(REAL, condition_number_solved)},
    {"condition_error", "1", "relative error of condition_number, estimated",
     LAYER(REAL, condition_error)},
    {"sigma_max", "1", "largest singular value of M's n_used features", LAYER(REAL, sigma_max)},
    {"sigma_min", "1", "smallest nonzero singular value of M's n_used features",
     LAYER(REAL, sigma_min)},
    {"max_abs_gamma", "1", "largest absolute scale", LAYER(REAL, max_abs_gamma)},
    {"n_rows", "1", "rows of M", LAYER(COUNT, n_rows)},
    {"n_minimum", "1", "features that the width rule asks for", LAYER(COUNT, n_minimum)},
    {"n_features", "1", "features c1", LAYER(COUNT, n_features)},
    {"n_used", "1", "features that took part in the solution", LAYER(COUNT, n_used)},
    {"numerical_rank", "1", "numerical rank of the system, as solved",
     LAYER(COUNT, numerical_rank)},
    {"seconds", "s", "time of factorization and solution", LAYER(REAL, seconds)},
    {"seconds_assembly", "s", "time of the assembly", LAYER(REAL, seconds_assembly)},
    {"seconds_condition", "s", "time of the condition numbers", LAYER(REAL, seconds_condition)},
    {"gflops", "1e9 s-1", "floating-point operations per second of the solution",
     LAYER(REAL, gflops)},
};

#define EXTRA(kind, member) kind, offsetof(norma_reconstruct_layer_extra, member)
static const field extra_fields[] = {
    {"shift_magnitude", "1", "magnitude of what cancels in an output of the source pair",
     EXTRA(REAL, shift_magnitude)},
    {"digits_lost", "1", "decimal digits that the shift costs an output of magnitude 1",
     EXTRA(REAL, digits_lost)},
    {"shift_error_double", "1", "rounding error that the shift costs an output run in FP64",
     EXTRA(REAL, shift_error_double)},
    {"shift_error_single", "1", "rounding error that the shift costs an output run in FP32",
     EXTRA(REAL, shift_error_single)},
    {"activation_epsilon", "1", "bound of an output's error by the activation, 0 when exact",
     EXTRA(REAL, epsilon)},
    {"activation_epsilon_floor", "1", "least attainable activation_epsilon, 0 when exact",
     EXTRA(REAL, epsilon_floor)},
    {"activation_scale", "1", "factor g that brings pre-activations into the linear region",
     EXTRA(REAL, activation_scale)},
};

static const field order_fields[] = {
    {"rmse_given_order", "1", "least rmse with the output channels in the target's own order",
     EXTRA(REAL, rmse_given_order)},
};

#define STRUCTURE(member) COUNT, offsetof(norma_reconstruct_structure, member)
static const field structure_fields[] = {
    {"structural_rank", "1", "rank that the zeros of the source weights leave to the system",
     STRUCTURE(rank)},
    {"structural_deficiency", "1",
     "structural_rank below the smaller of rows of the system and features", STRUCTURE(deficiency)},
    {"structural_lost_channels", "1", "output channels that no solution scales to their target",
     STRUCTURE(n_lost)},
    {"structural_least_width", "1", "features of this seed that suffice, -1 when unknown",
     STRUCTURE(least_width)},
};

#define LOW_RANK(kind, member) kind, offsetof(norma_low_rank, member)
static const field low_rank_fields[] = {
    {"target_rank", "1", "rank that was kept of the target layer's weights", LOW_RANK(COUNT, rank)},
    {"break_even_rank", "1", "largest rank at which two pairs have no more equations than one",
     LOW_RANK(COUNT, break_even)},
    {"truncation_error", "1", "norm of the weights left out over the norm of all",
     LOW_RANK(REAL, truncation)},
};

#define RUN(kind, member) kind, offsetof(norma_evaluate_result, member)
static const field run_fields[] = {
    {"output_max_error", "1", "largest difference of source and target outputs",
     RUN(REAL, output_max_error)},
    {"output_rmse", "1", "root-mean-square difference of source and target outputs",
     RUN(REAL, output_rmse)},
    {"accuracy_target", "1", "accuracy of the target", RUN(REAL, accuracy_target)},
    {"accuracy_source", "1", "accuracy of the source", RUN(REAL, accuracy_source)},
    {"n_decisions_differing", "1", "images on which source and target decide differently",
     RUN(COUNT, n_decisions_differing)},
    {"n_clipped", "1", "hidden pre-activations outside the linear region", RUN(COUNT, n_clipped)},
    {"output_max", "1", "largest absolute output of the target", RUN(REAL, output_max)},
    {"seconds_evaluation", "s", "time in the source network, slowest rank", RUN(REAL, seconds)},
};
static const field teacher_fields[] = {
    {"loss", "1", "mean squared difference of source and teacher outputs", RUN(REAL, mean_square)},
    {"loss_student", "1", "mean squared difference of student and teacher outputs",
     RUN(REAL, mean_square_targets)},
};
enum {
    N_LAYER_FIELDS = sizeof layer_fields / sizeof layer_fields[0],
    N_EXTRA_FIELDS = sizeof extra_fields / sizeof extra_fields[0],
    N_ORDER_FIELDS = sizeof order_fields / sizeof order_fields[0],
    N_STRUCTURE_FIELDS = sizeof structure_fields / sizeof structure_fields[0],
    N_LOW_RANK_FIELDS = sizeof low_rank_fields / sizeof low_rank_fields[0],
    N_RUN_FIELDS = sizeof run_fields / sizeof run_fields[0],
    N_TEACHER_FIELDS = sizeof teacher_fields / sizeof teacher_fields[0],
    N_RUN_AVERAGED = 6 /* the first run_fields have _mean and _ci95 */
};

norma_reconstruct_layer_extra norma_reconstruct_layer_extra_of(const norma_reconstruct_layer *layer)
{
    const norma_maps *maps = layer->maps;
    return (norma_reconstruct_layer_extra){
        .shift_magnitude = maps->magnitude,
        .digits_lost = fmax(0, log10(maps->magnitude)),
        .shift_error_double = maps->magnitude * DBL_EPSILON / 2,
        .shift_error_single = maps->magnitude * (double)FLT_EPSILON / 2,
        .epsilon = maps->region.epsilon,
        .epsilon_floor = maps->region.floor,
        .activation_scale = maps->region.scale,
        .rmse_given_order = layer->rmse_given,
    };
}

static double field_value(const field *f, const void *record)
{
    const char *at = (const char *)record + f->offset;
    return f->kind == REAL ? *(const double *)at : (double)*(const int64_t *)at;
}

static norma_status add_fields(norma_reconstruct_output *output, const field *fields, int n,
                               const char *const *trailing)
{
    for (int i = 0; i < n; i++) {
        norma_variable variable = {.name = fields[i].name,
                                   .type = fields[i].kind == REAL ? NORMA_FLOAT64 : NORMA_INT32,
                                   .units = fields[i].units,
                                   .long_name = fields[i].long_name};
        norma_sweep_dimensions_set(output->config, &variable, trailing);
        NORMA_TRY(norma_schema_add_variable(output->file, "/", &variable));
    }
    return NORMA_OK;
}

norma_reconstruct_writer norma_reconstruct_writer_of_local(norma_reconstruct_output *output,
                                                           const norma_team *team)
{
    return (norma_reconstruct_writer){
        .output = output, .team = team, .is_world = team->chain.size == output->runtime->size};
}

norma_status norma_reconstruct_writer_put_local(const norma_reconstruct_writer *writer,
                                                const char *variable, norma_type type,
                                                const int64_t *start, const int64_t *count,
                                                const void *values)
{
    if (!norma_team_is_root_local(writer->team))
        return NORMA_OK;
    return norma_result_put_local(writer->output->file, variable, type, start, count, values);
}

/* start[] of an element of a sweep's variable: the cell's indices, then trailing ones. */
static norma_status write_field(const norma_reconstruct_writer *writer, const field *f,
                                int64_t cell, const int64_t *trailing, int n_trailing,
                                const void *record)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    double value = field_value(f, record);
    norma_sweep_dimensions_index(writer->output->config, cell, trailing, n_trailing, start);
    if (f->kind == REAL)
        return norma_reconstruct_writer_put_local(writer, f->name, NORMA_FLOAT64, start, NULL,
                                                  &value);
    int32_t count = value > 2147483647.0 ? 2147483647 : (int32_t)value;
    return norma_reconstruct_writer_put_local(writer, f->name, NORMA_INT32, start, NULL, &count);
}

static norma_status add_solver_variable(norma_reconstruct_output *output)
{
    static const char *const per_layer[] = {"replica", "layer", NULL};
    const char *names[NORMA_NAMES_MOST];
    int n_names = norma_names_list(&norma_solver_names, names);
    norma_variable variable = {.name = "solver",
                               .type = NORMA_NAME,
                               .units = "1",
                               .long_name = "solver that was used",
                               .names = {n_names, names}};
    /* Where the solver is swept its name is taken by the dimension. */
    if (norma_sweep_dimensions_has(output->config, "solver"))
        variable.name = "solver_used";
    norma_sweep_dimensions_set(output->config, &variable, per_layer);
    return norma_schema_add_variable(output->file, "/", &variable);
}

static norma_status add_stopping_variable(norma_reconstruct_output *output)
{
    static const char *const per_layer[] = {"replica", "layer", NULL};
    const char *names[NORMA_N_STOPPINGS];
    for (int i = 0; i < NORMA_N_STOPPINGS; i++)
        names[i] = norma_stopping_name((norma_stopping)i);
    norma_variable variable = {.name = "stopping",
                               .type = NORMA_NAME,
                               .units = "1",
                               .long_name = "why L-BFGS stopped (none: another solver)",
                               .names = {NORMA_N_STOPPINGS, names}};
    norma_sweep_dimensions_set(output->config, &variable, per_layer);
    return norma_schema_add_variable(output->file, "/", &variable);
}

static norma_status add_statistics(norma_reconstruct_output *output)
{
    static const char *const none[] = {NULL};
    for (int i = 0; i < N_RUN_AVERAGED; i++) {
        char name[64];
        char pooled[96];
        char long_name[128];
        norma_variable variable = {.name = name,
                                   .type = NORMA_FLOAT64,
                                   .units = run_fields[i].units,
                                   .long_name = long_name};
        snprintf(name, sizeof name, "%s_mean", run_fields[i].name);
        snprintf(long_name, sizeof long_name, "mean over replicas: %s", run_fields[i].long_name);
        norma_sweep_dimensions_set(output->config, &variable, none);
        NORMA_TRY(norma_schema_add_variable(output->file, "/", &variable));
        snprintf(pooled, sizeof pooled, "mean of %s", run_fields[i].name);
        NORMA_TRY(norma_result_set_text(output->file, name, NORMA_POOLED, pooled));
        snprintf(name, sizeof name, "%s_ci95", run_fields[i].name);
        snprintf(long_name, sizeof long_name, "half width of the 95%% confidence interval: %s",
                 run_fields[i].long_name);
        NORMA_TRY(norma_schema_add_variable(output->file, "/", &variable));
        snprintf(pooled, sizeof pooled, "ci95 of %s", run_fields[i].name);
        NORMA_TRY(norma_result_set_text(output->file, name, NORMA_POOLED, pooled));
    }
    return NORMA_OK;
}

static norma_status add_numbered_dimension(norma_reconstruct_output *output, const char *name,
                                           int64_t length, const char *long_name)
{
    int32_t *numbers = NULL;
    NORMA_TRY(norma_agree(output->runtime->world, NORMA_ALLOC(numbers, length)));
    for (int64_t i = 0; i < length; i++)
        numbers[i] = (int32_t)i;
    norma_status status = norma_schema_add_dimension(output->file, "/",
                                                     &(norma_dimension){.name = name,
                                                                        .length = length,
                                                                        .units = "1",
                                                                        .long_name = long_name,
                                                                        .type = NORMA_INT32,
                                                                        .values = numbers});
    NORMA_FREE(numbers);
    return status;
}

static norma_status add_scalars(norma_reconstruct_output *output)
{
    static const char *const per_layer[] = {"replica", "layer", NULL};
    static const char *const per_replica[] = {"replica", NULL};
    NORMA_TRY(norma_sweep_dimensions_add(output->runtime->world, output->config, output->file));
    NORMA_TRY(norma_sweep_dimensions_add_replicas(output->config, output->file, "/", NORMA_INT32,
                                                  "independent draw of the source weights"));
    NORMA_TRY(
        add_numbered_dimension(output, "layer", output->n_layers, "layer of the target network"));
    NORMA_TRY(add_fields(output, layer_fields, N_LAYER_FIELDS, per_layer));
    NORMA_TRY(add_fields(output, extra_fields, N_EXTRA_FIELDS, per_layer));
    if (output->with_orders)
        NORMA_TRY(add_fields(output, order_fields, N_ORDER_FIELDS, per_layer));
    if (output->with_structure)
        NORMA_TRY(add_fields(output, structure_fields, N_STRUCTURE_FIELDS, per_layer));
    if (output->low_rank)
        NORMA_TRY(add_fields(output, low_rank_fields, N_LOW_RANK_FIELDS, per_layer));
    NORMA_TRY(add_solver_variable(output));
    NORMA_TRY(add_stopping_variable(output));
    norma_variable peak = {.name = "peak_memory",
                           .type = NORMA_FLOAT64,
                           .units = "byte",
                           .long_name = "peak resident memory of the largest rank so far"};
    norma_sweep_dimensions_set(output->config, &peak, per_replica);
    NORMA_TRY(norma_schema_add_variable(output->file, "/", &peak));
    if (!output->with_images)
        return NORMA_OK;
    NORMA_TRY(add_fields(output, run_fields, N_RUN_FIELDS, per_replica));
    NORMA_TRY(add_fields(output, teacher_fields, output->n_teacher, per_replica));
    norma_variable rate = {.name = "gflops_evaluation",
                           .type = NORMA_FLOAT64,
                           .units = "1e9 s-1",
                           .long_name = "floating-point operations per second of the source "
                                        "network"};
    norma_sweep_dimensions_set(output->config, &rate, per_replica);
    NORMA_TRY(norma_schema_add_variable(output->file, "/", &rate));
    return add_statistics(output);
}

int64_t norma_reconstruct_output_bytes(const norma_config *config,
                                       const norma_reconstruct_inputs *inputs,
                                       const norma_reconstruct_cell *first)
{
    const int64_t fixed = INT64_C(256) * 1024;
    double replicas = (double)norma_config_get_integer(config, 0, "replicas");
    double cells = (double)norma_config_get_sweep(config)->n_cells;
    bool gamma = norma_config_has(config, "save")
                     ? norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_GAMMA)
                     : cells == 1;
    bool weights = norma_config_has(config, "save") &&
                   norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_WEIGHTS);
    double numbers = 0;
    for (int64_t i = 0; i < first->n_layers; i++) {
        const norma_reconstruct_layer *layer = &first->layers[i];
        double c1 = (double)layer->n_features; /* 0 where the layer is not wanted */
        if (gamma)
            numbers += 2 + 6 * (c1 + (double)layer->source_shape.n_channels_out);
        if (weights && first->drawn.n_images > 0)
            numbers += (double)(layer->shape.n_channels_out * layer->shape.n_channels_in);
        if (weights)
            numbers += c1 * (double)(norma_khatri_rao_width_first(&layer->shape) +
                                     norma_khatri_rao_width_second(&layer->shape));
        if (norma_reconstruct_values_wanted(config) && layer->wanted)
            numbers += (double)norma_reconstruct_values_count(first, i);
        if (first->aligns)
            numbers += 1 + (double)layer->shape.n_channels_out;
        numbers += N_LAYER_FIELDS + N_EXTRA_FIELDS + N_STRUCTURE_FIELDS + N_LOW_RANK_FIELDS + 2;
    }
    numbers += norma_reconstruct_has_images(config, inputs)
                   ? N_RUN_FIELDS + N_TEACHER_FIELDS + 2 + 2 * N_RUN_AVERAGED
                   : 1;
    double bytes = 8 * numbers * replicas * cells +
                   ((gamma ? 20000 : 0) + (weights ? 8000 : 0) + (first->aligns ? 8000 : 0)) *
                       cells * (double)first->n_layers;
    return (int64_t)fmin(bytes, 9e18) + fixed;
}

norma_status
norma_reconstruct_output_layout(norma_reconstruct_output *output, const norma_runtime *runtime,
                                const norma_config *config, const norma_reconstruct_inputs *inputs,
                                const norma_reconstruct_cell *first, norma_result *file)
{
    char digest[NORMA_RECONSTRUCT_DIGEST];
    output->file = file;
    output->config = config;
    output->runtime = runtime;
    output->with_images = norma_reconstruct_has_images(config, inputs);
    output->n_teacher =
        norma_reconstruct_teacher_wanted(config) ? 1 + (inputs->student != NULL) : 0;
    output->low_rank = inputs->low_rank;
    output->with_structure = norma_reconstruct_structure_wanted(config);
    output->with_orders = norma_reconstruct_alignment_wanted(config);
    output->n_replicas = norma_config_get_integer(config, 0, "replicas");
    output->n_layers = first->n_layers;
    output->save_gamma = norma_config_is_single(config);
    if (norma_config_has(config, "save")) {
        output->save_gamma = norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_GAMMA);
        output->save_weights =
            norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_WEIGHTS);
    }
    output->save_values = norma_reconstruct_values_wanted(config);
    norma_reconstruct_digest(inputs, digest);
    if (digest[0])
        NORMA_TRY(norma_result_write_text(file, NORMA_RECONSTRUCT_DIGEST_NAME,
                                          "hash of the target's weights", digest));
    NORMA_TRY(add_scalars(output));
    NORMA_TRY(norma_result_set_text(
        file, "/condition_number", "method",
        norma_reconstruct_conditions[norma_config_get_choice(config, 0, "condition")]));
    return norma_result_set_default(file, output->n_teacher > 0 ? "/loss" : "/rmse");
}

static norma_status put_layer(const norma_reconstruct_writer *writer, int64_t cell, int64_t replica,
                              int64_t layer, const norma_layer_solution *solution,
                              const norma_reconstruct_layer_extra *extra,
                              const norma_reconstruct_structure *structure)
{
    const int64_t at[] = {replica, layer};
    int64_t start[NORMA_MAX_DIMENSIONS];
    for (int i = 0; i < N_LAYER_FIELDS; i++)
        NORMA_TRY(write_field(writer, &layer_fields[i], cell, at, 2, solution));
    for (int i = 0; i < N_EXTRA_FIELDS; i++)
        NORMA_TRY(write_field(writer, &extra_fields[i], cell, at, 2, extra));
    for (int i = 0; writer->output->with_orders && i < N_ORDER_FIELDS; i++)
        NORMA_TRY(write_field(writer, &order_fields[i], cell, at, 2, extra));
    for (int i = 0; writer->output->with_structure && i < N_STRUCTURE_FIELDS; i++)
        NORMA_TRY(write_field(writer, &structure_fields[i], cell, at, 2, structure));
    for (int i = 0; writer->output->low_rank && i < N_LOW_RANK_FIELDS; i++)
        NORMA_TRY(write_field(writer, &low_rank_fields[i], cell, at, 2,
                              &writer->output->low_rank[layer / 2]));
    int8_t solver = (int8_t)solution->solver;
    int8_t stopping = (int8_t)solution->stopping;
    norma_sweep_dimensions_index(writer->output->config, cell, at, 2, start);
    NORMA_TRY(
        norma_reconstruct_writer_put_local(writer, "stopping", NORMA_NAME, start, NULL, &stopping));
    return norma_reconstruct_writer_put_local(
        writer,
        norma_sweep_dimensions_has(writer->output->config, "solver") ? "solver_used" : "solver",
        NORMA_NAME, start, NULL, &solver);
}

norma_status norma_reconstruct_output_layer(const norma_reconstruct_writer *writer, int64_t cell,
                                            int64_t replica, int64_t layer,
                                            const norma_layer_solution *solution,
                                            const norma_reconstruct_layer_extra *extra,
                                            const norma_reconstruct_structure *structure)
{
    return norma_team_agree(writer->team,
                            put_layer(writer, cell, replica, layer, solution, extra, structure));
}

static norma_status put_evaluation(const norma_reconstruct_writer *writer, int64_t cell,
                                   int64_t replica, const norma_evaluate_result *result)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    for (int i = 0; i < N_RUN_FIELDS; i++)
        NORMA_TRY(write_field(writer, &run_fields[i], cell, &replica, 1, result));
    for (int i = 0; i < writer->output->n_teacher; i++)
        NORMA_TRY(write_field(writer, &teacher_fields[i], cell, &replica, 1, result));
    double rate = 1e-9 * result->n_flops / result->seconds;
    norma_sweep_dimensions_index(writer->output->config, cell, &replica, 1, start);
    return norma_reconstruct_writer_put_local(writer, "gflops_evaluation", NORMA_FLOAT64, start,
                                              NULL, &rate);
}

norma_status norma_reconstruct_output_evaluation(const norma_reconstruct_writer *writer,
                                                 int64_t cell, int64_t replica,
                                                 const norma_evaluate_result *result)
{
    return norma_team_agree(writer->team, put_evaluation(writer, cell, replica, result));
}

norma_status norma_reconstruct_output_statistics(norma_reconstruct_output *output, int64_t cell,
                                                 const norma_evaluate_result *results)
{
    double *values = NULL;
    int64_t start[NORMA_MAX_DIMENSIONS];
    norma_status status = NORMA_OK;
    NORMA_TRY(norma_agree(output->runtime->world, NORMA_ALLOC(values, output->n_replicas)));
    norma_sweep_dimensions_index(output->config, cell, NULL, 0, start);
    for (int i = 0; i < N_RUN_AVERAGED; i++) {
        double mean = 0;
        double half_width = 0;
        char name[64];
        for (int64_t r = 0; r < output->n_replicas; r++)
            values[r] = field_value(&run_fields[i], &results[r]);
        norma_interval_mean(values, output->n_replicas, 0.95, &mean, &half_width);
        snprintf(name, sizeof name, "%s_mean", run_fields[i].name);
        NORMA_GOTO(status, norma_result_write_replicated(output->file, name, NORMA_FLOAT64, start,
                                                         NULL, &mean));
        snprintf(name, sizeof name, "%s_ci95", run_fields[i].name);
        NORMA_GOTO(status, norma_result_write_replicated(output->file, name, NORMA_FLOAT64, start,
                                                         NULL, &half_width));
    }
done:
    NORMA_FREE(values);
    return status;
}

norma_status norma_reconstruct_output_memory(norma_reconstruct_output *output, int64_t cell,
                                             int64_t replica)
{
    int64_t start[NORMA_MAX_DIMENSIONS];
    norma_status status = NORMA_OK;
    double peak = (double)norma_plan_peak_memory(output->runtime);
    norma_sweep_dimensions_index(output->config, cell, &replica, 1, start);
    if (output->runtime->rank == 0)
        status =
            norma_result_put_local(output->file, "peak_memory", NORMA_FLOAT64, start, NULL, &peak);
    return norma_agree(output->runtime->world, status);
}
