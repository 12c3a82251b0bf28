#include "experiments/job/job.h"

#include "experiments/job/options.h"
#include "experiments/job/sweep_dimensions.h"
#include "io/config/config_read.h"
#include "io/result/provenance.h"
#include "io/result/result_read.h"
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
                                      .free_keys = job->grow.keys,
                                      .growth = job->grow.grows && !job->grow.other ? &job->growth
                                                                                    : NULL};
}

static norma_result_options result_options(const norma_job_context *job, int64_t bytes)
{
    return (norma_result_options){.force = has_flag(job->config, "force"),
                                  .resume = has_flag(job->config, "resume"),
                                  .extend = job->replaces,
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
        bool keeps = job->checkpoint && norma_job_keeps_state(job->config);
        if (keeps)
            NORMA_TRY(
                norma_agree(job->runtime->world, norma_checkpoint_sync_local(job->checkpoint)));
        NORMA_TRY(norma_result_close(&job->file, NORMA_RESULT_COMPLETE));
        norma_log_result("# result: %s", output_of(job));
        if (norma_checkpoint_close(&job->checkpoint, !keeps) && keeps)
            norma_log_info("%s.ckpt is kept: --resume can extend the run", output_of(job));
        return NORMA_OK;
    }
    const char *reason = norma_stop_reason_local();
    if (job->replaces) {
        norma_result_discard(&job->file);
        return NORMA_FAIL(NORMA_STOPPED,
                          "stopped by %s, state saved in %s.ckpt; --resume continues the run, and "
                          "until then %s holds what was complete before",
                          reason, output_of(job), output_of(job));
    }
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

/* The run in the checkpoint, where this one extends it. */
static norma_status settle_growth(const norma_job *job, norma_job_context *context)
{
    MPI_Comm world = context->runtime->world;
    char *stored = NULL;
    norma_status status = NORMA_OK;
    norma_grow_free_keys(&context->grow);
    if (!job->tasks || !has_flag(context->config, "resume"))
        return NORMA_OK;
    NORMA_TRY(norma_checkpoint_configuration(world, output_of(context), &stored));
    if (!stored)
        return NORMA_OK;
    status = norma_grow_init(context->config, context->call->sections, stored, job->grow != NULL,
                             &context->grow);
    norma_mem_free(stored);
    if (status == NORMA_OK && context->grow.grows && !context->grow.other) {
        context->growth = (norma_checkpoint_growth){.context = &context->grow,
                                                    .task = norma_grow_task,
                                                    .piece = norma_grow_task,
                                                    .state = norma_grow_task};
        job->tasks(context);
        status = job->grow ? job->grow(context) : NORMA_OK;
    }
    return norma_agree(world, status);
}

/* The complete result that the run replaces is of a smaller run. */
static norma_status check_replaced(const norma_job *job, const norma_job_context *context)
{
    norma_result_reader *reader = NULL;
    norma_grow grow = {0};
    char *text = NULL;
    NORMA_TRY(norma_result_reader_open(context->runtime->world, output_of(context), &reader));
    norma_status status = norma_result_reader_text(reader, "/configuration", &text);
    norma_result_reader_close(&reader);
    if (status == NORMA_OK && job->tasks)
        status = norma_grow_init(context->config, context->call->sections, text, job->grow != NULL,
                                 &grow);
    if (status == NORMA_OK && grow.other)
        status = NORMA_FAIL(NORMA_CONFIG,
                            "output %s exists with status complete and differs in --%s: choose "
                            "another name, or --force without --resume to replace it",
                            output_of(context), grow.other);
    else if (status == NORMA_OK && !grow.grows)
        status = NORMA_FAIL(NORMA_CONFIG,
                            "output %s exists with status complete, and this run is not larger: "
                            "choose another name, or --force without --resume to replace it",
                            output_of(context));
    norma_grow_clear(&grow);
    norma_mem_free(text);
    return norma_agree(context->runtime->world, status);
}

static norma_status check_files(const norma_job *job, norma_job_context *context)
{
    norma_text text;
    norma_checkpoint_options options;
    NORMA_TRY(settle_growth(job, context));
    if (context->replaces)
        NORMA_TRY(check_replaced(job, context));
    options = checkpoint_options(context);
    NORMA_TRY(norma_checkpoint_check(context->runtime->world, output_of(context), &options));
    if (!context->grow.grows)
        return NORMA_OK;
    norma_text_init(&text);
    norma_grow_describe(&context->grow, &text);
    if (text.data)
        norma_log_info("extends the run in %s.ckpt: %s", output_of(context), text.data);
    norma_text_clear(&text);
    return NORMA_OK;
}

/* With the configuration written: refuses or prints the plan, then computes. */
static norma_status plan_or_compute(const norma_job *job, norma_job_context *context, bool plan)
{
    NORMA_TRY(job->plan(context, plan));
    if (plan)
        return NORMA_OK;
    if (keeps_checkpoints(context))
        NORMA_TRY(check_files(job, context));
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

/* Refuses an output that is there. With --resume a complete one passes whose checkpoint was kept:
 * it may be extended. */
static norma_status check_output(norma_job_context *job)
{
    MPI_Comm world = job->runtime->world;
    norma_result_options options = result_options(job, 0);
    bool resumes = has_flag(job->config, "resume");
    char *stored = NULL;
    options.extend = resumes;
    NORMA_TRY(norma_result_check(world, output_of(job), &options));
    if (!resumes)
        return NORMA_OK;
    NORMA_TRY(norma_checkpoint_recover(world, output_of(job)));
    if (options.force)
        return NORMA_OK;
    NORMA_TRY(norma_result_is_complete(world, output_of(job), &job->replaces));
    if (!job->replaces)
        return NORMA_OK;
    NORMA_TRY(norma_checkpoint_configuration(world, output_of(job), &stored));
    bool kept = stored != NULL;
    norma_mem_free(stored);
    if (kept)
        return NORMA_OK;
    return norma_agree(
        world,
        NORMA_FAIL(NORMA_CONFIG,
                   "output %s exists with status complete, and there is no %s.ckpt to extend it "
                   "from, which --save state keeps: choose another name, or --force to replace "
                   "it; new replicas (--replica-offset) or values can be joined with norma merge",
                   output_of(job), output_of(job)));
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
    if (!plan)
        NORMA_TRY(check_output(context));
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
        norma_grow_clear(&context.grow);
    }
    norma_config_destroy(&context.config);
    return status;
}
