#include "experiments/claims/tasks.h"

#include "experiments/claims/output.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <string.h>

norma_status norma_claims_prepare(const norma_config *config, norma_claims_run *run)
{
    int64_t longest = 0;
    NORMA_TRY(NORMA_CALLOC(run->claims, norma_claim_names.n));
    run->n_claims = norma_claims_list(config, run->claims);
    NORMA_TRY(NORMA_CALLOC(run->budgets, run->n_claims));
    NORMA_TRY(NORMA_CALLOC(run->first, run->n_claims + 1));
    for (int64_t i = 0; i < run->n_claims; i++) {
        const norma_claim *claim = norma_claim_get(run->claims[i]);
        norma_claim_budget *budget = &run->budgets[i];
        *budget = norma_claims_budget(config, claim);
        if (!claim->evaluate || (budget->planted && !norma_claim_has_planted(claim)))
            budget->n_blocks = 0;
        run->first[i + 1] = run->first[i] + budget->n_blocks;
        if (norma_claim_record_size(budget) > longest)
            longest = norma_claim_record_size(budget);
    }
    NORMA_TRY(NORMA_CALLOC(run->heads, run->first[run->n_claims] * NORMA_CLAIM_HEAD));
    NORMA_TRY(NORMA_CALLOC(run->merged, run->n_claims * NORMA_CLAIM_HEAD));
    return NORMA_ALLOC(run->record, longest);
}

void norma_claims_clear(norma_claims_run *run)
{
    norma_queue_destroy(&run->queue);
    NORMA_FREE(run->claims);
    NORMA_FREE(run->budgets);
    NORMA_FREE(run->first);
    NORMA_FREE(run->heads);
    NORMA_FREE(run->merged);
    NORMA_FREE(run->record);
}

/* The claim that a task belongs to. */
static int64_t claim_of(const norma_claims_run *run, int64_t task)
{
    int64_t i = 0;
    while (run->first[i + 1] <= task)
        i++;
    return i;
}

/* Into the file, and its head into this rank's part of the whole. */
static norma_status take(norma_claims_run *run, int64_t task, const double *record)
{
    int64_t i = claim_of(run, task);
    memcpy(run->heads + task * NORMA_CLAIM_HEAD, record, NORMA_CLAIM_HEAD * sizeof *record);
    return norma_claims_output_write_local(run->job, norma_claim_get(run->claims[i]),
                                           &run->budgets[i], task - run->first[i], record);
}

/* A finished task of an earlier run (norma_queue_tasks). */
static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    norma_claims_run *run = context;
    int64_t n = norma_claim_record_size(&run->budgets[claim_of(run, task)]);
    if (size != n * (int64_t)sizeof *run->record)
        return NORMA_FAIL(NORMA_CONFIG, "the checkpoint holds a result of another size");
    memcpy(run->record, bytes, (size_t)size);
    return take(run, task, run->record);
}

/* norma_claim_budget: a block takes up to a minute, a stop does not wait for its end. */
static bool must_stop(void *context)
{
    const norma_claims_run *run = context;
    return norma_queue_step(run->queue, 0) == NORMA_STOP_END;
}

/* One block of one claim (norma_queue_tasks); the group is this rank alone. */
static norma_status compute(void *context, int64_t task)
{
    norma_claims_run *run = context;
    int64_t i = claim_of(run, task);
    const norma_claim *claim = norma_claim_get(run->claims[i]);
    norma_claim_budget budget = run->budgets[i];
    budget.stop = must_stop;
    budget.context = run;
    norma_status status =
        norma_claim_examine(claim, norma_config_get_seed(run->job->config, 0, "seed"),
                            task - run->first[i], &budget, run->record);
    if (status == NORMA_STOPPED)
        return status;
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: ", claim->name);
    NORMA_TRY(take(run, task, run->record));
    NORMA_TRY(norma_queue_keep_local(run->queue, task, run->record,
                                     norma_claim_record_size(&run->budgets[i]) *
                                         (int64_t)sizeof *run->record));
    (void)norma_queue_step(run->queue, 1);
    return NORMA_OK;
}

norma_status norma_claims_tasks_run(norma_job_context *job, norma_claims_run *run)
{
    const norma_queue_tasks tasks = {.n_tasks = run->first[run->n_claims],
                                     .n_queued = run->first[run->n_claims],
                                     .name = "blocks of cases",
                                     .step = "blocks",
                                     .step_unit = "block",
                                     .context = run,
                                     .compute = compute,
                                     .replay = replay};
    run->job = job;
    NORMA_TRY(norma_job_queue_alone(job, &tasks, &run->queue));
    NORMA_TRY(norma_queue_run(run->queue, 0, tasks.n_queued));
    norma_replicas_collect(job->runtime->world, tasks.n_tasks * NORMA_CLAIM_HEAD, run->heads);
    for (int64_t i = 0; i < run->n_claims; i++)
        for (int64_t task = run->first[i]; task < run->first[i + 1]; task++)
            norma_claim_merge(run->merged + i * NORMA_CLAIM_HEAD,
                              run->heads + task * NORMA_CLAIM_HEAD);
    return NORMA_OK;
}
