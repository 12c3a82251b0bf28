/*
 * norma align: in which order should too few features take a target's output channels?
 *
 * With c1 < n features, least squares leaves the part of a target outside of the range of M. The
 * source network may have its output channels in any order, and some orders leave less (RF Theorem
 * 4.1): || sum over i of U2[i]' w[pi(i)] ||^2 is minimized over permutations pi, U2 an orthonormal
 * basis of the complement of M's range. For id-cond a linear assignment is the exact optimum.
 * Varies: shape, width, law of source and target, rank and density of the target, search, seed,
 * replica. Also measures how often sparse features can take a target exactly (RF Theorems 4.2 and
 * 4.3). Feeds RF Fig. 4.
 *     norma align --channels 50 --features 2400 --source-dist id-cond --target-density 0.5
 */
#include "experiments/align/options.h"
#include "experiments/align/tasks.h"
#include "experiments/driver.h"
#include "experiments/job/job.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <string.h>

static norma_status check(norma_job_context *job)
{
    return norma_align_check_options(job->config);
}

static norma_status read(norma_job_context *job)
{
    norma_align_run *run = job->state;
    return norma_pair_inputs_read(job->runtime, job->config, &run->inputs);
}

static void fingerprint(const norma_job_context *job, norma_text *text)
{
    const norma_align_run *run = job->state;
    norma_pair_fingerprint(&run->inputs, text);
}

/* norma_plan_bytes_function: every rank computes replicas of its own. */
static int64_t bytes_of_rank(const void *context, int64_t n_ranks)
{
    (void)n_ranks;
    return (int64_t)norma_align_cell_bytes(context);
}

static norma_status print_cell(const norma_job_context *job, const norma_align_cell *cell)
{
    char memory[32];
    norma_text where;
    char *described = NULL;
    norma_text_init(&where);
    norma_config_describe_cell(job->config, cell->pair.number, &where);
    NORMA_TRY(norma_text_take(&where, &described));
    norma_plan_format_bytes_local((double)job->machine.base_memory + norma_align_cell_bytes(cell),
                                  memory, sizeof memory);
    norma_log_result("%6lld %10lld %10lld %12s %10.3g %s", (long long)cell->pair.number,
                     (long long)cell->n_rows, (long long)cell->n_features, memory,
                     norma_align_cell_flops(cell), described);
    norma_mem_free(described);
    return NORMA_OK;
}

/* Every cell must fit; with print a line for each. */
static norma_status plan_cells(norma_job_context *job, bool print)
{
    const norma_align_run *run = job->state;
    int64_t n_cells = norma_config_get_sweep(job->config)->n_cells;
    if (print)
        norma_log_result("#%5s %10s %10s %12s %10s %s", "cell", "rows", "features", "bytes/rank",
                         "flops", "of a replica");
    for (int64_t number = 0; number < n_cells; number++) {
        norma_align_cell cell;
        norma_status status = norma_align_cell_init(job->config, &run->inputs, number, &cell);
        if (status == NORMA_OK)
            status =
                norma_plan_check_local(&job->machine, "an alignment", bytes_of_rank, &cell, NULL);
        if (status == NORMA_OK && print)
            status = print_cell(job, &cell);
        norma_align_cell_clear(&cell);
        NORMA_TRY(status);
    }
    return NORMA_OK;
}

static norma_status plan(norma_job_context *job, bool print)
{
    return norma_agree(job->runtime->world, plan_cells(job, print));
}

/* One task a replica. */
static void tasks(norma_job_context *job)
{
    job->grow.n_parts = 1;
}

static norma_status compute(norma_job_context *job)
{
    norma_align_run *run = job->state;
    NORMA_TRY(norma_agree(job->runtime->world, norma_align_tasks_layout(job, run)));
    const norma_job_file about = {.title = "Alignment of targets with features",
                                  .process_grid = "each rank its own replicas",
                                  .configuration = job->settings,
                                  .bytes = norma_align_output_bytes(&run->layout)};
    NORMA_TRY(norma_job_open(job, &about));
    NORMA_TRY(norma_align_output_begin(job, &run->layout));
    return norma_align_tasks_run(job, run);
}

static void clear(norma_job_context *job)
{
    norma_align_run *run = job->state;
    norma_pair_inputs_clear(&run->inputs);
    norma_align_tasks_clear(run);
}

static const norma_job align_job = {.default_output = "align.h5",
                                    .check = check,
                                    .read = read,
                                    .fingerprint = fingerprint,
                                    .plan = plan,
                                    .tasks = tasks,
                                    .compute = compute,
                                    .clear = clear};

static norma_status run_driver(const norma_call *call)
{
    norma_align_run run;
    memset(&run, 0, sizeof run);
    return norma_job_run(call, &align_job, &run);
}

const norma_driver norma_driver_align = {.command = &norma_align_command,
                                         .plan = &norma_align_plan_command,
                                         .computes = true,
                                         .run = run_driver};
