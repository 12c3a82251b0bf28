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
#include "experiments/chain/options.h"
#include "experiments/chain/plan.h"
#include "experiments/chain/run.h"
#include "experiments/driver.h"
#include "experiments/job/run.h"
#include "io/config/config_read.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/stop.h"
#include "src/base/mem.h"

#include <stdlib.h>

typedef struct run_state {
    const norma_call *call;
    norma_config *config;
    norma_chain_setup setup;
    norma_chain_output output;
    norma_checkpoint *checkpoint;
    norma_replicas *replicas;
    char *configuration; /* owned */
} run_state;

/* What is written and what a checkpoint must agree with. */
static norma_status make_configuration(run_state *run)
{
    norma_text text;
    char *written = NULL;
    norma_text_init(&text);
    NORMA_TRY(norma_config_write(run->config, &written));
    norma_text_append(&text, "%s", written);
    norma_chain_setup_fingerprint(&run->setup, &text);
    norma_mem_free(written);
    return norma_text_take(&text, &run->configuration);
}

static norma_status open_all(run_state *run, const norma_result_options *options)
{
    const norma_call *call = run->call;
    const char *path = norma_config_get_text(run->config, 0, "output");
    norma_checkpoint_options checkpoint =
        norma_job_checkpoint_options(run->config, run->configuration);
    /* The output first: while another run writes it, the checkpoint is that run's. */
    NORMA_TRY(norma_chain_output_open(&run->output, call->runtime, call->argc, call->argv,
                                      &run->setup, run->configuration, options));
    NORMA_TRY(norma_checkpoint_open(call->runtime->world, path, &checkpoint, &run->checkpoint));
    return norma_replicas_create(call->runtime->world,
                                 norma_config_get_integer(run->config, 0, "group-size"),
                                 &run->replicas);
}

static norma_status compute(run_state *run, const norma_result_options *options)
{
    norma_status status = NORMA_OK;
    norma_chain_run blocks = {.setup = &run->setup, .output = &run->output};
    NORMA_GOTO(status, open_all(run, options));
    blocks.checkpoint = run->checkpoint;
    blocks.replicas = run->replicas;
    norma_team_init_local(norma_replicas_group_local(run->replicas), &blocks.team);
    blocks.save_interval = 60 * norma_config_get_real(run->config, 0, "checkpoint-every");
    NORMA_GOTO(status, norma_chain_run_replay(&blocks));
    status = norma_chain_run_all(&blocks);
    if (status == NORMA_OK)
        status = norma_chain_output_pool(&run->output);
    if (status == NORMA_OK || status == NORMA_STOPPED)
        status = norma_job_end(run->config, &run->output.file, &run->checkpoint, status);
done:
    norma_chain_run_clear(&blocks);
    norma_replicas_destroy(&run->replicas);
    norma_result_abandon(&run->output.file);
    if (norma_checkpoint_close(&run->checkpoint, false) && status != NORMA_STOPPED)
        norma_log_info("what was done before is kept in %s.ckpt",
                       norma_config_get_text(run->config, 0, "output"));
    norma_chain_output_clear(&run->output);
    return status;
}

static norma_status plan_or_run(run_state *run, bool plan)
{
    norma_plan_machine machine;
    const norma_runtime *runtime = run->call->runtime;
    norma_result_options options = {.force = norma_config_get_flag(run->config, "force"),
                                    .resume = norma_config_get_flag(run->config, "resume")};
    if (!norma_config_has(run->config, "output"))
        NORMA_TRY(
            norma_agree(runtime->world, norma_config_set_text(run->config, "output", "chain.h5")));
    const char *path = norma_config_get_text(run->config, 0, "output");
    NORMA_TRY(norma_agree(runtime->world, norma_chain_check_options(run->config)));
    if (!plan)
        NORMA_TRY(norma_result_check(runtime->world, path, &options));
    NORMA_TRY(norma_job_settle_seed(run->call, run->config));
    NORMA_TRY(norma_chain_setup_read(runtime, run->config, &run->setup));
    NORMA_TRY(norma_agree(runtime->world, make_configuration(run)));
    NORMA_TRY(norma_plan_machine_measure(runtime, &machine));
    norma_job_place(run->call, run->config, &machine);
    NORMA_TRY(norma_chain_plan(runtime, &run->setup, &machine, plan));
    if (plan)
        return NORMA_OK;
    norma_checkpoint_options checkpoint =
        norma_job_checkpoint_options(run->config, run->configuration);
    NORMA_TRY(norma_checkpoint_check(runtime->world, path, &checkpoint));
    options.bytes = norma_chain_output_bytes(&run->setup);
    NORMA_TRY(norma_stop_open(runtime, norma_job_time_limit(run->config)));
    norma_status status = compute(run, &options);
    norma_stop_close_local();
    return status;
}

static norma_status run_driver(const norma_call *call)
{
    run_state run = {.call = call};
    const norma_command *command = call->plan ? &norma_chain_plan_command : &norma_chain_command;
    norma_status status = norma_config_read(call->runtime->world, command, call->sections,
                                            call->n_arguments, call->arguments, &run.config);
    if (status == NORMA_OK) {
        norma_job_settle_log(call, run.config);
        status = plan_or_run(&run, call->plan || norma_config_get_flag(run.config, "dry-run"));
    }
    norma_mem_free(run.configuration);
    norma_chain_setup_clear(&run.setup);
    norma_config_destroy(&run.config);
    return status;
}

const norma_driver norma_driver_chain = {
    .command = &norma_chain_command,
    .plan = &norma_chain_plan_command,
    .computes = true,
    .run = run_driver,
};
