/*
 * norma chain: what do 10, 1000, 10^6 random layers with (or without) normalization make of a
 * batch?
 *
 * H_(l+1) is norm, activation and gain of W_l H_l (or H_l + g W_l H_l) with fresh random W_l
 * (RANK20 Eq. (1), THESIS chapters 2 to 6); rank, orthogonality, isometry and Gram matrix are
 * measured after every layer, recorded on a schedule and averaged along the chain with honest
 * errors. Varies: preset and its parts, width, batch, depth, residual strength, input, seed,
 * replica. Blocks of replicas are spread over the ranks; the run can be stopped at any moment and
 * resumed on another number of ranks with the same bits. Feeds RANK20 Fig. 2, 3, 8, 9 and THESIS
 * Fig. 2.1 to 3.4, 6.1.
 *     norma chain --width 8,16,32..256:x2 --depth 1e5 --residual-strength inf,1 --output rank.h5
 */
#include "experiments/chain/grow.h"
#include "experiments/chain/options.h"
#include "experiments/chain/plan.h"
#include "experiments/chain/run.h"
#include "experiments/job/job.h"

#include <stdio.h>

typedef struct chain_state {
    norma_chain_setup setup;
    norma_chain_output output;
    norma_chain_run run;
    norma_chain_grow grow;
} chain_state;

static norma_status check(norma_job_context *job)
{
    return norma_chain_check_options(job->config);
}

static norma_status read(norma_job_context *job)
{
    chain_state *state = job->state;
    return norma_chain_setup_read(job->runtime, job->config, &state->setup);
}

static void fingerprint(const norma_job_context *job, norma_text *text)
{
    const chain_state *state = job->state;
    norma_chain_setup_fingerprint(&state->setup, text);
}

static norma_status plan(norma_job_context *job, bool print)
{
    const chain_state *state = job->state;
    return norma_chain_plan(job->runtime, &state->setup, &job->machine, print);
}

/* One task a replica. */
static void tasks(norma_job_context *job)
{
    job->grow.n_parts = 1;
}

static norma_status grow(norma_job_context *job)
{
    chain_state *state = job->state;
    return norma_chain_grow_init(job, &state->setup, &state->grow);
}

static norma_status compute(norma_job_context *job)
{
    chain_state *state = job->state;
    const norma_chain_setup *setup = &state->setup;
    char grid[96];
    snprintf(grid, sizeof grid, "%d ranks in groups of %lld take turns at %lld replicas",
             job->runtime->size, (long long)norma_config_get_integer(job->config, 0, "group-size"),
             (long long)setup->n_tasks);
    const norma_job_file about = {.title = "Chain of representations through random layers",
                                  .process_grid = grid,
                                  .configuration = job->settings,
                                  .bytes = norma_chain_output_bytes(setup)};
    NORMA_TRY(norma_job_open(job, &about));
    NORMA_TRY(norma_chain_output_layout(&state->output, job->runtime, setup, job->file));
    NORMA_TRY(norma_chain_run_all(&state->run, job, setup, &state->output));
    return norma_chain_output_pool(&state->output);
}

static void clear(norma_job_context *job)
{
    chain_state *state = job->state;
    norma_chain_run_clear(&state->run);
    norma_chain_output_clear(&state->output);
    norma_chain_grow_clear(&state->grow);
    norma_chain_setup_clear(&state->setup);
}

static const norma_job chain_job = {
    .default_output = "chain.h5",
    .check = check,
    .read = read,
    .fingerprint = fingerprint,
    .plan = plan,
    .tasks = tasks,
    .grow = grow,
    .compute = compute,
    .clear = clear,
};

static norma_status run(const norma_call *call)
{
    chain_state state = {0};
    return norma_job_run(call, &chain_job, &state);
}

const norma_driver norma_driver_chain = {
    .command = &norma_chain_command,
    .plan = &norma_chain_plan_command,
    .computes = true,
    .run = run,
};
