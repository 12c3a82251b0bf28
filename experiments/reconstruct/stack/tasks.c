/* The replicas of all cells from a queue, each computed by one rank; and their plan. */
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/stack/stack.h"
#include "experiments/reconstruct/stack/weights.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* Inputs that a network is run on where --samples says nothing. */
enum { N_INPUTS = 1000 };

static void raise(int64_t *most, int64_t value)
{
    if (value > *most)
        *most = value;
}

/* The largest layer of a cell, what a rank holds for all of them, and their frozen weights. */
static norma_status measure_cell(const norma_config *config, const norma_reconstruct_inputs *inputs,
                                 const norma_stack_kind *kind, int64_t number,
                                 norma_stack_size *most, double *n_weights)
{
    *n_weights = 0;
    norma_reconstruct_cell cell;
    norma_status status = norma_reconstruct_cell_init(config, inputs, number, true, &cell);
    norma_stack_place place = {.config = config, .cell = &cell};
    memset(most, 0, sizeof *most);
    for (place.number = 0; status == NORMA_OK && place.number < cell.n_layers; place.number++) {
        norma_stack_size size;
        if (!cell.layers[place.number].wanted)
            continue;
        double weights = 0;
        status = kind->size(&place, &size);
        if (status == NORMA_OK)
            status = norma_stack_weights_count(kind, &place, &weights);
        *n_weights += weights;
        if (status != NORMA_OK) {
            norma_status_context(status, "layer %lld: ", (long long)place.number);
            break;
        }
        raise(&most->n_equations, size.n_equations);
        raise(&most->n_minimum, size.n_minimum);
        raise(&most->n_features, size.n_features);
        raise(&most->n_stages, size.n_stages);
        raise(&most->n_scales, size.n_scales);
        raise(&most->n_shifts, size.n_shifts);
        most->bytes += size.bytes;
        most->flops += size.flops;
    }
    norma_reconstruct_cell_clear(&cell);
    return status;
}

static bool saves(const norma_config *config)
{
    if (norma_config_has(config, "save"))
        return norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_GAMMA);
    return norma_config_is_single(config);
}

static int64_t count_inputs(const norma_config *config, const norma_reconstruct_inputs *inputs)
{
    const norma_images *images = norma_reconstruct_images(inputs);
    if (images)
        return images->n_images;
    return norma_config_is_given(config, "samples") ? norma_config_get_integer(config, 0, "samples")
                                                    : N_INPUTS;
}

norma_status norma_stack_layout_init(const norma_config *config,
                                     const norma_reconstruct_inputs *inputs,
                                     const norma_stack_kind *kind, norma_stack_layout *l)
{
    *l = (norma_stack_layout){.kind = kind,
                              .n_cells = norma_config_get_sweep(config)->n_cells,
                              .n_replicas = norma_config_get_integer(config, 0, "replicas"),
                              .n_layers = 1,
                              .n_inputs = count_inputs(config, inputs),
                              .saves_weights = norma_stack_weights_wanted(config)};
    if (inputs->target)
        l->n_layers = norma_target_network_local(inputs->target)->n_layers;
    for (int64_t number = 0; number < l->n_cells; number++) {
        norma_stack_size most;
        double n_weights = 0;
        NORMA_TRY(measure_cell(config, inputs, kind, number, &most, &n_weights));
        raise(&l->n_stages, most.n_stages);
        if (l->saves_weights)
            l->n_weights = fmax(l->n_weights, n_weights);
        if (!saves(config))
            continue;
        raise(&l->n_scales, most.n_scales);
        raise(&l->n_shifts, most.n_shifts);
    }
    return NORMA_OK;
}

/* --- plan ------------------------------------------------------------------------------------- */

typedef struct need {
    double bytes;
} need;

/* norma_plan_bytes_function: every rank computes replicas of its own. */
static int64_t bytes_of_rank(const void *context, int64_t n_ranks)
{
    (void)n_ranks;
    return (int64_t)fmin(((const need *)context)->bytes, 9e18);
}

static norma_status plan_cell(const norma_job_context *job, const norma_reconstruct_inputs *inputs,
                              const norma_stack_kind *kind, int64_t number, bool print)
{
    norma_stack_size most;
    char memory[32];
    norma_text where;
    double n_weights = 0;
    NORMA_TRY(measure_cell(job->config, inputs, kind, number, &most, &n_weights));
    const need bytes = {.bytes = (double)job->machine.base_memory + most.bytes};
    NORMA_TRY(norma_plan_check_local(&job->machine, "a replica", bytes_of_rank, &bytes,
                                     "narrower layers need less"));
    if (!print)
        return NORMA_OK;
    norma_text_init(&where);
    norma_config_describe_cell(job->config, number, &where);
    norma_plan_format_bytes_local(bytes.bytes, memory, sizeof memory);
    norma_log_result("%6lld %10lld %10lld %10lld %12lld %12s %10.3g %s", (long long)number,
                     (long long)most.n_equations, (long long)most.n_minimum,
                     (long long)most.n_features, (long long)most.n_stages, memory, most.flops,
                     where.data ? where.data : "");
    norma_text_clear(&where);
    return NORMA_OK;
}

norma_status norma_stack_plan(norma_job_context *job, const norma_reconstruct_inputs *inputs,
                              const norma_stack_kind *kind, bool print)
{
    int64_t n_cells = norma_config_get_sweep(job->config)->n_cells;
    if (print)
        norma_log_result("#%5s %10s %10s %10s %12s %12s %10s %s", "cell", "equations", "minimum",
                         "features", kind->stage, "bytes/rank", "flops", "of a replica");
    for (int64_t number = 0; number < n_cells; number++)
        NORMA_TRY(plan_cell(job, inputs, kind, number, print));
    return NORMA_OK;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void print_heading(void)
{
    norma_log_result("#%5s %7s %5s %8s %9s %8s %9s %9s %10s %7s %9s %12s", "cell", "replica",
                     "layer", "n_rows", "features", "stages", "rmse", "relative", "condition",
                     "digits", "seconds", "output_error");
}

static void print_record(const norma_stack_layout *l, int64_t task,
                         const norma_stack_record *record)
{
    for (int64_t layer = 0; layer < l->n_layers; layer++) {
        const double *c = record->common + layer * NORMA_N_STACK_NUMBERS;
        if (isnan(c[NORMA_STACK_RMSE]))
            continue; /* not wanted */
        norma_log_result(
            "%6lld %7lld %5lld %8.0f %9.0f %8.0f %9.2e %9.2e %10.3g %7.1f %9.3g %12.3e",
            (long long)(task / l->n_replicas), (long long)(task % l->n_replicas), (long long)layer,
            c[NORMA_STACK_N_ROWS], c[NORMA_STACK_N_FEATURES], c[NORMA_STACK_N_STAGES],
            c[NORMA_STACK_RMSE], c[NORMA_STACK_RELATIVE_RESIDUAL], c[NORMA_STACK_CONDITION_NUMBER],
            c[NORMA_STACK_DIGITS_LEFT], c[NORMA_STACK_SECONDS],
            record->outputs[NORMA_STACK_OUTPUT_MAX_ERROR]);
    }
}

/* A finished task of an earlier run (norma_queue_tasks). */
static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_stack_run *run = context;
    norma_stack_record record;
    norma_status status = norma_stack_record_init(&run->layout, &record);
    NORMA_GOTO(status, status);
    if (size != record.n_numbers * (int64_t)sizeof *record.numbers) {
        status = NORMA_FAIL(NORMA_CONFIG, "the checkpoint holds a result of another size");
        goto done;
    }
    memcpy(record.numbers, bytes, (size_t)size);
    status = norma_stack_output_write_local(run, task / run->layout.n_replicas,
                                            task % run->layout.n_replicas, &record);
done:
    norma_stack_record_clear(&record);
    return status;
}

/* One replica of one cell (norma_queue_tasks); the group is this rank alone. */
static norma_status compute(void *context, int64_t task)
{
    norma_stack_run *run = context;
    int64_t cell = task / run->layout.n_replicas;
    int64_t replica = task % run->layout.n_replicas;
    norma_stack_record record = {0};
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_stack_record_init(&run->layout, &record));
    NORMA_GOTO(status, norma_stack_measure(run, cell, replica, &record));
    NORMA_GOTO(status, norma_stack_output_write_local(run, cell, replica, &record));
    print_record(&run->layout, task, &record);
    NORMA_GOTO(status, norma_queue_keep_local(run->queue, task, record.numbers,
                                              record.n_numbers * (int64_t)sizeof *record.numbers));
    (void)norma_queue_step(run->queue, 1);
done:
    norma_stack_record_clear(&record);
    return status;
}

static norma_status run_tasks(norma_stack_run *run)
{
    int64_t n_tasks = run->layout.n_cells * run->layout.n_replicas;
    const norma_queue_tasks tasks = {.n_tasks = n_tasks,
                                     .n_queued = n_tasks,
                                     .name = "replicas",
                                     .step = "replicas",
                                     .step_unit = "replica",
                                     .context = run,
                                     .compute = compute,
                                     .replay = replay};
    norma_status status = norma_job_queue_alone(run->job, &tasks, &run->queue);
    NORMA_GOTO(status, status);
    print_heading();
    status = norma_queue_run(run->queue, 0, n_tasks);
done:
    norma_queue_destroy(&run->queue);
    return status;
}

norma_status norma_stack_compute(norma_job_context *job, const norma_reconstruct_inputs *inputs,
                                 const norma_stack_kind *kind)
{
    norma_stack_run run = {.job = job, .inputs = inputs};
    norma_status status = norma_stack_layout_init(job->config, inputs, kind, &run.layout);
    NORMA_TRY(norma_agree(job->runtime->world, status));
    const norma_job_file about = {.title = "Reconstruction by sources of several layers",
                                  .process_grid = "each rank its own replicas",
                                  .configuration = job->settings,
                                  .bytes = norma_stack_output_bytes(&run.layout)};
    NORMA_TRY(norma_job_open(job, &about));
    NORMA_TRY(norma_stack_output_begin(&run));
    return run_tasks(&run);
}
