/* Records of stacks: sizes, what a replica measures. */
#include "experiments/reconstruct/stack/stack.h"

#include "experiments/reconstruct/options.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem.h"
#include "src/construct/dense.h"
#include "src/network/bounds.h"

#include <math.h>
#include <string.h>

#define NUMBER(label, kind, unit, text)                                                            \
    {                                                                                              \
        .name = (label), .type = (kind), .units = (unit), .long_name = (text)                      \
    }

const norma_variable norma_stack_variables[NORMA_N_STACK_NUMBERS] = {
    NUMBER("rmse", NORMA_FLOAT64, "1", "root-mean-square error of the reconstructed weights"),
    NUMBER("max_error", NORMA_FLOAT64, "1", "largest error of the reconstructed weights"),
    NUMBER("relative_residual", NORMA_FLOAT64, "1",
           "norm of the weights' error over the norm of the weights"),
    NUMBER("n_rows", NORMA_INT64, "1", "weights of the target layer, the equations"),
    NUMBER("n_minimum", NORMA_INT64, "1", "width that the theorem asks for"),
    NUMBER("n_features", NORMA_INT64, "1", "width of the source"),
    NUMBER("n_stages", NORMA_INT64, "1", "source layers in the target layer's place"),
    NUMBER("condition_number", NORMA_FLOAT64, "1", "largest condition of the systems solved"),
    NUMBER("digits_left", NORMA_FLOAT64, "1",
           "decimal digits that the solution keeps, predicted from the condition"),
    NUMBER("max_abs_gamma", NORMA_FLOAT64, "1", "largest absolute scale"),
    NUMBER("shift_magnitude", NORMA_FLOAT64, "1", "magnitude of what cancels in an output"),
    NUMBER("shift_error_double", NORMA_FLOAT64, "1",
           "root-mean-square rounding error of an output run in FP64, estimated"),
    NUMBER("seconds", NORMA_FLOAT64, "s", "time of draw and solution"),
};

const norma_variable norma_stack_run_variables[NORMA_N_STACK_OUTPUTS] = {
    NUMBER("output_max_error", NORMA_FLOAT64, "1",
           "largest difference of source and target outputs"),
    NUMBER("output_rmse", NORMA_FLOAT64, "1",
           "root-mean-square difference of source and target outputs"),
    NUMBER("output_max", NORMA_FLOAT64, "1", "largest absolute output of the target"),
    NUMBER("n_clipped", NORMA_INT64, "1", "hidden pre-activations outside the linear region"),
    NUMBER("n_decisions_differing", NORMA_INT64, "1",
           "inputs on which the largest outputs of source and target differ"),
};

norma_activation norma_stack_activation(const norma_stack_place *place)
{
    return place->cell->layers[place->number].activation;
}

norma_tensor_spec norma_stack_weights(const norma_stack_place *place)
{
    return (norma_tensor_spec){.distribution = place->cell->distribution,
                               .keep_probability = place->cell->keep_probability,
                               .seed = place->cell->seed,
                               .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS,
                                          .replica = place->cell->first_replica + place->replica,
                                          .cell = place->cell->stream_cell}};
}

int64_t norma_stack_inputs(const norma_stack_place *place)
{
    const norma_layer *target = &place->cell->network->layers[place->number];
    return target->n_channels_in * norma_kernel_taps(target->kernel);
}

norma_status norma_stack_record_init(const norma_stack_layout *l, norma_stack_record *record)
{
    const norma_stack_kind *kind = l->kind;
    int64_t n_layer = NORMA_N_STACK_NUMBERS + kind->n_layer_variables +
                      kind->n_stage_variables * l->n_stages + l->n_scales + l->n_shifts;
    memset(record, 0, sizeof *record);
    record->n_numbers = NORMA_N_STACK_OUTPUTS + l->n_layers * n_layer;
    NORMA_TRY(NORMA_ALLOC(record->numbers, record->n_numbers));
    for (int64_t i = 0; i < record->n_numbers; i++)
        record->numbers[i] = NAN;
    record->outputs = record->numbers;
    record->common = record->outputs + NORMA_N_STACK_OUTPUTS;
    record->layers = record->common + l->n_layers * NORMA_N_STACK_NUMBERS;
    record->stages = record->layers + l->n_layers * kind->n_layer_variables;
    record->scales = record->stages + l->n_layers * kind->n_stage_variables * l->n_stages;
    record->shifts = record->scales + l->n_layers * l->n_scales;
    return NORMA_OK;
}

void norma_stack_record_clear(norma_stack_record *record)
{
    NORMA_FREE(record->numbers);
    memset(record, 0, sizeof *record);
}

/* --- measuring -------------------------------------------------------------------------------- */

/* Errors of the weights. */
static norma_status compare_weights(const norma_stack_place *place, const norma_stack_kind *kind,
                                    const void *source, double *common)
{
    const norma_layer *target = &place->cell->network->layers[place->number];
    int64_t n = norma_layer_weight_size(target);
    double *map = NULL;
    double error2 = 0;
    double target2 = 0;
    double largest = 0;
    NORMA_TRY(NORMA_ALLOC(map, n));
    norma_status status = kind->compose(source, map);
    for (int64_t e = 0; e < n; e++) {
        double error = map[e] - target->weight[e];
        error2 += error * error;
        target2 += target->weight[e] * target->weight[e];
        largest = fmax(largest, fabs(error));
    }
    common[NORMA_STACK_RMSE] = sqrt(error2 / (double)n);
    common[NORMA_STACK_MAX_ERROR] = largest;
    common[NORMA_STACK_RELATIVE_RESIDUAL] = sqrt(error2 / target2);
    NORMA_FREE(map);
    return status;
}

/* Shifts for the range of the layer's inputs, equal for the taps of a channel. */
static norma_status open_layer(const norma_stack_place *place, const norma_stack_kind *kind,
                               void *source, double *common)
{
    const norma_layer *target = &place->cell->network->layers[place->number];
    int64_t c0 = target->n_channels_in;
    int64_t taps = norma_kernel_taps(target->kernel);
    double *range = NULL;
    NORMA_TRY(NORMA_ALLOC(range, 2 * c0 * (1 + taps)));
    double *spread = range + 2 * c0;
    norma_status status =
        norma_bounds_propagate(place->cell->network, place->number, range, range + c0);
    for (int64_t e = 0; status == NORMA_OK && e < 2 * c0 * taps; e++)
        spread[e] = range[e / taps];
    if (status == NORMA_OK)
        status = kind->open(place, source, spread, spread + c0 * taps, common);
    NORMA_FREE(range);
    return status;
}

static norma_status measure_layer(const norma_stack_place *place, const norma_stack_layout *l,
                                  void **source, norma_stack_record *record)
{
    const norma_stack_kind *kind = l->kind;
    int64_t i = place->number;
    double *common = record->common + i * NORMA_N_STACK_NUMBERS;
    norma_stack_size size;
    double begun = norma_progress_clock_local();
    NORMA_TRY(kind->size(place, &size)); /* equal on all ranks, as are its failures */
    common[NORMA_STACK_N_ROWS] = (double)size.n_equations;
    common[NORMA_STACK_N_MINIMUM] = (double)size.n_minimum;
    common[NORMA_STACK_N_FEATURES] = (double)size.n_features;
    common[NORMA_STACK_N_STAGES] = (double)size.n_stages;
    const norma_team *team = norma_queue_team_local(place->queue);
    NORMA_TRY(norma_team_agree(team, kind->create(place, source)));
    NORMA_TRY(kind->solve(place, *source, common, record->layers + i * kind->n_layer_variables,
                          record->stages + i * kind->n_stage_variables * l->n_stages, l->n_stages));
    common[NORMA_STACK_SECONDS] = norma_progress_clock_local() - begun;
    norma_status status = compare_weights(place, kind, *source, common);
    if (status == NORMA_OK)
        status = open_layer(place, kind, *source, common);
    NORMA_TRY(norma_team_agree(team, status));
    if (l->n_scales > 0)
        kind->get(*source, record->scales + i * l->n_scales, record->shifts + i * l->n_shifts);
    return NORMA_OK;
}

norma_status norma_stack_measure(const norma_stack_run *run, int64_t number, int64_t replica,
                                 norma_stack_record *record)
{
    const norma_config *config = run->job->config;
    const norma_stack_layout *layout = &run->layout;
    norma_reconstruct_cell cell;
    void **sources = NULL;
    const norma_team *team = norma_queue_team_local(run->queue);
    norma_status own = norma_reconstruct_cell_init(config, run->inputs, number, false, &cell);
    if (own == NORMA_OK)
        own = NORMA_CALLOC(sources, cell.n_layers);
    if (own == NORMA_OK && cell.target_per_replica)
        own = norma_reconstruct_fill_target(&cell, cell.first_replica + replica);
    norma_status status = norma_team_agree(team, own);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, own); /* for readers that know nothing of agreement */
    norma_stack_place place = {.config = config,
                               .cell = &cell,
                               .replica = replica,
                               .queue = run->queue,
                               .n_ranks = run->job->group_size,
                               .n_threads = run->job->runtime->n_threads};
    for (place.number = 0; place.number < cell.n_layers; place.number++) {
        if (!cell.layers[place.number].wanted)
            continue;
        if (norma_queue_step(run->queue, 0) == NORMA_STOP_END) {
            status = NORMA_STOPPED;
            goto done;
        }
        status = measure_layer(&place, layout, &sources[place.number], record);
        if (status != NORMA_OK)
            norma_status_context(status, "cell %lld, replica %lld, layer %lld: ", (long long)number,
                                 (long long)replica, (long long)place.number);
        NORMA_GOTO(status, status);
    }
    status = norma_team_agree(
        team, norma_stack_run_network(&place, run->inputs, layout, sources, record->outputs));
done:
    for (int64_t i = 0; sources && i < cell.n_layers; i++)
        layout->kind->destroy(&sources[i]);
    NORMA_FREE(sources);
    norma_reconstruct_cell_clear(&cell);
    return status;
}
