/*
 * norma info FILE [--csv VARIABLE]: what does a result file hold?
 *
 * Prints status, provenance, dimensions, variables and configuration of a file that Norma wrote:
 *     norma info result.h5
 *     norma info result.h5 --csv rmse,n_features
 */
#include "experiments/driver.h"

#include "io/config/config_read.h"
#include "io/result/csv.h"
#include "io/result/info.h"

static const norma_option options[] = {
    {.name = "file",
     .type = NORMA_OPTION_PATH,
     .positional = true,
     .required = true,
     .command_line_only = true,
     .help = "The result file."},
    {.name = "csv",
     .type = NORMA_OPTION_STRING,
     .command_line_only = true,
     .placeholder = "VARIABLE,...",
     .unset_text = "the description",
     .help = "Prints the values of these variables in place of the description: a line a value "
             "with the coordinates of its dimensions, separated by commas. They must have the "
             "same dimensions."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, NULL};

static const norma_command command = {
    .name = "info",
    .description = "Prints status, provenance, dimensions, variables with their shapes and units, "
                   "and the configuration of a result file.",
    .tables = tables,
};

/* All of the file, or the values of the variables in `names`. */
static norma_status print(const norma_runtime *runtime, const char *file, const char *names)
{
    if (!runtime)
        return names ? norma_csv_print_local(file, names) : norma_info_print_local(file);
    return names ? norma_csv_print(runtime->world, file, names)
                 : norma_info_print(runtime->world, file);
}

static norma_status run(const norma_call *call)
{
    norma_config *config = NULL;
    norma_status status =
        call->runtime
            ? norma_config_read(call->runtime->world, &command, call->sections, call->n_arguments,
                                call->arguments, &config)
            : norma_config_read_local(&command, call->n_arguments, call->arguments, &config);
    if (status == NORMA_OK)
        status =
            print(call->runtime, norma_config_get_text(config, 0, "file"),
                  norma_config_has(config, "csv") ? norma_config_get_text(config, 0, "csv") : NULL);
    norma_config_destroy(&config);
    return status;
}

const norma_driver norma_driver_info = {.command = &command, .alone = true, .run = run};
