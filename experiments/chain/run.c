#include "experiments/chain/run.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/stop.h"
#include "src/base/mem.h"

#include <math.h>

/* Seconds of a run before its speed is trusted enough to warn. */
static const double warning_after = 60;

/* norma_checkpoint_visit: a finished task of an earlier go. */
static norma_status replay_task(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_chain_run *run = context;
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    norma_chain_layout layout;
    norma_chain_outcome outcome;
    norma_chain_layout_init(run->setup, cell, &layout);
    NORMA_TRY(norma_chain_outcome_read(&layout, bytes, size, &outcome));
    return norma_chain_output_write_local(run->output, cell, task, &outcome);
}

static norma_status replay(norma_chain_run *run)
{
    const norma_chain_setup *setup = run->setup;
    int64_t n_done = 0;
    norma_status status = NORMA_CALLOC(run->done, setup->n_tasks);
    NORMA_TRY(norma_agree(run->output->runtime->world, status));
    NORMA_TRY(
        norma_checkpoint_replay(run->checkpoint, setup->n_tasks, run->done, replay_task, run));
    for (int64_t task = 0; task < setup->n_tasks; task++) {
        const norma_chain_cell *cell = norma_chain_setup_cell(setup, task);
        n_done += run->done[task];
        if (run->done[task])
            run->work_before += norma_chain_setup_layer_work(cell) * cell->depth;
    }
    if (norma_checkpoint_resumed_local(run->checkpoint))
        norma_log_info("resumes: %lld of %lld blocks of replicas are done", (long long)n_done,
                       (long long)setup->n_tasks);
    return NORMA_OK;
}

norma_status norma_chain_run_open(norma_chain_run *run, const norma_job_context *job,
                                  const norma_chain_setup *setup, norma_chain_output *output)
{
    run->setup = setup;
    run->output = output;
    run->checkpoint = job->checkpoint;
    run->save_interval = norma_job_save_interval(job->config);
    NORMA_TRY(norma_replicas_create(job->runtime->world,
                                    norma_config_get_integer(job->config, 0, "group-size"),
                                    &run->replicas));
    norma_team_init_local(norma_replicas_group_local(run->replicas), &run->team);
    return replay(run);
}

static norma_status save(norma_chain_run *run, int64_t task)
{
    const void *bytes = NULL;
    int64_t size = 0;
    double begun = norma_progress_clock_local();
    norma_status status = NORMA_OK;
    if (norma_team_is_root_local(&run->team)) {
        norma_chain_block_get_state(run->block, &bytes, &size);
        status = norma_checkpoint_save_local(run->checkpoint, task, bytes, size);
        if (status == NORMA_OK)
            status = norma_checkpoint_sync_local(run->checkpoint);
    }
    status = norma_team_agree(&run->team, status);
    norma_stop_note_save_local(norma_progress_clock_local() - begun);
    return status;
}

static void report(norma_chain_run *run)
{
    int64_t done = norma_replicas_work_local(run->replicas) + run->work_before;
    double left = norma_stop_seconds_left_local();
    double elapsed = norma_progress_clock_local() - run->started;
    norma_progress_update_local(&run->progress, done);
    if (run->warned || elapsed < warning_after || isinf(left) || done <= run->work_before)
        return;
    double needed =
        elapsed * (double)(run->progress.total - done) / (double)(done - run->work_before);
    run->warned = true;
    if (needed > left)
        norma_log_warning("at this speed the run takes %.3g s more and its time limit leaves %.3g "
                          "s: it will stop with a checkpoint; --resume continues it",
                          needed, left);
}

/* From the block's layer to the last one. NORMA_STOPPED when it has to be left. */
static norma_status advance(norma_chain_run *run, int64_t task)
{
    const norma_chain_cell *cell = norma_chain_block_cell(run->block);
    int64_t work = norma_chain_setup_layer_work(cell);
    double saved = norma_progress_clock_local();
    double counted = saved;
    while (norma_chain_block_layer(run->block) < cell->depth) {
        NORMA_TRY(norma_chain_block_step(run->block));
        norma_stop_request request = norma_replicas_poll(run->replicas, work);
        double now = norma_progress_clock_local();
        bool ends = request == NORMA_STOP_END && norma_chain_block_layer(run->block) < cell->depth;
        bool due = norma_team_root_says(&run->team, now - saved >= run->save_interval);
        if (request == NORMA_STOP_SAVE || ends || due) {
            norma_chain_block_add_seconds(run->block, now - counted);
            counted = now;
            NORMA_TRY(save(run, task));
            saved = norma_progress_clock_local();
        }
        if (ends)
            return NORMA_STOPPED;
        report(run);
    }
    norma_chain_block_add_seconds(run->block, norma_progress_clock_local() - counted);
    return NORMA_OK;
}

/* The block at the layer that was reached before, or at the input. */
static norma_status begin(norma_chain_run *run, int64_t task)
{
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    void *bytes = NULL;
    int64_t size = 0;
    if (!run->block || norma_chain_block_cell(run->block) != cell) {
        norma_chain_block_destroy(&run->block);
        NORMA_TRY(norma_team_agree(
            &run->team, norma_chain_block_create(run->setup, cell, &run->team.chain, &run->block)));
    }
    norma_status status = NORMA_OK;
    if (norma_checkpoint_resumed_local(run->checkpoint) && norma_team_is_root_local(&run->team))
        status = norma_checkpoint_load_local(run->checkpoint, task, &bytes, &size);
    status = norma_team_agree(&run->team, status);
    if (status == NORMA_OK)
        status = norma_team_share(&run->team, &bytes, &size);
    if (status != NORMA_OK) {
        norma_mem_free(bytes);
        return status;
    }
    if (!bytes)
        return norma_chain_block_start(run->block, task);
    status = norma_chain_block_set_state(run->block, bytes, size);
    norma_mem_free(bytes);
    if (status == NORMA_OK) /* counts as work done */
        (void)norma_replicas_poll(run->replicas, norma_chain_setup_layer_work(cell) *
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
    watch->ends = norma_replicas_poll(watch->run->replicas, 0) == NORMA_STOP_END;
    return watch->ends;
}

/* What single precision costs, when the block is at its end. */
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

/* norma_replicas_task */
static norma_status compute(void *context, int64_t ticket)
{
    norma_chain_run *run = context;
    int64_t task = run->setup->order[ticket];
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    norma_chain_layout layout;
    norma_chain_outcome outcome;
    const void *bytes = NULL;
    int64_t size = 0;
    if (run->done[task])
        return NORMA_OK;
    NORMA_TRY(begin(run, task));
    norma_status status = advance(run, task);
    if (status == NORMA_OK)
        status = compare(run, task);
    if (!norma_team_is_root_local(&run->team))
        return status;
    if (status == NORMA_STOPPED) {
        outcome = norma_chain_block_unfinished(run->block);
        NORMA_TRY(norma_chain_output_write_local(run->output, cell, task, &outcome));
    }
    if (status != NORMA_OK)
        return status;
    norma_chain_layout_init(run->setup, cell, &layout);
    norma_chain_block_finish(run->block, &bytes, &size);
    NORMA_TRY(norma_chain_outcome_read(&layout, bytes, size, &outcome));
    NORMA_TRY(norma_chain_output_write_local(run->output, cell, task, &outcome));
    return norma_checkpoint_append_local(run->checkpoint, task, bytes, size);
}

norma_status norma_chain_run_all(norma_chain_run *run)
{
    norma_progress_init_local(&run->progress, "layers", NULL, norma_chain_setup_work(run->setup));
    run->started = norma_progress_clock_local();
    norma_status status = norma_replicas_run(run->replicas, run->setup->n_tasks, compute, run);
    norma_progress_finish_local(&run->progress);
    return status;
}

void norma_chain_run_clear(norma_chain_run *run)
{
    norma_chain_block_destroy(&run->block);
    norma_replicas_destroy(&run->replicas);
    NORMA_FREE(run->done);
}
