#include "experiments/chain/run.h"

#include "experiments/chain/summary.h"
#include "experiments/job/options.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem.h"

/* A finished replica of an earlier run (norma_queue_tasks). */
static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_chain_run *run = context;
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    norma_chain_layout layout;
    norma_chain_outcome outcome;
    norma_chain_layout_init(run->setup, cell, 1, &layout);
    NORMA_TRY(norma_chain_outcome_read(&layout, bytes, size, &outcome));
    NORMA_TRY(norma_chain_output_write_local(run->output, cell, &layout, &outcome));
    run->coverage.needed[task] = outcome.progress->taken;
    return norma_chain_summary_keep(run->output, &layout, task, 0, &outcome);
}

/* A piece of the records of an earlier run's block; the task is its first replica. */
static norma_status replay_piece(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_chain_run *run = context;
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    norma_chain_layout layout;
    const norma_chain_piece *piece = NULL;
    const double *records = NULL;
    NORMA_TRY(norma_chain_piece_read(run->setup, cell, bytes, size, &layout, &piece, &records));
    NORMA_TRY(norma_chain_output_piece_local(run->output, cell, &layout, piece, records));
    return norma_chain_coverage_add(&run->coverage, task, piece);
}

/* Replicas of which a record is missing are computed again, by any rank. */
static norma_status settle(void *context, unsigned char *done)
{
    norma_chain_run *run = context;
    norma_chain_coverage_settle(&run->coverage, done);
    for (int64_t t = 0; t < run->setup->n_tasks; t++)
        if (!done[t])
            run->output->summary_at[t] = -1;
    return NORMA_OK;
}

/* Of a replica. */
static int64_t work(const void *context, int64_t task)
{
    const norma_chain_run *run = context;
    const norma_chain_cell *cell = norma_chain_setup_cell(run->setup, task);
    return norma_chain_setup_layer_work(cell) * cell->depth;
}

/* The block whose first replica is `task`. */
static const norma_chain_task *block_of(const norma_chain_run *run, int64_t task)
{
    return &run->partition.tasks[run->block_at[task]];
}

static int64_t layer_work(const norma_chain_run *run, const norma_chain_task *block)
{
    return norma_chain_setup_layer_work(&run->setup->cells[block->cell]) * block->count;
}

static bool is_root(const norma_chain_run *run)
{
    return norma_team_is_root_local(norma_queue_team_local(run->queue));
}

/* The first replica of a block. */
static int64_t first_of(const norma_chain_run *run, const norma_chain_task *block)
{
    return block->cell * run->setup->n_replicas + block->first;
}

static norma_status keep_piece_local(norma_chain_run *run, const norma_chain_task *block,
                                     const void *bytes, int64_t size)
{
    const norma_chain_cell *cell = norma_chain_block_cell(run->block);
    norma_chain_layout layout;
    const norma_chain_piece *piece = NULL;
    const double *records = NULL;
    NORMA_TRY(norma_chain_piece_read(run->setup, cell, bytes, size, &layout, &piece, &records));
    NORMA_TRY(norma_chain_output_piece_local(run->output, cell, &layout, piece, records));
    return norma_queue_keep_piece_local(run->queue, first_of(run, block), bytes, size);
}

/* Records that are held in memory go to the file and the journal. */
static norma_status empty(norma_chain_run *run, const norma_chain_task *block)
{
    const void *bytes = NULL;
    int64_t size = 0;
    norma_chain_block_take_piece(run->block, &bytes, &size);
    norma_status status =
        bytes && is_root(run) ? keep_piece_local(run, block, bytes, size) : NORMA_OK;
    return norma_team_agree(norma_queue_team_local(run->queue), status);
}

static norma_status save(norma_chain_run *run, const norma_chain_task *block)
{
    const void *bytes = NULL;
    int64_t size = 0;
    NORMA_TRY(empty(run, block));
    if (is_root(run))
        norma_chain_block_get_state(run->block, &bytes, &size);
    run->saved = true;
    return norma_queue_save(run->queue, norma_chain_partition_state(run->setup, block), bytes,
                            size);
}

/* From the block's layer to the last one. NORMA_STOPPED when it has to be left. */
static norma_status advance(norma_chain_run *run, const norma_chain_task *block)
{
    const norma_chain_cell *cell = norma_chain_block_cell(run->block);
    const int64_t work_of_layer = layer_work(run, block);
    double counted = norma_progress_clock_local();
    while (norma_chain_block_layer(run->block) < cell->depth) {
        if (norma_chain_block_is_full(run->block))
            NORMA_TRY(empty(run, block));
        NORMA_TRY(norma_chain_block_step(run->block));
        norma_stop_request request = norma_queue_step(run->queue, work_of_layer);
        bool ends = request == NORMA_STOP_END && norma_chain_block_layer(run->block) < cell->depth;
        if (request == NORMA_STOP_SAVE || ends) {
            double now = norma_progress_clock_local();
            norma_chain_block_add_seconds(run->block, now - counted);
            counted = now;
            NORMA_TRY(save(run, block));
        }
        if (ends)
            return NORMA_STOPPED;
    }
    norma_chain_block_add_seconds(run->block, norma_progress_clock_local() - counted);
    return empty(run, block);
}

/* Has the workspace of the last block the places of this one? */
static bool fits(const norma_chain_run *run, const norma_chain_task *block)
{
    return run->block && norma_chain_block_cell(run->block) == &run->setup->cells[block->cell] &&
           norma_chain_block_layout(run->block)->lanes == block->lanes;
}

/* The block at the layer that was reached before, or at the input. */
static norma_status begin(norma_chain_run *run, const norma_chain_task *block)
{
    const norma_chain_cell *cell = &run->setup->cells[block->cell];
    const norma_team *team = norma_queue_team_local(run->queue);
    void *bytes = NULL;
    int64_t size = 0;
    if (!fits(run, block)) {
        norma_chain_block_destroy(&run->block);
        NORMA_TRY(norma_team_agree(team, norma_chain_block_create(run->setup, cell, block->lanes,
                                                                  &team->chain, &run->block)));
    }
    if (block->begun)
        NORMA_TRY(norma_queue_load(run->queue, norma_chain_partition_state(run->setup, block),
                                   &bytes, &size));
    if (!bytes)
        return norma_chain_block_start(run->block, block->first, block->count);
    norma_status status = norma_chain_block_set_state(run->block, bytes, size);
    norma_mem_free(bytes);
    NORMA_TRY(status);
    if (!norma_chain_coverage_holds(&run->coverage, first_of(run, block), block->count,
                                    norma_chain_block_taken(run->block)))
        return norma_chain_block_start(run->block, block->first, block->count);
    (void)norma_queue_step(run->queue, /* counts as work done */
                           layer_work(run, block) * norma_chain_block_layer(run->block));
    return NORMA_OK;
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
static norma_status compare(norma_chain_run *run, const norma_chain_task *block)
{
    stop_watch watch = {run, false};
    if (!norma_chain_block_compares(run->block))
        return NORMA_OK;
    norma_status status = norma_chain_block_compare(run->block, stops, &watch);
    if (watch.ends)
        NORMA_TRY(save(run, block));
    return status;
}

/* Writes the outcome of a finished block into the file and the journal, behind its state where
 * --save keeps it. The first replica comes last: only a block that is kept whole has no use for its
 * state. Local to the team's root. */
static norma_status keep(norma_chain_run *run, const norma_chain_task *block)
{
    const norma_chain_layout *layout = norma_chain_block_layout(run->block);
    const int64_t first = first_of(run, block);
    if (run->keeps_state) {
        const void *state = NULL;
        int64_t n = 0;
        norma_chain_block_get_state(run->block, &state, &n);
        NORMA_TRY(norma_queue_keep_state_local(
            run->queue, norma_chain_partition_state(run->setup, block), state, n));
    }
    const norma_chain_outcome outcome = norma_chain_block_finish(run->block);
    NORMA_TRY(norma_chain_output_write_local(run->output, norma_chain_block_cell(run->block),
                                             layout, &outcome));
    for (int64_t lane = block->count - 1; lane >= 0; lane--) {
        const void *bytes = NULL;
        int64_t size = 0;
        if (norma_queue_was_done_local(run->queue, first + lane))
            continue;
        NORMA_TRY(norma_chain_summary_keep(run->output, layout, first + lane, lane, &outcome));
        norma_chain_block_entry(run->block, lane, &bytes, &size);
        NORMA_TRY(norma_queue_keep_local(run->queue, first + lane, bytes, size));
    }
    return run->saved && !run->keeps_state
               ? norma_queue_drop_local(run->queue, norma_chain_partition_state(run->setup, block))
               : NORMA_OK;
}

static norma_status compute(void *context, int64_t task)
{
    norma_chain_run *run = context;
    const norma_chain_task *block = block_of(run, task);
    run->saved = block->begun;
    NORMA_TRY(begin(run, block));
    norma_status status = advance(run, block);
    if (status == NORMA_OK)
        status = compare(run, block);
    return status == NORMA_OK && is_root(run) ? keep(run, block) : status;
}

/* States of blocks that are not continued, because their replicas are done, go. */
static norma_status drop_states_root(norma_chain_run *run, const int64_t *states, int64_t n)
{
    for (int64_t s = 0; s < n; s++)
        if (states[s] >= 0)
            NORMA_TRY(norma_queue_drop_local(run->queue, states[s]));
    return NORMA_OK;
}

/* The blocks of what an earlier run left, for the groups of this one, and their order. */
static norma_status choose_blocks(norma_chain_run *run, const norma_runtime *runtime)
{
    const norma_chain_setup *setup = run->setup;
    int64_t *states = NULL;
    unsigned char *done = NULL;
    int64_t n_states = 0;
    NORMA_TRY(norma_queue_states(run->queue, &states, &n_states));
    norma_status status = NORMA_ALLOC(done, setup->n_tasks);
    for (int64_t t = 0; t < setup->n_tasks && status == NORMA_OK; t++)
        done[t] = norma_queue_was_done_local(run->queue, t) ? 1 : 0;
    if (status == NORMA_OK)
        status = norma_chain_partition_choose(setup, norma_queue_n_groups_local(run->queue), done,
                                              states, n_states, &run->partition);
    if (status == NORMA_OK && runtime->rank == 0 && !run->keeps_state)
        status = drop_states_root(run, states, n_states);
    for (int64_t i = 0; i < run->partition.n && status == NORMA_OK; i++) {
        const norma_chain_task *block = &run->partition.tasks[i];
        run->order[i] = first_of(run, block);
        run->block_at[run->order[i]] = i;
    }
    norma_mem_free(done);
    norma_mem_free(states);
    return norma_agree(runtime->world, status);
}

norma_status norma_chain_run_all(norma_chain_run *run, const norma_job_context *job,
                                 const norma_chain_setup *setup, norma_chain_output *output)
{
    const norma_queue_options options = norma_job_queue(job);
    run->setup = setup;
    run->output = output;
    run->keeps_state = norma_job_keeps_state(job->config);
    norma_status status = NORMA_CALLOC(run->order, setup->n_tasks);
    if (status == NORMA_OK)
        status = NORMA_CALLOC(run->block_at, setup->n_tasks);
    if (status == NORMA_OK)
        status = norma_chain_coverage_init(&run->coverage, setup->n_tasks);
    NORMA_TRY(norma_agree(job->runtime->world, status));
    const norma_queue_tasks tasks = {.n_tasks = setup->n_tasks,
                                     .n_queued = setup->n_tasks,
                                     .order = run->order,
                                     .name = "replicas",
                                     .step = "layers",
                                     .context = run,
                                     .compute = compute,
                                     .replay = replay,
                                     .piece = replay_piece,
                                     .settle = settle,
                                     .work = work};
    NORMA_TRY(norma_queue_create(&options, &tasks, &run->queue));
    NORMA_TRY(norma_queue_replay(run->queue));
    norma_replicas_collect(job->runtime->world, setup->n_tasks, run->coverage.covered);
    NORMA_TRY(choose_blocks(run, job->runtime));
    return norma_queue_run(run->queue, 0, run->partition.n);
}

void norma_chain_run_clear(norma_chain_run *run)
{
    norma_chain_block_destroy(&run->block);
    norma_queue_destroy(&run->queue);
    norma_chain_partition_clear(&run->partition);
    norma_chain_coverage_clear(&run->coverage);
    NORMA_FREE(run->order);
    NORMA_FREE(run->block_at);
}
