#include "experiments/chain/run.h"

#include "mpi/runtime/progress.h"
#include "src/base/mem.h"

/* A finished task of an earlier run (norma_queue_tasks). */
static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_chain_run *run = context;
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    norma_chain_layout layout;
    norma_chain_outcome outcome;
    norma_chain_layout_init(run->setup, cell, &layout);
    NORMA_TRY(norma_chain_outcome_read(&layout, bytes, size, &outcome));
    return norma_chain_output_write_local(run->output, cell, task, &outcome);
}

static int64_t work(const void *context, int64_t task)
{
    const norma_chain_run *run = context;
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    return norma_chain_setup_layer_work(cell) * cell->depth;
}

static bool is_root(const norma_chain_run *run)
{
    return norma_team_is_root_local(norma_queue_team_local(run->queue));
}

static norma_status save(norma_chain_run *run, int64_t task)
{
    const void *bytes = NULL;
    int64_t size = 0;
    if (is_root(run))
        norma_chain_block_get_state(run->block, &bytes, &size);
    return norma_queue_save(run->queue, task, bytes, size);
}

/* From the block's layer to the last one. NORMA_STOPPED when it has to be left. */
static norma_status advance(norma_chain_run *run, int64_t task)
{
    const norma_chain_cell *cell = norma_chain_block_cell(run->block);
    int64_t layer_work = norma_chain_setup_layer_work(cell);
    double counted = norma_progress_clock_local();
    while (norma_chain_block_layer(run->block) < cell->depth) {
        NORMA_TRY(norma_chain_block_step(run->block));
        norma_stop_request request = norma_queue_step(run->queue, layer_work);
        bool ends = request == NORMA_STOP_END && norma_chain_block_layer(run->block) < cell->depth;
        if (request == NORMA_STOP_SAVE || ends) {
            double now = norma_progress_clock_local();
            norma_chain_block_add_seconds(run->block, now - counted);
            counted = now;
            NORMA_TRY(save(run, task));
        }
        if (ends)
            return NORMA_STOPPED;
    }
    norma_chain_block_add_seconds(run->block, norma_progress_clock_local() - counted);
    return NORMA_OK;
}

/* The block at the layer that was reached before, or at the input. */
static norma_status begin(norma_chain_run *run, int64_t task)
{
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    const norma_team *team = norma_queue_team_local(run->queue);
    void *bytes = NULL;
    int64_t size = 0;
    if (!run->block || norma_chain_block_cell(run->block) != cell) {
        norma_chain_block_destroy(&run->block);
        NORMA_TRY(norma_team_agree(
            team, norma_chain_block_create(run->setup, cell, &team->chain, &run->block)));
    }
    NORMA_TRY(norma_queue_load(run->queue, task, &bytes, &size));
    if (!bytes)
        return norma_chain_block_start(run->block, task);
    norma_status status = norma_chain_block_set_state(run->block, bytes, size);
    norma_mem_free(bytes);
    if (status == NORMA_OK) /* counts as work done */
        (void)norma_queue_step(run->queue, norma_chain_setup_layer_work(cell) *
                                               norma_chain_block_layer(run->block));
    return status;
}

typedef struct stop_watch {
    norma_chain_run *run;
    bool ends;
} stop_watch;

/* Does the run have to be left? Collective over the team. */
static bool stops(void *context)
{
    stop_watch *watch = context;
    watch->ends = norma_queue_step(watch->run->queue, 0) == NORMA_STOP_END;
    return watch->ends;
}

/* The cost of single precision, when the block is at its end. */
static norma_status compare(norma_chain_run *run, int64_t task)
{
    stop_watch watch = {run, false};
    if (!norma_chain_block_compares(run->block))
        return NORMA_OK;
    norma_status status = norma_chain_block_compare(run->block, stops, &watch);
    if (watch.ends)
        NORMA_TRY(save(run, task));
    return status;
}

/* The outcome of a finished block into the file and the journal. Local to the team's root. */
static norma_status keep(norma_chain_run *run, int64_t task)
{
    const norma_chain_cell *cell = norma_chain_block_cell(run->block);
    norma_chain_layout layout;
    norma_chain_outcome outcome;
    const void *bytes = NULL;
    int64_t size = 0;
    norma_chain_layout_init(run->setup, cell, &layout);
    norma_chain_block_finish(run->block, &bytes, &size);
    NORMA_TRY(norma_chain_outcome_read(&layout, bytes, size, &outcome));
    NORMA_TRY(norma_chain_output_write_local(run->output, cell, task, &outcome));
    return norma_queue_keep_local(run->queue, task, bytes, size);
}

static norma_status compute(void *context, int64_t task)
{
    norma_chain_run *run = context;
    NORMA_TRY(begin(run, task));
    norma_status status = advance(run, task);
    if (status == NORMA_OK)
        status = compare(run, task);
    if (!is_root(run))
        return status;
    if (status == NORMA_OK)
        return keep(run, task);
    if (status == NORMA_STOPPED) {
        norma_chain_outcome outcome = norma_chain_block_unfinished(run->block);
        NORMA_TRY(norma_chain_output_write_local(run->output, norma_chain_block_cell(run->block),
                                                 task, &outcome));
    }
    return status;
}

norma_status norma_chain_run_all(norma_chain_run *run, const norma_job_context *job,
                                 const norma_chain_setup *setup, norma_chain_output *output)
{
    const norma_queue_options options = norma_job_queue(job);
    const norma_queue_tasks tasks = {.n_tasks = setup->n_tasks,
                                     .n_queued = setup->n_tasks,
                                     .order = setup->order,
                                     .name = "blocks of replicas",
                                     .step = "layers",
                                     .context = run,
                                     .compute = compute,
                                     .replay = replay,
                                     .work = work};
    run->setup = setup;
    run->output = output;
    NORMA_TRY(norma_queue_create(&options, &tasks, &run->queue));
    NORMA_TRY(norma_queue_replay(run->queue));
    return norma_queue_run(run->queue, 0, setup->n_tasks);
}

void norma_chain_run_clear(norma_chain_run *run)
{
    norma_chain_block_destroy(&run->block);
    norma_queue_destroy(&run->queue);
}
