/*
 * norma info FILE: what does a result file hold?
 *
 * Prints status, provenance, dimensions, variables and configuration of a file that Norma wrote:
 *     norma info result.h5
 */
#include "experiments/driver.h"

#include "io/config/config_read.h"
#include "io/result/info.h"

static const norma_option options[] = {
    {.name = "file",
     .type = NORMA_OPTION_PATH,
     .positional = true,
     .required = true,
     .command_line_only = true,
     .help = "The result file."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, NULL};

static const norma_command command = {
    .name = "info",
    .description = "Prints status, provenance, dimensions, variables with their shapes and units, "
                   "and the configuration of a result file.",
    .tables = tables,
};

static norma_status run(const norma_call *call)
{
    norma_config *config = NULL;
    norma_status status = norma_config_read(call->runtime->world, &command, call->sections,
                                            call->n_arguments, call->arguments, &config);
    if (status == NORMA_OK)
        status = norma_info_print(call->runtime->world, norma_config_get_text(config, 0, "file"));
    norma_config_destroy(&config);
    return status;
}

const norma_driver norma_driver_info = {.command = &command, .computes = false, .run = run};
