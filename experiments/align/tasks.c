#include "experiments/align/tasks.h"

#include "experiments/align/options.h"
#include "mpi/runtime/log.h"

#include <math.h>
#include <string.h>

norma_status norma_align_tasks_layout(const norma_job_context *job, norma_align_run *run)
{
    norma_align_layout *layout = &run->layout;
    layout->n_cells = norma_config_get_sweep(job->config)->n_cells;
    layout->n_replicas = norma_config_get_integer(job->config, 0, "replicas");
    layout->n_searches = (int)norma_align_list_searches(job->config, layout->searches);
    for (int64_t number = 0; number < layout->n_cells; number++) {
        norma_align_cell cell;
        norma_status status = norma_align_cell_init(job->config, &run->inputs, number, &cell);
        int64_t c2 = cell.pair.shape.n_channels_out;
        if (c2 > layout->n_channels)
            layout->n_channels = c2;
        norma_align_cell_clear(&cell);
        NORMA_TRY(status);
    }
    return NORMA_OK;
}

static void print_heading(void)
{
    norma_log_result("#%5s %7s %8s %9s %8s %-19s %12s %12s %12s %9s", "cell", "replica", "rows",
                     "features", "rank", "search", "rmse", "relative", "evaluations", "seconds");
}

static void print_record(const norma_align_layout *layout, int64_t task,
                         const norma_align_record *record)
{
    const double *s = record->scalars;
    const double *r = record->results;
    int64_t n = record->n_searches;
    int64_t cell = task / layout->n_replicas;
    int64_t replica = task % layout->n_replicas;
    for (int64_t i = 0; i < n; i++)
        norma_log_result(
            "%6lld %7lld %8.0f %9.0f %8.0f %-19s %12.6g %12.6g %12.0f %9.3g", (long long)cell,
            (long long)replica, s[NORMA_ALIGN_N_ROWS], s[NORMA_ALIGN_N_FEATURES],
            s[NORMA_ALIGN_RANK], norma_align_search_get(layout->searches[i])->name,
            r[NORMA_ALIGN_RMSE * n + i], r[NORMA_ALIGN_RELATIVE_ERROR * n + i],
            r[NORMA_ALIGN_N_EVALUATIONS * n + i], r[NORMA_ALIGN_SECONDS_SEARCH * n + i]);
    if (!isnan(s[NORMA_ALIGN_MATCH_PROBABILITY]))
        norma_log_result("%6lld %7lld matching: %.6g (%.6g to %.6g), bound %.6g, claimed %.6g",
                         (long long)cell, (long long)replica, s[NORMA_ALIGN_MATCH_PROBABILITY],
                         s[NORMA_ALIGN_MATCH_LOW], s[NORMA_ALIGN_MATCH_HIGH],
                         s[NORMA_ALIGN_MATCH_BOUND], s[NORMA_ALIGN_MATCH_CLAIMED]);
}

/* A finished task of an earlier run (norma_queue_tasks). */
static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_align_run *run = context;
    const norma_align_layout *layout = &run->layout;
    norma_align_record record;
    norma_status status = norma_align_record_init(layout->n_searches, layout->n_channels, &record);
    NORMA_GOTO(status, status);
    if (size != record.n_numbers * (int64_t)sizeof *record.numbers) {
        status = NORMA_FAIL(NORMA_CONFIG, "the checkpoint holds a result of another size");
        goto done;
    }
    memcpy(record.numbers, bytes, (size_t)size);
    status = norma_align_output_write_local(run->job, task / layout->n_replicas,
                                            task % layout->n_replicas, &record);
done:
    norma_align_record_clear(&record);
    return status;
}

/* One replica of one cell (norma_queue_tasks); the group is this rank alone. */
static norma_status compute(void *context, int64_t task)
{
    norma_align_run *run = context;
    const norma_align_layout *layout = &run->layout;
    int64_t number = task / layout->n_replicas;
    int64_t replica = task % layout->n_replicas;
    norma_align_cell cell = {0};
    norma_align_record record = {0};
    norma_status status = NORMA_OK;
    if (norma_queue_step(run->queue, 0) == NORMA_STOP_END)
        return NORMA_STOPPED;
    NORMA_GOTO(status, norma_align_record_init(layout->n_searches, layout->n_channels, &record));
    NORMA_GOTO(status, norma_align_cell_init(run->job->config, &run->inputs, number, &cell));
    NORMA_GOTO(status, norma_align_cell_draw(&cell, replica));
    NORMA_GOTO(status, norma_align_record_measure(&cell, &record));
    NORMA_GOTO(status, norma_align_output_write_local(run->job, number, replica, &record));
    print_record(layout, task, &record);
    NORMA_GOTO(status, norma_queue_keep_local(run->queue, task, record.numbers,
                                              record.n_numbers * (int64_t)sizeof *record.numbers));
    (void)norma_queue_step(run->queue, 1);
done:
    norma_align_record_clear(&record);
    norma_align_cell_clear(&cell);
    return status;
}

norma_status norma_align_tasks_run(norma_job_context *job, norma_align_run *run)
{
    const norma_queue_tasks tasks = {.n_tasks = run->layout.n_cells * run->layout.n_replicas,
                                     .n_queued = run->layout.n_cells * run->layout.n_replicas,
                                     .name = "replicas",
                                     .step = "replicas",
                                     .step_unit = "replica",
                                     .context = run,
                                     .compute = compute,
                                     .replay = replay};
    run->job = job;
    NORMA_TRY(norma_job_queue_alone(job, &tasks, &run->queue));
    print_heading();
    return norma_queue_run(run->queue, 0, tasks.n_queued);
}

void norma_align_tasks_clear(norma_align_run *run)
{
    norma_queue_destroy(&run->queue);
}
