/*
 * norma spectrum: how are the singular values of a random feature matrix distributed?
 *
 * M holds the features W2[i, J, p] W1[J, j, q] of a frozen source pair (RF section 2; with the min
 * rule CNN24 Thm 2.2's rows). Its singular values decide how exactly gamma can be solved for. They
 * are measured, checked by exact sums of their powers, and compared with the limit laws of
 * src/theory/limit_law. Varies: shape, width and its rule, source law, kernel split, method, seed,
 * replica. Feeds RF Fig. 3 and the double descent of the condition number.
 *     norma spectrum --channels 50 --features 3000 --output spectrum.h5
 */
#include "experiments/driver.h"
#include "experiments/job/job.h"
#include "experiments/spectrum/options.h"
#include "experiments/spectrum/output.h"
#include "experiments/spectrum/setup.h"
#include "experiments/spectrum/tasks.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <string.h>

/* Of the memory that a rank may have, this part may be planned for. */
static const double usable = 0.9;

static norma_status check(norma_job_context *job)
{
    return norma_spectrum_check_options(job->config);
}

static norma_status read(norma_job_context *job)
{
    norma_spectrum_run *run = job->state;
    return norma_pair_inputs_read(job->runtime, job->config, &run->inputs);
}

static void fingerprint(const norma_job_context *job, norma_text *text)
{
    const norma_spectrum_run *run = job->state;
    norma_pair_fingerprint(&run->inputs, text);
}

/* Memory of a rank that a cell may be planned for. */
static double memory_per_rank(const norma_plan_machine *machine)
{
    return usable * (double)machine->node_memory / (double)machine->ranks_per_node -
           (double)machine->base_memory;
}

typedef struct planned {
    const norma_spectrum_run *run;
    const norma_config *config;
    int n_threads;
    int64_t cell;
    double memory_per_rank;
} planned;

/* norma_plan_bytes_function */
static int64_t bytes_of_rank(const void *context, int64_t n_ranks)
{
    const planned *p = context;
    norma_spectrum_choice choice;
    norma_spectrum_cell cell;
    norma_status status =
        norma_spectrum_cell_init(p->config, &p->run->inputs, p->cell, p->memory_per_rank, &cell);
    if (status == NORMA_OK)
        status = norma_spectrum_choose_local(&cell.problem, &cell.options, (int)n_ranks,
                                             p->n_threads, &choice);
    if (status == NORMA_OK)
        choice.bytes += norma_spectrum_weights_bytes(&cell);
    norma_spectrum_cell_clear(&cell);
    if (status != NORMA_OK) {
        norma_status_clear();
        return -1;
    }
    return (int64_t)choice.bytes;
}

static norma_status print_cell(const norma_job_context *job, const norma_spectrum_cell *cell,
                               const norma_spectrum_choice *choice)
{
    char memory[32];
    norma_text where;
    char *described = NULL;
    norma_text_init(&where);
    norma_config_describe_cell(job->config, cell->pair.number, &where);
    NORMA_TRY(norma_text_take(&where, &described));
    norma_plan_format_bytes_local((double)job->machine.base_memory + choice->bytes +
                                      norma_spectrum_weights_bytes(cell),
                                  memory, sizeof memory);
    norma_log_result("%6lld %10lld %10lld %-10s %3d x %-3d %12s %10.3g %s",
                     (long long)cell->pair.number, (long long)choice->n_rows,
                     (long long)cell->problem.n_features,
                     norma_spectrum_method_name(choice->method), choice->grid.n_rows,
                     choice->grid.n_columns, memory, choice->flops, described);
    norma_mem_free(described);
    return NORMA_OK;
}

/* Every cell must fit; with print a line for each. */
static norma_status plan_cells(norma_job_context *job, bool print)
{
    norma_spectrum_run *run = job->state;
    planned p = {.run = run,
                 .config = job->config,
                 .n_threads = job->runtime->n_threads,
                 .memory_per_rank = memory_per_rank(&job->machine)};
    int64_t n_cells = norma_config_get_sweep(job->config)->n_cells;
    run->memory_per_rank = p.memory_per_rank;
    if (print)
        norma_log_result("#%5s %10s %10s %-10s %-9s %12s %10s %s", "cell", "rows", "features",
                         "method", "grid", "bytes/rank", "flops", "of a replica");
    for (p.cell = 0; p.cell < n_cells; p.cell++) {
        norma_spectrum_cell cell;
        norma_spectrum_choice choice;
        norma_status status =
            norma_spectrum_cell_init(job->config, &run->inputs, p.cell, p.memory_per_rank, &cell);
        if (status == NORMA_OK)
            status = norma_spectrum_choose_local(&cell.problem, &cell.options,
                                                 (int)job->machine.n_ranks, p.n_threads, &choice);
        if (status == NORMA_OK)
            status = norma_plan_check_local(&job->machine, "the spectrum", bytes_of_rank, &p,
                                            "or use --method quadrature");
        if (status == NORMA_OK && print)
            status = print_cell(job, &cell, &choice);
        norma_spectrum_cell_clear(&cell);
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
    norma_spectrum_run *run = job->state;
    NORMA_TRY(norma_agree(job->runtime->world, norma_spectrum_tasks_layout(job, run)));
    const norma_job_file about = {.title = "Singular values of feature matrices",
                                  .process_grid = "all ranks on each matrix",
                                  .configuration = job->settings,
                                  .bytes = norma_spectrum_output_bytes(&run->layout)};
    NORMA_TRY(norma_job_open(job, &about));
    NORMA_TRY(norma_spectrum_output_begin(job, &run->layout));
    return norma_spectrum_tasks_run(job, run);
}

static void clear(norma_job_context *job)
{
    norma_spectrum_run *run = job->state;
    norma_pair_inputs_clear(&run->inputs);
    norma_spectrum_tasks_clear(run);
}

static const norma_job spectrum_job = {.default_output = "spectrum.h5",
                                       .check = check,
                                       .read = read,
                                       .fingerprint = fingerprint,
                                       .plan = plan,
                                       .tasks = tasks,
                                       .compute = compute,
                                       .clear = clear};

static norma_status run_driver(const norma_call *call)
{
    norma_spectrum_run run;
    memset(&run, 0, sizeof run);
    return norma_job_run(call, &spectrum_job, &run);
}

const norma_driver norma_driver_spectrum = {.command = &norma_spectrum_command,
                                            .plan = &norma_spectrum_plan_command,
                                            .computes = true,
                                            .run = run_driver};
