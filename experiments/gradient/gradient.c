/*
 * norma gradient: how do gradients grow or vanish on their way back through random layers?
 *
 * V becomes dL/dH_l = g W_l' V_Z (+ V_Z), and log || dL/dW_l ||_F is taken of every layer (THESIS
 * chapter 6; src/gradient/gradient.h). Batch normalization makes gradients explode at a rate that
 * orthogonal weights at n = d avoid; gains alpha_l shape those of nonlinear chains. Varies: the
 * layer as in norma chain, gain, loss, seed, replica. Replicas are spread over groups of ranks, of
 * one rank or of several that share a wide chain; the run can be stopped at any moment and resumed
 * on another number of ranks with the same bits. Feeds THESIS Fig. 6.2, 6.3, 6.5, C.1, C.2.
 *     norma gradient --width 100 --batch 10 --depth 80 --norm bn-centered --replicas 100
 */
#include "experiments/gradient/options.h"
#include "experiments/gradient/plan.h"
#include "experiments/gradient/pool.h"
#include "experiments/gradient/run.h"
#include "experiments/job/job.h"

#include <stdio.h>

typedef struct gradient_state {
    norma_gradient_setup setup;
    norma_gradient_output output;
    norma_gradient_run run;
} gradient_state;

static norma_status check(norma_job_context *job)
{
    return norma_gradient_options_check(job->config);
}

static norma_status read(norma_job_context *job)
{
    gradient_state *state = job->state;
    return norma_gradient_setup_read(job->runtime, job->config, &state->setup);
}

static void fingerprint(const norma_job_context *job, norma_text *text)
{
    const gradient_state *state = job->state;
    norma_layer_inputs_fingerprint(&state->setup.inputs, text);
}

static norma_status plan(norma_job_context *job, bool print)
{
    const gradient_state *state = job->state;
    return norma_gradient_plan(job->runtime, &state->setup, &job->machine, print);
}

/* One task a replica. */
static void tasks(norma_job_context *job)
{
    job->grow.n_parts = 1;
}

static norma_status compute(norma_job_context *job)
{
    gradient_state *state = job->state;
    const norma_gradient_setup *setup = &state->setup;
    char grid[96];
    snprintf(grid, sizeof grid, "%d ranks in groups of %lld take turns at %lld replicas",
             job->runtime->size, (long long)norma_config_get_integer(job->config, 0, "group-size"),
             (long long)setup->n_tasks);
    const norma_job_file about = {.title = "Gradients through random layers",
                                  .process_grid = grid,
                                  .configuration = job->settings,
                                  .bytes = norma_gradient_output_bytes(setup)};
    NORMA_TRY(norma_job_open(job, &about));
    NORMA_TRY(norma_gradient_output_layout(&state->output, job->runtime, setup, job->file));
    NORMA_TRY(norma_gradient_run_all(&state->run, job, setup, &state->output));
    return norma_gradient_pool(&state->output);
}

static void clear(norma_job_context *job)
{
    gradient_state *state = job->state;
    norma_gradient_run_clear(&state->run);
    norma_gradient_output_clear(&state->output);
    norma_gradient_setup_clear(&state->setup);
}

static const norma_job gradient_job = {
    .default_output = "gradient.h5",
    .check = check,
    .read = read,
    .fingerprint = fingerprint,
    .plan = plan,
    .tasks = tasks,
    .compute = compute,
    .clear = clear,
};

static norma_status run(const norma_call *call)
{
    gradient_state state = {0};
    return norma_job_run(call, &gradient_job, &state);
}

const norma_driver norma_driver_gradient = {
    .command = &norma_gradient_command,
    .plan = &norma_gradient_plan_command,
    .computes = true,
    .run = run,
};
