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
#include "experiments/driver.h"
#include "experiments/job/run.h"
#include "experiments/reconstruct/journal.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/queue.h"
#include "experiments/reconstruct/run.h"
#include "experiments/reconstruct/solver.h"
#include "io/config/config_read.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/stop.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static norma_status open_output(norma_reconstruct_run *run)
{
    const norma_runtime *runtime = run->call->runtime;
    norma_layer_estimate estimate;
    norma_reconstruct_cell first;
    int group_size = norma_reconstruct_group_size(run);
    char grid[96] = "";
    norma_status status = norma_reconstruct_cell_init(run->config, &run->inputs, 0, true, &first);
    if (status == NORMA_OK) {
        int64_t last = first.n_layers - 1;
        while (!first.layers[last].wanted)
            last--;
        norma_layer_problem problem = norma_reconstruct_problem(&first, last);
        norma_solver_options options = norma_reconstruct_solver_options(&first, 0);
        status = norma_layer_solve_estimate_local(&problem, &options, group_size, &estimate);
    }
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    snprintf(grid, sizeof grid, "%d x %d, %d idle", estimate.grid_rows, estimate.grid_columns,
             estimate.n_idle);
    norma_log_info("process grid %s", grid);
    if (group_size < runtime->size)
        norma_log_info("%d groups of %d ranks, %d ranks in none", runtime->size / group_size,
                       group_size, runtime->size % group_size);
    status = norma_reconstruct_output_open(&run->output, runtime, run->call->argc, run->call->argv,
                                           run->config, &run->inputs, &first, grid);
done:
    norma_reconstruct_cell_clear(&first);
    return status;
}

static norma_status reconstruct(norma_reconstruct_run *run)
{
    const char *path = norma_config_get_text(run->config, 0, "output");
    norma_checkpoint_options options =
        norma_job_checkpoint_options(run->config, run->configuration);
    norma_checkpoint *checkpoint = NULL;
    norma_status status = NORMA_OK;
    /* The output first: while another run writes it, the checkpoint is that run's. */
    NORMA_GOTO(status, open_output(run));
    NORMA_GOTO(status,
               norma_checkpoint_open(run->call->runtime->world, path, &options, &checkpoint));
    status = norma_reconstruct_queue(run, checkpoint);
    if (status == NORMA_OK || status == NORMA_STOPPED)
        status = norma_job_end(run->config, &run->output.file, &checkpoint, status);
done:
    norma_result_abandon(&run->output.file);
    if (norma_checkpoint_close(&checkpoint, false) && status != NORMA_STOPPED)
        norma_log_info("what was done before is kept in %s.ckpt", path);
    return status;
}

/* The effective configuration, and what tells the inputs from others of the same name. */
static norma_status make_configuration(norma_reconstruct_run *run)
{
    norma_text text;
    char *written = NULL;
    norma_text_init(&text);
    NORMA_TRY(norma_config_write(run->config, &written));
    norma_text_append(&text, "%s", written);
    norma_reconstruct_fingerprint(&run->inputs, &text);
    norma_mem_free(written);
    return norma_text_take(&text, &run->configuration);
}

static norma_status plan_or_run(norma_reconstruct_run *run, bool plan)
{
    const norma_runtime *runtime = run->call->runtime;
    norma_result_options options = {.force = norma_config_get_flag(run->config, "force"),
                                    .resume = norma_config_get_flag(run->config, "resume")};
    NORMA_TRY(norma_agree(runtime->world, norma_reconstruct_check_options(run->config)));
    if (!norma_config_has(run->config, "output"))
        NORMA_TRY(norma_agree(runtime->world,
                              norma_config_set_text(run->config, "output", "reconstruct.h5")));
    const char *path = norma_config_get_text(run->config, 0, "output");
    if (!plan)
        NORMA_TRY(norma_result_check(runtime->world, path, &options));
    NORMA_TRY(norma_job_settle_seed(run->call, run->config));
    NORMA_TRY(norma_reconstruct_inputs_read(runtime, run->config, &run->inputs));
    NORMA_TRY(norma_agree(runtime->world, make_configuration(run)));
    NORMA_TRY(norma_plan_machine_measure(runtime, &run->machine));
    norma_job_place(run->call, run->config, &run->machine);
    norma_rates rates = {0};
    if (plan)
        NORMA_TRY(norma_rates_measure(runtime, &rates));
    norma_rates_place_local(&rates, run->machine.n_ranks, run->machine.ranks_per_node);
    norma_status status = norma_reconstruct_plan(run->config, &run->inputs, &run->machine,
                                                 runtime->n_threads, plan ? &rates : NULL);
    NORMA_TRY(norma_agree(runtime->world, status));
    if (plan)
        return NORMA_OK;
    norma_checkpoint_options checkpoint =
        norma_job_checkpoint_options(run->config, run->configuration);
    NORMA_TRY(norma_checkpoint_check(runtime->world, path, &checkpoint));
    norma_runtime_announce_local(runtime);
    NORMA_TRY(norma_stop_open(runtime, norma_job_time_limit(run->config)));
    status = reconstruct(run);
    norma_stop_close_local();
    return status;
}

static norma_status run_driver(const norma_call *call)
{
    norma_reconstruct_run run = {.call = call};
    const norma_command *command =
        call->plan ? &norma_reconstruct_plan_command : &norma_reconstruct_command;
    norma_status status = norma_config_read(call->runtime->world, command, call->sections,
                                            call->n_arguments, call->arguments, &run.config);
    if (status == NORMA_OK) {
        norma_job_settle_log(call, run.config);
        status = plan_or_run(&run, call->plan || norma_config_get_flag(run.config, "dry-run"));
    }
    norma_mem_free(run.configuration);
    norma_reconstruct_inputs_clear(&run.inputs);
    norma_config_destroy(&run.config);
    return status;
}

const norma_driver norma_driver_reconstruct = {
    .command = &norma_reconstruct_command,
    .plan = &norma_reconstruct_plan_command,
    .computes = true,
    .run = run_driver,
};
