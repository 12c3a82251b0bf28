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
#include "experiments/reconstruct_groups.h"
#include "experiments/reconstruct_options.h"
#include "experiments/reconstruct_run.h"
#include "experiments/reconstruct_solver.h"
#include "io/config_read.h"
#include "mpi/agree.h"
#include "mpi/log.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static norma_status reconstruct_layer(norma_reconstruct_run *run, norma_evaluate *evaluate,
                                      int64_t replica, int64_t number)
{
    norma_reconstruct_row row;
    NORMA_TRY(norma_reconstruct_run_layer(run, run->call->runtime->world, evaluate, replica, number,
                                          &row));
    norma_reconstruct_print_row(run->cell.number, replica, number, &row);
    norma_progress_update_local(&run->progress, ++run->n_done);
    return NORMA_OK;
}

static norma_status reconstruct_replica(norma_reconstruct_run *run, int64_t replica)
{
    const norma_images *images = norma_reconstruct_images(&run->inputs);
    norma_evaluate *evaluate = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_evaluate_create(run->call->runtime->world, run->cell.network, images,
                                             images ? images->n_images : 0, 0, &evaluate));
    for (int64_t i = 0; i < run->cell.n_layers; i++)
        if (run->cell.layers[i].wanted)
            NORMA_GOTO(status, reconstruct_layer(run, evaluate, replica, i));
    if (images)
        NORMA_GOTO(status, norma_reconstruct_run_compare(run, evaluate, replica));
    NORMA_GOTO(status, norma_reconstruct_output_memory(&run->output, run->cell.number, replica));
    status = norma_result_flush(run->output.file);
done:
    norma_evaluate_destroy(&evaluate);
    return status;
}

static norma_status reconstruct_cell(norma_reconstruct_run *run, int64_t number)
{
    norma_status status = NORMA_OK;
    norma_text where;
    norma_text_init(&where);
    norma_config_describe_cell(run->config, number, &where);
    status = norma_reconstruct_cell_init(run->config, &run->inputs, number, false, &run->cell);
    NORMA_GOTO(status, norma_agree(run->call->runtime->world, status));
    NORMA_GOTO(status, norma_reconstruct_output_add_cell(&run->output, &run->cell));
    if (where.data)
        norma_log_result("# cell %lld: %s", (long long)number, where.data);
    for (int64_t r = 0; r < run->output.n_replicas; r++)
        NORMA_GOTO(status, reconstruct_replica(run, r));
    if (run->output.with_images)
        status = norma_reconstruct_output_statistics(&run->output, number, run->evaluations);
done:
    if (where.data)
        status = norma_status_context(status, "%s: ", where.data);
    norma_text_clear(&where);
    norma_reconstruct_cell_clear(&run->cell);
    return status;
}

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

/* The sweep: one pass a cell. */
static norma_status reconstruct(norma_reconstruct_run *run)
{
    const norma_runtime *runtime = run->call->runtime;
    int64_t n_cells = norma_config_get_sweep(run->config)->n_cells;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, open_output(run));
    NORMA_GOTO(status, norma_result_begin(run->output.file));
    int64_t n_wanted = norma_config_get_count(run->config, "layers");
    n_wanted = n_wanted > 0 ? n_wanted : run->output.n_layers;
    status = NORMA_CALLOC(run->evaluations, run->output.n_replicas);
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    norma_progress_init_local(&run->progress, "layers", "layer",
                              n_cells * run->output.n_replicas * n_wanted);
    if (n_wanted < run->output.n_layers)
        norma_log_info("%lld of %lld layers are reconstructed, the others stay the target's own",
                       (long long)n_wanted, (long long)run->output.n_layers);
    norma_reconstruct_print_heading();
    bool grouped = norma_reconstruct_group_size(run) < runtime->size;
    if (grouped)
        NORMA_GOTO(status, norma_reconstruct_groups(run));
    for (int64_t cell = 0; !grouped && cell < n_cells; cell++)
        NORMA_GOTO(status, reconstruct_cell(run, cell));
    NORMA_GOTO(status, norma_result_close(&run->output.file, NORMA_RESULT_COMPLETE));
    norma_log_result("# result: %s", norma_config_get_text(run->config, 0, "output"));
done:
    norma_progress_finish_local(&run->progress);
    norma_result_abandon(&run->output.file);
    NORMA_FREE(run->evaluations);
    return status;
}

/* The seed is drawn where none is given, and recorded. */
static norma_status settle_seed(norma_reconstruct_run *run)
{
    uint64_t seed = 0;
    if (norma_config_has(run->config, "seed"))
        return NORMA_OK;
    NORMA_TRY(norma_runtime_draw_seed(run->call->runtime, &seed));
    norma_status status = norma_config_set_seed(run->config, "seed", seed);
    return norma_agree(run->call->runtime->world, status);
}

static norma_status plan_or_run(norma_reconstruct_run *run, bool plan)
{
    const norma_runtime *runtime = run->call->runtime;
    norma_result_options options = {.force = norma_config_get_flag(run->config, "force")};
    NORMA_TRY(norma_agree(runtime->world, norma_reconstruct_check_options(run->config)));
    NORMA_TRY(settle_seed(run));
    if (!norma_config_has(run->config, "output"))
        NORMA_TRY(norma_agree(runtime->world,
                              norma_config_set_text(run->config, "output", "reconstruct.h5")));
    if (!plan)
        NORMA_TRY(norma_result_check(runtime->world,
                                     norma_config_get_text(run->config, 0, "output"), &options));
    NORMA_TRY(norma_reconstruct_inputs_read(runtime, run->config, &run->inputs));
    NORMA_TRY(norma_plan_machine_measure(runtime, &run->machine));
    if (run->call->plan) {
        if (norma_config_has(run->config, "ranks"))
            run->machine.n_ranks = norma_config_get_integer(run->config, 0, "ranks");
        run->machine.ranks_per_node = run->machine.n_ranks;
        if (norma_config_has(run->config, "ranks-per-node"))
            run->machine.ranks_per_node =
                norma_config_get_integer(run->config, 0, "ranks-per-node");
        if (norma_config_has(run->config, "node-memory"))
            run->machine.node_memory =
                (int64_t)(norma_config_get_real(run->config, 0, "node-memory") * 1073741824.0);
    }
    norma_rates rates = {0};
    if (plan)
        NORMA_TRY(norma_rates_measure(runtime, &rates));
    norma_rates_place_local(&rates, run->machine.n_ranks, run->machine.ranks_per_node);
    norma_status status = norma_reconstruct_plan(run->config, &run->inputs, &run->machine,
                                                 runtime->n_threads, plan ? &rates : NULL);
    NORMA_TRY(norma_agree(runtime->world, status));
    if (plan)
        return NORMA_OK;
    norma_runtime_announce_local(runtime);
    return reconstruct(run);
}

static norma_status run_driver(const norma_call *call)
{
    norma_reconstruct_run run = {.call = call};
    const norma_command *command =
        call->plan ? &norma_reconstruct_plan_command : &norma_reconstruct_command;
    norma_status status = norma_config_read(call->runtime->world, command, call->sections,
                                            call->n_arguments, call->arguments, &run.config);
    if (status == NORMA_OK) {
        if (norma_config_get_flag(run.config, "quiet"))
            norma_log_set_level_local(NORMA_LOG_QUIET);
        if (norma_config_get_flag(run.config, "verbose"))
            norma_log_set_level_local(NORMA_LOG_VERBOSE);
        status = plan_or_run(&run, call->plan || norma_config_get_flag(run.config, "dry-run"));
    }
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
