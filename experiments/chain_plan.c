#include "experiments/chain_plan.h"

#include "experiments/chain_block.h"
#include "experiments/chain_output.h"
#include "mpi/agree.h"
#include "mpi/log.h"
#include "mpi/plan.h"
#include "mpi/progress.h"

#include <math.h>

/* Seconds given to the first layers of a cell, and to all cells. */
static const double cell_seconds = 0.2;
static const double all_seconds = 20;

/* Seconds of a layer of a block, from the first ones; 0 for a chain without layers. */
static norma_status measure(const norma_chain_setup *setup, const norma_chain_cell *cell,
                            double *seconds)
{
    norma_chain_block *block = NULL;
    norma_status status = NORMA_OK;
    double begun = 0;
    double elapsed = 0;
    *seconds = 0;
    NORMA_GOTO(status, norma_chain_block_create(setup, cell, &block));
    NORMA_GOTO(status, norma_chain_block_start(block, cell->first_task));
    if (cell->depth > 0) /* the first layer warms up */
        NORMA_GOTO(status, norma_chain_block_step(block));
    begun = norma_progress_clock_local();
    while (norma_chain_block_layer(block) < cell->depth && elapsed < cell_seconds) {
        NORMA_GOTO(status, norma_chain_block_step(block));
        elapsed = norma_progress_clock_local() - begun;
    }
    if (norma_chain_block_layer(block) > 1)
        *seconds = elapsed / (double)(norma_chain_block_layer(block) - 1);
done:
    norma_chain_block_destroy(&block);
    return status;
}

/* Rank 0 measures; cells behind the time that is spent are judged by their operations. */
static norma_status print_cells(const norma_chain_setup *setup, double *total, double *longest)
{
    double begun = norma_progress_clock_local();
    double per_operation = 0;
    norma_log_result("#cell     width     batch       depth blocks lanes      law seconds_a_layer");
    for (int64_t i = 0; i < setup->n_cells; i++) {
        const norma_chain_cell *cell = &setup->cells[i];
        double seconds = cell->layer_cost * per_operation;
        if (i == 0 || norma_progress_clock_local() - begun < all_seconds)
            NORMA_TRY(measure(setup, cell, &seconds));
        per_operation = seconds > 0 ? seconds / cell->layer_cost : per_operation;
        double chain = seconds * (double)cell->depth;
        *total += chain * (double)cell->n_blocks;
        *longest = fmax(*longest, chain);
        norma_log_result("%5lld %9lld %9lld %11lld %6lld %5lld %8s %15.3e", (long long)i,
                         (long long)cell->spec.width, (long long)cell->spec.batch,
                         (long long)cell->depth, (long long)cell->n_blocks, (long long)cell->lanes,
                         norma_chain_law_name(cell->spec.law), seconds);
    }
    return NORMA_OK;
}

static norma_status plan_root(const norma_runtime *runtime, const norma_chain_setup *setup)
{
    char text[2][32];
    double total = 0;
    double longest = 0;
    int64_t ranks = runtime->size;
    if (norma_config_get_command(setup->config)->invocation &&
        norma_config_has(setup->config, "ranks"))
        ranks = norma_config_get_integer(setup->config, 0, "ranks");
    NORMA_TRY(print_cells(setup, &total, &longest));
    double busy = (double)(ranks < setup->n_tasks ? ranks : setup->n_tasks);
    norma_progress_format_seconds_local(fmax(total / busy, longest), text[0], sizeof text[0]);
    norma_log_result("# time about %s on %lld ranks, of which %.0f are busy (%.3g core seconds)",
                     text[0], (long long)ranks, busy, total);
    norma_plan_format_bytes_local((double)norma_plan_peak_memory_local(), text[0], sizeof text[0]);
    norma_plan_format_bytes_local((double)norma_chain_output_bytes(setup), text[1], sizeof text[1]);
    norma_log_result("# memory a rank %s, file at most %s", text[0], text[1]);
    return NORMA_OK;
}

norma_status norma_chain_plan(const norma_runtime *runtime, const norma_chain_setup *setup)
{
    return norma_agree(runtime->world, runtime->rank == 0 ? plan_root(runtime, setup) : NORMA_OK);
}
