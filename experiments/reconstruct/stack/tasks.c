/* The replicas of all cells from a queue, each computed by a group of ranks. */
#include "experiments/reconstruct/stack/stack.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Writes and keeps a result, on the root of the group. */
static norma_status keep_local(const norma_stack_run *run, int64_t task,
                               const norma_stack_record *record)
{
    NORMA_TRY(norma_stack_output_write_local(run, task / run->layout.n_replicas,
                                             task % run->layout.n_replicas, record));
    print_record(&run->layout, task, record);
    return norma_queue_keep_local(run->queue, task, record->numbers,
                                  record->n_numbers * (int64_t)sizeof *record->numbers);
}

/* One replica of one cell (norma_queue_tasks). */
static norma_status compute(void *context, int64_t task)
{
    norma_stack_run *run = context;
    const norma_team *team = norma_queue_team_local(run->queue);
    norma_stack_record record = {0};
    norma_status status = norma_team_agree(team, norma_stack_record_init(&run->layout, &record));
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_stack_measure(run, task / run->layout.n_replicas,
                                           task % run->layout.n_replicas, &record));
    if (norma_team_is_root_local(team))
        status = keep_local(run, task, &record);
    NORMA_GOTO(status, norma_team_agree(team, status));
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
    const norma_queue_options options = norma_job_queue(run->job);
    norma_status status = norma_queue_create(&options, &tasks, &run->queue);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_queue_replay(run->queue));
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
    char grid[64] = "each rank its own replicas";
    if (job->group_size > 1)
        snprintf(grid, sizeof grid, "groups of %lld ranks, each its own replicas",
                 (long long)job->group_size);
    const norma_job_file about = {.title = "Reconstruction by sources of several layers",
                                  .process_grid = grid,
                                  .configuration = job->settings,
                                  .bytes = norma_stack_output_bytes(&run.layout)};
    NORMA_TRY(norma_job_open(job, &about));
    NORMA_TRY(norma_stack_output_begin(&run));
    return run_tasks(&run);
}
