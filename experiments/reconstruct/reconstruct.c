/*
 * norma reconstruct: which scales and shifts make a frozen random network compute a target?
 *
 * Every target layer Wt is replaced by a frozen source pair W1, W2 with batch norms of which only
 * gamma and beta are free: diag(gamma2) KR gamma1 = vec(Wt), KR the Khatri-Rao feature matrix
 * (CNN24 Theorems 2.2 and 2.3). The system is solved, judged against its rounding floor, shifted
 * into the activation's linear region, and the whole source network is run beside its target.
 * Varies: width and its rule, source law, kernel split, solver, seed, replica. Feeds CNN24 Tables 1
 * and 2.
 *     norma reconstruct --target net.h5 --dataset fashion-mnist --overparam 0.1 --output out.h5
 */
#include "experiments/job/job.h"
#include "experiments/reconstruct/construct/construction.h"
#include "experiments/reconstruct/construct/layers.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/journal.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/run.h"
#include "experiments/reconstruct/waves.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"

static norma_status check(norma_job_context *job)
{
    NORMA_TRY(norma_reconstruct_teacher_settle(job->config));
    return norma_reconstruct_check_options(job->config);
}

static norma_status read(norma_job_context *job)
{
    norma_reconstruct_run *run = job->state;
    run->runtime = job->runtime;
    run->config = job->config;
    return norma_reconstruct_inputs_read(job->runtime, job->config, &run->inputs);
}

static norma_status group(norma_job_context *job)
{
    norma_reconstruct_run *run = job->state;
    const norma_stack_kind *stack = norma_reconstruct_stack_kind(job->config);
    norma_text text;
    if (stack)
        return norma_agree(
            job->runtime->world,
            norma_stack_choose_group(job, &run->inputs, stack, job->group_size, &job->group_size));
    norma_status status =
        norma_reconstruct_groups_choose(job->config, &run->inputs, &job->machine,
                                        job->runtime->n_threads, job->group_size, &run->groups);
    norma_text_init(&text);
    norma_reconstruct_groups_describe(&run->groups, job->machine.n_ranks, &text);
    if (text.data && job->machine.n_ranks > 1)
        norma_log_detail("%s", text.data);
    norma_text_clear(&text);
    job->group_size = run->groups.size;
    return norma_agree(job->runtime->world, status);
}

static void fingerprint(const norma_job_context *job, norma_text *text)
{
    const norma_reconstruct_run *run = job->state;
    norma_reconstruct_fingerprint(&run->inputs, text);
}

static norma_status plan(norma_job_context *job, bool print)
{
    const norma_reconstruct_run *run = job->state;
    const norma_stack_kind *stack = norma_reconstruct_stack_kind(job->config);
    norma_rates rates = {0};
    if (stack)
        return norma_agree(job->runtime->world, norma_stack_plan(job, &run->inputs, stack, print));
    if (print)
        NORMA_TRY(norma_rates_measure(job->runtime, &rates));
    norma_rates_place_local(&rates, job->machine.n_ranks, job->machine.ranks_per_node);
    return norma_agree(job->runtime->world,
                       norma_reconstruct_plan(job->config, &run->inputs, &job->machine,
                                              job->runtime->n_threads, &run->groups,
                                              print ? &rates : NULL));
}

/* Each layer is a task, and behind the layers of all replicas the comparison of each. */
static void tasks(norma_job_context *job)
{
    const norma_reconstruct_run *run = job->state;
    const norma_network *network = run->inputs.factored;
    if (!network && run->inputs.target)
        network = norma_target_network_local(run->inputs.target);
    job->grow.n_parts = 1;
    if (norma_reconstruct_stack_kind(job->config)) /* one task a replica */
        return;
    job->grow.n_parts = norma_reconstruct_layers_count(job->config, network);
    job->grow.n_behind = 1;
}

static norma_status compute(norma_job_context *job)
{
    norma_reconstruct_run *run = job->state;
    const norma_stack_kind *stack = norma_reconstruct_stack_kind(job->config);
    if (stack)
        return norma_stack_compute(job, &run->inputs, stack);
    NORMA_TRY(norma_reconstruct_run_open(run, job));
    return norma_reconstruct_waves_run(run, job);
}

static void clear(norma_job_context *job)
{
    norma_reconstruct_run *run = job->state;
    norma_reconstruct_inputs_clear(&run->inputs);
}

static const norma_job reconstruct_job = {
    .default_output = "reconstruct.h5",
    .check = check,
    .read = read,
    .group = group,
    .fingerprint = fingerprint,
    .plan = plan,
    .tasks = tasks,
    .compute = compute,
    .clear = clear,
};

static norma_status run(const norma_call *call)
{
    norma_reconstruct_run state = {0};
    return norma_job_run(call, &reconstruct_job, &state);
}

const norma_driver norma_driver_reconstruct = {
    .command = &norma_reconstruct_command,
    .plan = &norma_reconstruct_plan_command,
    .computes = true,
    .run = run,
};
