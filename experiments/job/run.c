#include "experiments/job/run.h"

#include "experiments/job/options.h"
#include "io/config/config_read.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/stop.h"
#include "src/base/mem.h"

void norma_job_settle_log(const norma_call *call, const norma_config *config)
{
    if (norma_config_get_flag(config, "quiet"))
        norma_log_set_level_local(NORMA_LOG_QUIET);
    if (norma_config_get_flag(config, "verbose"))
        norma_log_set_level_local(NORMA_LOG_VERBOSE);
    norma_runtime_report_local(call->runtime);
}

norma_status norma_job_settle_seed(const norma_call *call, norma_config *config)
{
    MPI_Comm world = call->runtime->world;
    const char *output = norma_config_get_text(config, 0, "output");
    char *stored = NULL;
    uint64_t seed = 0;
    norma_status status = NORMA_OK;
    if (norma_config_has(config, "seed"))
        return NORMA_OK;
    if (norma_config_get_flag(config, "resume"))
        NORMA_TRY(norma_checkpoint_recall(world, output, "seed", &stored));
    if (stored)
        status = norma_config_set_text(config, "seed", stored);
    else
        status = norma_runtime_draw_seed(call->runtime, &seed);
    if (status == NORMA_OK && !stored)
        status = norma_config_set_seed(config, "seed", seed);
    norma_mem_free(stored);
    return norma_agree(world, status);
}

norma_checkpoint_options norma_job_checkpoint_options(const norma_config *config,
                                                      const char *configuration)
{
    return (norma_checkpoint_options){.resume = norma_config_get_flag(config, "resume"),
                                      .force = norma_config_get_flag(config, "force"),
                                      .configuration = configuration,
                                      .free_keys = norma_job_free_keys};
}

void norma_job_place(const norma_call *call, const norma_config *config,
                     norma_plan_machine *machine)
{
    if (!call->plan)
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

double norma_job_time_limit(const norma_config *config)
{
    if (!norma_config_has(config, "time-limit"))
        return 0;
    return norma_config_get_seconds(config, 0, "time-limit");
}

norma_status norma_job_end(const norma_config *config, norma_result **file,
                           norma_checkpoint **checkpoint, norma_status status)
{
    const char *path = norma_config_get_text(config, 0, "output");
    if (status == NORMA_OK) {
        NORMA_TRY(norma_result_close(file, NORMA_RESULT_COMPLETE));
        norma_log_result("# result: %s", path);
        (void)norma_checkpoint_close(checkpoint, true);
        return NORMA_OK;
    }
    const char *reason = norma_stop_reason_local();
    NORMA_TRY(norma_result_close(file, NORMA_RESULT_STOPPED));
    return NORMA_FAIL(NORMA_STOPPED,
                      "stopped by %s, state saved in %s.ckpt; --resume continues the run", reason,
                      path);
}
