/*
 * norma meanfield: what do random networks do at infinite width, and how far from it at finite
 * width?
 *
 * The cosine of two samples follows rho' = kappa(rho) (THESIS chapter 5); the Gram matrix of a
 * batch under batch normalization follows G' = F(G) (THESIS chapter 3), with fluctuations of order
 * 1 / sqrt(d). Activations, variants, batch sizes, widths and starts may be swept.
 *     norma meanfield --act relu,tanh,gelu,exp --rho0 -0.5 --depth 1000
 *     norma meanfield --act relu --variant bn,bn-centered --batch 5,10,20 --width 1000
 */
#include "experiments/job/job.h"
#include "experiments/meanfield/options.h"
#include "experiments/meanfield/output.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"

#include <inttypes.h>

typedef struct state {
    norma_meanfield_sizes sizes;
    int64_t n_cells;
    bool kernel, batch; /* which variants occur */
} state;

static norma_status read_cells(norma_job_context *job)
{
    state *own = job->state;
    own->sizes = norma_meanfield_read_sizes(job->config);
    own->n_cells = norma_config_get_sweep(job->config)->n_cells;
    for (int64_t cell = 0; cell < own->n_cells; cell++) {
        norma_meanfield_request request;
        NORMA_TRY(norma_meanfield_read_cell(job->config, cell, &request));
        own->batch = own->batch || request.batched;
        own->kernel = own->kernel || !request.batched;
    }
    return NORMA_OK;
}

static int64_t bytes_of_rank(const void *context, int64_t n_ranks)
{
    const state *own = context;
    (void)n_ranks;
    /* a record, and the coordinates while the file is laid out */
    return 8 * (norma_meanfield_total(&own->sizes) + own->sizes.n_layers + own->sizes.n_grid);
}

static norma_status plan(norma_job_context *job, bool print)
{
    const state *own = job->state;
    char memory[32], size[32];
    norma_status status = norma_plan_check_local(&job->machine, "a record of all layers",
                                                 bytes_of_rank, own, "or use a smaller --depth");
    NORMA_TRY(norma_agree(job->runtime->world, status));
    if (!print)
        return NORMA_OK;
    norma_plan_format_bytes_local(
        (double)(job->machine.base_memory + bytes_of_rank(own, job->machine.n_ranks)), memory,
        sizeof memory);
    norma_plan_format_bytes_local(
        8.0 * (double)own->n_cells * (double)norma_meanfield_total(&own->sizes), size, sizeof size);
    norma_log_result("# %" PRId64 " cells, memory of a rank %s, file %s", own->n_cells, memory,
                     size);
    return NORMA_OK;
}

/* The cells of this rank. */
static norma_status compute_cells(norma_job_context *job, norma_meanfield_record *record)
{
    const state *own = job->state;
    for (int64_t cell = job->runtime->rank; cell < own->n_cells; cell += job->runtime->size) {
        norma_meanfield_request request;
        NORMA_TRY(norma_meanfield_read_cell(job->config, cell, &request));
        NORMA_TRY(norma_meanfield_record_compute(&request, record));
        NORMA_TRY(norma_meanfield_output_write_local(job, &request, record, cell));
        if (norma_config_is_single(job->config))
            norma_meanfield_output_print(&request, record);
    }
    return NORMA_OK;
}

static norma_status compute(norma_job_context *job)
{
    const state *own = job->state;
    norma_meanfield_record record = {0};
    NORMA_TRY(norma_meanfield_output_open(job, &own->sizes, own->kernel, own->batch));
    norma_status status = norma_meanfield_record_create(&own->sizes, &record);
    if (status == NORMA_OK)
        status = compute_cells(job, &record);
    norma_meanfield_record_destroy(&record);
    return norma_agree(job->runtime->world, status);
}

static const norma_job meanfield_job = {
    .default_output = "meanfield.h5", .read = read_cells, .plan = plan, .compute = compute};

static norma_status run(const norma_call *call)
{
    state own = {0};
    return norma_job_run(call, &meanfield_job, &own);
}

const norma_driver norma_driver_meanfield = {.command = &norma_meanfield_command,
                                             .plan = &norma_meanfield_plan_command,
                                             .computes = true,
                                             .run = run};
