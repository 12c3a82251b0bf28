/*
 * norma claims: which of the papers' theorems hold, and with which margin?
 *
 * Every claim of the five papers that can be evaluated is held against both sides of its own
 * inequality: cases are drawn, and a search climbs from the worst of them towards counter-examples.
 * Varies: claim, seed, number of cases and replicas. Feeds docs/claims.md.
 *     norma claims --depth quick --seed 1 --table claims.md
 */
#include "experiments/claims/ledger.h"
#include "experiments/claims/output.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <string.h>

static norma_status read(norma_job_context *job)
{
    norma_status status = norma_claims_prepare(job->config, job->state);
    if (status == NORMA_OK && job->runtime->rank == 0)
        status = norma_claims_ledger_check_root(job->config);
    return norma_agree(job->runtime->world, status);
}

static int64_t bytes_of_rank(const void *context, int64_t n_ranks)
{
    const norma_claims_run *run = context;
    (void)n_ranks;
    return (int64_t)8 * NORMA_CLAIM_HEAD * (run->first[run->n_claims] + run->n_claims);
}

/* Of both sides, at most: the search of a deterministic claim takes all its steps, means end their
 * replicas earlier where they are clear. */
static double n_evaluations(const norma_claims_run *run)
{
    double sum = 0;
    for (int64_t i = 0; i < run->n_claims; i++) {
        const norma_claim_budget *budget = &run->budgets[i];
        bool random = norma_claim_is_random(norma_claim_get(run->claims[i]));
        int64_t most =
            random ? budget->n_cases * budget->n_replicas_most : budget->n_cases + budget->n_steps;
        sum += (double)budget->n_blocks * (double)most;
    }
    return sum;
}

static norma_status plan(norma_job_context *job, bool print)
{
    const norma_claims_run *run = job->state;
    char memory[32], size[32];
    norma_status status =
        norma_plan_check_local(&job->machine, "the ledger", bytes_of_rank, run, NULL);
    NORMA_TRY(norma_agree(job->runtime->world, status));
    if (!print)
        return NORMA_OK;
    norma_plan_format_bytes_local(
        (double)(job->machine.base_memory + bytes_of_rank(run, job->machine.n_ranks)), memory,
        sizeof memory);
    norma_plan_format_bytes_local((double)norma_claims_output_bytes(run), size, sizeof size);
    norma_log_result("# %lld claims, %lld blocks of cases, up to %.3g evaluations of both sides, "
                     "memory of a rank %s, file %s",
                     (long long)run->n_claims, (long long)run->first[run->n_claims],
                     n_evaluations(run), memory, size);
    return NORMA_OK;
}

static norma_status compute(norma_job_context *job)
{
    norma_claims_run *run = job->state;
    const norma_job_file about = {.title = "Claims of the papers",
                                  .process_grid = "each rank its own blocks of cases",
                                  .configuration = job->settings,
                                  .bytes = norma_claims_output_bytes(run)};
    NORMA_TRY(norma_job_open(job, &about));
    NORMA_TRY(norma_claims_output_begin(job, run));
    NORMA_TRY(norma_claims_tasks_run(job, run));
    NORMA_TRY(norma_claims_output_finish(job, run));
    norma_claims_ledger_print(run);
    return norma_claims_ledger_write(job, run);
}

static void clear(norma_job_context *job)
{
    norma_claims_clear(job->state);
}

static const norma_job claims_job = {
    .default_output = "claims.h5", .read = read, .plan = plan, .compute = compute, .clear = clear};

static norma_status run_driver(const norma_call *call)
{
    norma_claims_run run;
    memset(&run, 0, sizeof run);
    return norma_job_run(call, &claims_job, &run);
}

const norma_driver norma_driver_claims = {.command = &norma_claims_command,
                                          .plan = &norma_claims_plan_command,
                                          .computes = true,
                                          .run = run_driver};
