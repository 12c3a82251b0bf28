#include "experiments/job/job.h"

#include "experiments/job/options.h"
#include "experiments/job/sweep_dimensions.h"
#include "io/config/config_read.h"
#include "io/result/provenance.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/stop.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <inttypes.h>
#include <stdlib.h>

static bool has_flag(const norma_config *config, const char *name)
{
    return norma_config_knows(config, name) && norma_config_get_flag(config, name);
}

static const char *output_of(const norma_job_context *job)
{
    return norma_config_get_text(job->config, 0, "output");
}

static bool keeps_checkpoints(const norma_job_context *job)
{
    return norma_config_knows(job->config, "resume");
}

static norma_checkpoint_options checkpoint_options(const norma_job_context *job)
{
    return (norma_checkpoint_options){.resume = has_flag(job->config, "resume"),
                                      .force = has_flag(job->config, "force"),
                                      .configuration = job->configuration,
                                      .free_keys = norma_job_free_keys};
}

static norma_result_options result_options(const norma_job_context *job, int64_t bytes)
{
    return (norma_result_options){.force = has_flag(job->config, "force"),
                                  .resume = has_flag(job->config, "resume"),
                                  .bytes = bytes};
}

/* --- before the computation ------------------------------------------------------------------ */

/* Without --seed: on --resume the seed that the earlier run drew, otherwise a new one. */
static norma_status settle_seed(norma_job_context *job)
{
    MPI_Comm world = job->runtime->world;
    char *stored = NULL;
    uint64_t seed = 0;
    norma_status status = NORMA_OK;
    if (!norma_config_knows(job->config, "seed") || norma_config_has(job->config, "seed"))
        return NORMA_OK;
    if (has_flag(job->config, "resume"))
        NORMA_TRY(norma_checkpoint_recall(world, output_of(job), "seed", &stored));
    if (stored)
        status = norma_config_set_text(job->config, "seed", stored);
    else
        status = norma_runtime_draw_seed(job->runtime, &seed);
    if (status == NORMA_OK && !stored)
        status = norma_config_set_seed(job->config, "seed", seed);
    norma_mem_free(stored);
    return norma_agree(world, status);
}

/* The machine that `norma plan` is given, in place of this one. */
static void place(norma_job_context *job)
{
    const norma_config *config = job->config;
    norma_plan_machine *machine = &job->machine;
    if (!norma_config_knows(config, "ranks"))
        return;
    if (norma_config_has(config, "ranks"))
        machine->n_ranks = norma_config_get_integer(config, 0, "ranks");
    machine->ranks_per_node = machine->n_ranks;
    if (norma_config_has(config, "ranks-per-node"))
        machine->ranks_per_node = norma_config_get_integer(config, 0, "ranks-per-node");
    if (norma_config_has(config, "node-memory"))
        machine->node_memory =
            (int64_t)(norma_config_get_real(config, 0, "node-memory") * 1073741824.0);
}

/* The size of the groups; on --resume that of the results in the checkpoint, if it can be. */
static norma_status settle_groups(const norma_job *job, norma_job_context *context, bool plan)
{
    MPI_Comm world = context->runtime->world;
    char *stored = NULL;
    bool has_results = false;
    if (!plan && has_flag(context->config, "resume"))
        NORMA_TRY(norma_checkpoint_has_results(world, output_of(context), &has_results));
    if (has_results)
        NORMA_TRY(norma_checkpoint_recall(world, output_of(context), NORMA_JOB_GROUP_KEY, &stored));
    if (stored) {
        long long size = strtoll(stored, NULL, 10);
        context->group_size = size >= 1 && size <= context->runtime->size ? size : 0;
    }
    norma_mem_free(stored);
    return job->group(context);
}

/* The texts of the context, counted; run_with_options frees them. */
typedef struct texts {
    char *settings, *configuration, *input_files;
} texts;

static norma_status write_configuration(const norma_job *job, norma_job_context *context,
                                        texts *out)
{
    norma_text text;
    NORMA_TRY(norma_config_write(context->config, &out->settings));
    norma_text_init(&text);
    norma_text_append(&text, "%s", "");
    if (job->fingerprint)
        job->fingerprint(context, &text);
    NORMA_TRY(norma_text_take(&text, &out->input_files));
    norma_text_append(&text, "%s%s", out->settings, out->input_files);
    if (job->group)
        norma_text_append(&text, "  %s: %" PRId64 "\n", NORMA_JOB_GROUP_KEY, context->group_size);
    return norma_text_take(&text, &out->configuration);
}

static void announce(const norma_job_context *job)
{
    norma_runtime_announce_local(job->runtime);
    if (!norma_config_knows(job->config, "seed"))
        return;
    int64_t n = norma_config_get_count(job->config, "seed");
    uint64_t seed = norma_config_get_seed(job->config, 0, "seed");
    if (n > 1)
        norma_log_info("%" PRId64 " seeds, the first is %" PRIu64, n, seed);
    else
        norma_log_info("seed %" PRIu64, seed);
}

static double time_limit(const norma_config *config)
{
    if (!norma_config_has(config, "time-limit"))
        return 0;
    return norma_config_get_seconds(config, 0, "time-limit");
}

double norma_job_save_interval(const norma_config *config)
{
    return 60 * norma_config_get_real(config, 0, "checkpoint-every");
}

int64_t norma_job_group_size(const norma_job_context *job)
{
    if (job->group_size > 0)
        return job->group_size;
    if (!norma_config_knows(job->config, "group-size") ||
        !norma_config_has(job->config, "group-size"))
        return job->runtime->size;
    return norma_config_get_integer(job->config, 0, "group-size");
}

/* --- files ----------------------------------------------------------------------------------- */

norma_status norma_job_open(norma_job_context *job, const norma_job_file *about)
{
    const norma_config *config = job->config;
    MPI_Comm world = job->runtime->world;
    norma_result_options options = result_options(job, about->bytes);
    norma_provenance provenance = {.title = about->title,
                                   .argc = job->call->argc,
                                   .argv = job->call->argv,
                                   .seed = about->seed,
                                   .process_grid = about->process_grid,
                                   .configuration = about->configuration};
    if (norma_config_knows(config, "seed"))
        provenance.seed = norma_config_get_seed(config, 0, "seed");
    /* The output first: while another run writes it, the checkpoint is that run's. */
    NORMA_TRY(norma_result_create(world, output_of(job), &options, &job->file));
    NORMA_TRY(norma_provenance_write(job->file, job->runtime, &provenance));
    if (job->input_files[0])
        NORMA_TRY(norma_result_set_text(job->file, "/", "input_files", job->input_files));
    NORMA_TRY(norma_sweep_dimensions_describe(config, job->file));
    if (!keeps_checkpoints(job))
        return NORMA_OK;
    norma_checkpoint_options checkpoint = checkpoint_options(job);
    return norma_checkpoint_open(world, output_of(job), &checkpoint, &job->checkpoint);
}

/* The end of a computation that returned NORMA_OK or NORMA_STOPPED: closes the result as complete
 * or stopped, and then the checkpoint where it is not needed any more. */
static norma_status finish(norma_job_context *job, norma_status status)
{
    if (status == NORMA_OK) {
        NORMA_TRY(norma_result_close(&job->file, NORMA_RESULT_COMPLETE));
        norma_log_result("# result: %s", output_of(job));
        (void)norma_checkpoint_close(&job->checkpoint, true);
        return NORMA_OK;
    }
    const char *reason = norma_stop_reason_local();
    NORMA_TRY(norma_result_close(&job->file, NORMA_RESULT_STOPPED));
    return NORMA_FAIL(NORMA_STOPPED,
                      "stopped by %s, state saved in %s.ckpt; --resume continues the run", reason,
                      output_of(job));
}

static norma_status compute(const norma_job *job, norma_job_context *context)
{
    if (keeps_checkpoints(context)) /* otherwise a signal ends the process as usual */
        NORMA_TRY(norma_stop_open(context->runtime, time_limit(context->config)));
    norma_status status = job->compute(context);
    if (status == NORMA_OK || status == NORMA_STOPPED)
        status = finish(context, status);
    norma_result_abandon(&context->file);
    if (norma_checkpoint_close(&context->checkpoint, false) && status != NORMA_STOPPED)
        norma_log_info("what was done before is kept in %s.ckpt", output_of(context));
    if (keeps_checkpoints(context))
        norma_stop_close_local();
    return status;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* With the configuration written: refuses or prints the plan, then computes. */
static norma_status plan_or_compute(const norma_job *job, norma_job_context *context, bool plan)
{
    const norma_runtime *runtime = context->runtime;
    NORMA_TRY(job->plan(context, plan));
    if (plan)
        return NORMA_OK;
    if (keeps_checkpoints(context)) {
        norma_checkpoint_options options = checkpoint_options(context);
        NORMA_TRY(norma_checkpoint_check(runtime->world, output_of(context), &options));
    }
    announce(context);
    return compute(job, context);
}

/* The last replica's number fits its field of the generator's counters. */
static norma_status check_replicas(const norma_config *config)
{
    if (!norma_config_knows(config, "replica-offset"))
        return NORMA_OK;
    int64_t offset = norma_config_get_integer(config, 0, "replica-offset");
    int64_t replicas = norma_config_get_integer(config, 0, "replicas");
    if (replicas <= NORMA_RNG_N_REPLICAS - offset)
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, "replica-offset"),
                      "%s: a seed has %" PRId64 " replicas, not %" PRId64 " from %" PRId64 " on",
                      norma_config_where(config, "replica-offset"), NORMA_RNG_N_REPLICAS, replicas,
                      offset);
}

static norma_status run_with_options(const norma_job *job, norma_job_context *context)
{
    MPI_Comm world = context->runtime->world;
    norma_config *config = context->config;
    bool plan = context->call->plan || has_flag(config, "dry-run");
    texts text = {NULL, NULL, NULL};
    if (!norma_config_has(config, "output"))
        NORMA_TRY(norma_agree(world, norma_config_set_text(config, "output", job->default_output)));
    NORMA_TRY(norma_agree(world, check_replicas(config)));
    if (job->check)
        NORMA_TRY(norma_agree(world, job->check(context)));
    if (!plan) {
        norma_result_options options = result_options(context, 0);
        NORMA_TRY(norma_result_check(world, output_of(context), &options));
    }
    NORMA_TRY(settle_seed(context));
    NORMA_TRY(job->read(context));
    NORMA_TRY(norma_plan_machine_measure(context->runtime, &context->machine));
    place(context);
    if (job->group)
        NORMA_TRY(settle_groups(job, context, plan));
    norma_status status = write_configuration(job, context, &text);
    status = norma_agree(world, status);
    context->settings = text.settings;
    context->configuration = text.configuration;
    context->input_files = text.input_files;
    if (status == NORMA_OK)
        status = plan_or_compute(job, context, plan);
    norma_mem_free(text.input_files);
    norma_mem_free(text.configuration);
    norma_mem_free(text.settings);
    return status;
}

norma_status norma_job_run(const norma_call *call, const norma_job *job, void *state)
{
    norma_job_context context = {.call = call, .runtime = call->runtime, .state = state};
    const norma_command *command = call->plan ? call->driver->plan : call->driver->command;
    norma_status status = norma_config_read(call->runtime->world, command, call->sections,
                                            call->n_arguments, call->arguments, &context.config);
    if (status == NORMA_OK) {
        if (has_flag(context.config, "quiet"))
            norma_log_set_level_local(NORMA_LOG_QUIET);
        if (has_flag(context.config, "verbose"))
            norma_log_set_level_local(NORMA_LOG_VERBOSE);
        norma_runtime_report_local(call->runtime);
        status = run_with_options(job, &context);
        if (job->clear)
            job->clear(&context);
    }
    norma_config_destroy(&context.config);
    return status;
}
