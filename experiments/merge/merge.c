/*
 * norma merge OUT IN...: one file of results that are parts of one sweep.
 *
 * Joins the shares of an array of jobs (--cells), other seeds and replicas, and further values of
 * swept options into the file that one run of the whole sweep would have written, equal in every
 * variable: norma merge rank.h5 rank-1.h5 rank-2.h5 rank-3.h5
 */
#include "experiments/merge/output.h"

#include "io/config/config_read.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <string.h>

static const norma_option options[] = {
    {.name = "out",
     .type = NORMA_OPTION_PATH,
     .positional = true,
     .placeholder = "OUT",
     .required = true,
     .command_line_only = true,
     .help = "The file to write."},
    {.name = "in",
     .type = NORMA_OPTION_PATH,
     .many = NORMA_LIST,
     .positional = true,
     .placeholder = "IN",
     .required = true,
     .command_line_only = true,
     .help = "The complete results of one subcommand."},
    {.name = "partial",
     .type = NORMA_OPTION_FLAG,
     .command_line_only = true,
     .help = "Accept that cells or replicas of the whole sweep are missing. Their values stay "
             "missing, and the file has the status partial and the attribute missing_cells."},
    {.name = "force",
     .type = NORMA_OPTION_FLAG,
     .command_line_only = true,
     .help = "Overwrite an existing result file."},
    {.name = "quiet",
     .type = NORMA_OPTION_FLAG,
     .command_line_only = true,
     .help = "Print errors and results only."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, NULL};

static const norma_command command = {
    .name = "merge",
    .description =
        "Joins results of one subcommand that are parts of one sweep: shares (--cells), other "
        "seeds and replicas, further values of swept options. The file is that of one run of the "
        "whole sweep, "
        "equal in every variable.\n"
        "Refused are results that differ in an option that is not swept, in the content of input "
        "files or in the version, results of runs that have not finished, the same cell and "
        "replica in two files, and missing cells (see --partial). Other BLAS kernels and commits "
        "are warned of.",
    .tables = tables,
};

/* The whole's own values of the options in which parts may differ. Local. */
static norma_status settle(norma_merge_parts *parts, const char *out)
{
    NORMA_TRY(norma_config_set_text(parts->whole, "output", out));
    if (!norma_config_knows(parts->whole, "replicas"))
        return NORMA_OK;
    NORMA_TRY(norma_config_set_integer(parts->whole, "replica-offset", parts->first_replica));
    return norma_config_set_integer(parts->whole, "replicas", parts->n_replicas);
}

static norma_status refuse_missing(const norma_merge_parts *parts,
                                   const norma_merge_coverage *coverage)
{
    return NORMA_FAIL(NORMA_CONFIG,
                      "%lld of the %lld cells of the whole sweep are missing or lack replicas: "
                      "%.600s; add the files "
                      "that hold them, or accept it with --partial",
                      (long long)coverage->n_missing,
                      (long long)norma_config_get_whole_sweep(parts->whole)->n_cells,
                      coverage->missing);
}

/* Reads the inputs and refuses what does not fit together. Local. */
static norma_status prepare(const norma_call *call, const norma_config *config, const char **paths,
                            norma_merge_parts *parts, norma_merge_coverage *coverage)
{
    int64_t n = norma_config_get_count(config, "in");
    for (int64_t i = 0; i < n; i++)
        paths[i] = norma_config_get_text(config, i, "in");
    NORMA_TRY(norma_merge_parts_open_local(call, paths, n, parts));
    NORMA_TRY(settle(parts, norma_config_get_text(config, 0, "out")));
    NORMA_TRY(norma_merge_coverage_init(parts, coverage));
    if (coverage->n_missing > 0 && !norma_config_get_flag(config, "partial"))
        return refuse_missing(parts, coverage);
    return NORMA_OK;
}

static norma_status write(const norma_call *call, const norma_config *config,
                          norma_merge_parts *parts, const norma_merge_coverage *coverage)
{
    norma_result_options result = {.force = norma_config_get_flag(config, "force")};
    const char *out = norma_config_get_text(config, 0, "out");
    norma_result *file = NULL;
    bool whole = coverage->n_missing == 0;
    NORMA_TRY(norma_result_create(call->runtime->world, out, &result, &file));
    norma_status status = norma_merge_output_write(call, parts, coverage, file);
    if (status == NORMA_OK)
        status = norma_result_close(&file, whole ? NORMA_RESULT_COMPLETE : NORMA_RESULT_PARTIAL);
    norma_result_abandon(&file);
    NORMA_TRY(status);
    int64_t n_cells = norma_config_get_whole_sweep(parts->whole)->n_cells;
    norma_log_info("%lld files, %lld cells", (long long)parts->n,
                   (long long)(n_cells - coverage->n_missing));
    if (!whole)
        norma_log_news("warning: %lld of %lld cells are missing or lack replicas: %s",
                       (long long)coverage->n_missing, (long long)n_cells, coverage->missing);
    norma_log_result("# result: %s", out);
    return NORMA_OK;
}

static norma_status merge(const norma_call *call, const norma_config *config)
{
    MPI_Comm world = call->runtime->world;
    norma_result_options result = {.force = norma_config_get_flag(config, "force")};
    norma_merge_parts parts = {0};
    norma_merge_coverage coverage = {0};
    const char **paths = NULL;
    NORMA_TRY(norma_result_check(world, norma_config_get_text(config, 0, "out"), &result));
    norma_status status = NORMA_ALLOC(paths, norma_config_get_count(config, "in"));
    if (status == NORMA_OK)
        status = prepare(call, config, paths, &parts, &coverage);
    status = norma_agree(world, status);
    if (status == NORMA_OK)
        status = write(call, config, &parts, &coverage);
    norma_merge_coverage_clear(&coverage);
    norma_merge_parts_clear_local(&parts);
    norma_mem_free(paths);
    return status;
}

static norma_status run(const norma_call *call)
{
    norma_config *config = NULL;
    norma_status status = norma_config_read(call->runtime->world, &command, call->sections,
                                            call->n_arguments, call->arguments, &config);
    if (status == NORMA_OK) {
        if (norma_config_get_flag(config, "quiet"))
            norma_log_set_level_local(NORMA_LOG_QUIET);
        status = merge(call, config);
    }
    norma_config_destroy(&config);
    return status;
}

const norma_driver norma_driver_merge = {.command = &command, .computes = true, .run = run};
