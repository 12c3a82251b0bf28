/*
 * norma diff A B: do two result files hold the same values?
 *
 * Prints the variables that differ, with their largest difference, and ends with exit code 1 if
 * there are any:
 *     norma diff before.h5 after.h5 --tolerance 1e-12
 */
#include "experiments/driver.h"

#include "io/config/config_read.h"
#include "io/result/compare.h"
#include "mpi/runtime/log.h"

static const norma_option options[] = {
    {.name = "a",
     .type = NORMA_OPTION_PATH,
     .positional = true,
     .required = true,
     .command_line_only = true,
     .help = "The first result file."},
    {.name = "b",
     .type = NORMA_OPTION_PATH,
     .positional = true,
     .required = true,
     .command_line_only = true,
     .help = "The second result file."},
    {.name = "tolerance",
     .type = NORMA_OPTION_REAL,
     .default_text = "0",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(1),
     .help = "Differences up to this fraction of a variable's largest value are accepted. With 0 "
             "all values must be equal."},
    {.name = "measurements",
     .type = NORMA_OPTION_FLAG,
     .help = "Compare times, rates and memory too, which differ from run to run."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, NULL};

static const norma_command command = {
    .name = "diff",
    .description =
        "Compares all variables and coordinates of two result files, but for times, rates and "
        "memory. Prints each variable that differs: how many values, the largest difference and "
        "its index. The exit code is 0 for equal files and 1 for files that differ.",
    .tables = tables,
};

static norma_status run(const norma_call *call)
{
    norma_config *config = NULL;
    norma_status status = norma_config_read(call->runtime->world, &command, call->sections,
                                            call->n_arguments, call->arguments, &config);
    if (status == NORMA_OK) {
        norma_compare_options compare = {.tolerance = norma_config_get_real(config, 0, "tolerance"),
                                         .measurements =
                                             norma_config_get_flag(config, "measurements")};
        const char *a = norma_config_get_text(config, 0, "a");
        const char *b = norma_config_get_text(config, 0, "b");
        status = norma_compare_print(call->runtime->world, a, b, &compare);
        if (status == NORMA_OK && compare.n_differing > 0)
            status =
                NORMA_FAIL(NORMA_DIFFERENT, "%lld of %lld variables differ: %s and %s",
                           (long long)compare.n_differing, (long long)compare.n_compared, a, b);
        else if (status == NORMA_OK)
            norma_log_info("%lld variables are equal", (long long)compare.n_compared);
    }
    norma_config_destroy(&config);
    return status;
}

const norma_driver norma_driver_diff = {.command = &command, .computes = false, .run = run};
