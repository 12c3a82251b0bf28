#include "experiments/gradient/run.h"

#include "mpi/runtime/progress.h"
#include "src/base/mem.h"

#include <math.h>

/* A finished task of an earlier run (norma_queue_tasks). */
static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_gradient_run *run = context;
    const norma_gradient_cell *cell = norma_gradient_setup_cell(run->setup, task);
    int64_t expected = cell->n_numbers * (int64_t)sizeof(double);
    if (size != expected)
        return NORMA_FAIL(NORMA_CONFIG, "a saved result has %lld bytes, not %lld", (long long)size,
                          (long long)expected);
    return norma_gradient_output_write_local(run->output, task, bytes);
}

static int64_t layer_work(const norma_gradient_cell *cell)
{
    return (int64_t)fmin(cell->layer_cost, 1e15);
}

static int64_t work(const void *context, int64_t task)
{
    const norma_gradient_run *run = context;
    const norma_gradient_cell *cell = norma_gradient_setup_cell(run->setup, task);
    return 2 * layer_work(cell) * cell->depth;
}

static norma_status create(norma_gradient_run *run, const norma_gradient_cell *cell)
{
    NORMA_TRY(norma_gradient_create(&cell->spec, &cell->input, &cell->request, &run->gradient));
    return NORMA_ALLOC(run->numbers, cell->n_numbers);
}

/* The object of the task's cell; the one of the task before where that is the same. */
static norma_status prepare(norma_gradient_run *run, const norma_gradient_cell *cell)
{
    const norma_team *team = norma_queue_team_local(run->queue);
    if (run->cell == cell)
        return NORMA_OK;
    norma_gradient_destroy(&run->gradient);
    NORMA_FREE(run->numbers);
    run->cell = NULL;
    NORMA_TRY(norma_team_agree(team, create(run, cell)));
    norma_gradient_join(run->gradient, &team->chain);
    run->cell = cell;
    return NORMA_OK;
}

/* The replica where it was left before, or at its input. */
static norma_status begin(norma_gradient_run *run, int64_t task)
{
    const norma_gradient_cell *cell = norma_gradient_setup_cell(run->setup, task);
    void *bytes = NULL;
    int64_t size = 0;
    NORMA_TRY(prepare(run, cell));
    NORMA_TRY(norma_queue_load(run->queue, task, &bytes, &size));
    if (!bytes)
        return norma_gradient_start(run->gradient, cell->seed, cell->stream_cell,
                                    cell->first_replica + task % run->setup->n_replicas);
    norma_status status = norma_gradient_set_state(run->gradient, bytes, size);
    norma_mem_free(bytes);
    if (status == NORMA_OK) /* counts as work done */
        (void)norma_queue_step(run->queue,
                               layer_work(cell) * norma_gradient_progress(run->gradient));
    return status;
}

static bool is_root(norma_gradient_run *run)
{
    return norma_team_is_root_local(norma_queue_team_local(run->queue));
}

static norma_status save(norma_gradient_run *run, int64_t task)
{
    const void *bytes = NULL;
    int64_t size = 0;
    if (is_root(run))
        norma_gradient_get_state(run->gradient, &bytes, &size);
    return norma_queue_save(run->queue, task, bytes, size);
}

/* The layers that are left. NORMA_STOPPED when the run has to be left. */
static norma_status advance(norma_gradient_run *run, int64_t task)
{
    norma_gradient *g = run->gradient;
    while (!norma_gradient_is_done(g)) {
        int64_t before = norma_gradient_progress(g);
        NORMA_TRY(norma_gradient_step(g));
        int64_t done = norma_gradient_progress(g) - before;
        norma_stop_request request = norma_queue_step(run->queue, done * layer_work(run->cell));
        bool ends = request == NORMA_STOP_END && !norma_gradient_is_done(g);
        if (request == NORMA_STOP_SAVE || ends)
            NORMA_TRY(save(run, task));
        if (ends)
            return NORMA_STOPPED;
    }
    return NORMA_OK;
}

/* The record of a finished replica into the file and the journal. Local to the team's root. */
static norma_status keep(norma_gradient_run *run, int64_t task, double seconds)
{
    norma_gradient_record record = norma_gradient_record_view(run->cell, run->numbers);
    norma_gradient_record_fill(run->cell, run->gradient, seconds, &record);
    NORMA_TRY(norma_gradient_output_write_local(run->output, task, run->numbers));
    return norma_queue_keep_local(run->queue, task, run->numbers,
                                  run->cell->n_numbers * (int64_t)sizeof *run->numbers);
}

static norma_status compute(void *context, int64_t task)
{
    norma_gradient_run *run = context;
    double begun = norma_progress_clock_local();
    NORMA_TRY(begin(run, task));
    NORMA_TRY(advance(run, task));
    return is_root(run) ? keep(run, task, norma_progress_clock_local() - begun) : NORMA_OK;
}

norma_status norma_gradient_run_all(norma_gradient_run *run, const norma_job_context *job,
                                    const norma_gradient_setup *setup,
                                    norma_gradient_output *output)
{
    const norma_queue_tasks tasks = {.n_tasks = setup->n_tasks,
                                     .n_queued = setup->n_tasks,
                                     .order = setup->order,
                                     .name = "replicas",
                                     .step = "layers",
                                     .context = run,
                                     .compute = compute,
                                     .replay = replay,
                                     .work = work};
    const norma_queue_options options = norma_job_queue(job);
    run->setup = setup;
    run->output = output;
    NORMA_TRY(norma_queue_create(&options, &tasks, &run->queue));
    NORMA_TRY(norma_queue_replay(run->queue));
    return norma_queue_run(run->queue, 0, setup->n_tasks);
}

void norma_gradient_run_clear(norma_gradient_run *run)
{
    norma_gradient_destroy(&run->gradient);
    NORMA_FREE(run->numbers);
    norma_queue_destroy(&run->queue);
}
