#include "experiments/chain/plan.h"

#include "experiments/chain/block.h"
#include "experiments/chain/output.h"
#include "experiments/chain/partition.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/chain/kernels/lanes.h"

#include <math.h>

/* Seconds given to the first layers of a cell, and to all cells. */
static const double cell_seconds = 0.2;
static const double all_seconds = 20;

/* Rows of a matrix that a product packs at a time. */
static const double packed_rows = 384;

/* The memory of a rank depends on the largest cell, not on the number of ranks. */
typedef struct need {
    const norma_chain_cell *cell;
    double base;  /* bytes of the process before it computes */
    double block; /* bytes of a block */
} need;

/* norma_plan_bytes_function */
static int64_t peak_bytes(const void *context, int64_t n_ranks)
{
    const need *n = context;
    bool small =
        n->cell->spec.width <= NORMA_LANES_MAX_SIZE && n->cell->spec.batch <= NORMA_LANES_MAX_SIZE;
    double packing = small ? 0 : 8 * packed_rows * (double)n->cell->spec.batch;
    double bytes = n->base + n->block + packing;
    (void)n_ranks;
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

/* Refuses the first cell that does not fit; *peak is the largest one's. */
static norma_status check_memory(const norma_chain_setup *setup, const norma_plan_machine *machine,
                                 double base, double *peak)
{
    *peak = 0;
    for (int64_t i = 0; i < setup->n_cells; i++) {
        need n = {&setup->cells[i], base, 0};
        NORMA_TRY(norma_chain_block_measure(setup, n.cell, n.cell->sizes[n.cell->n_sizes - 1].lanes,
                                            &n.block));
        norma_text where;
        norma_text_init(&where);
        norma_config_describe_cell(setup->config, i, &where);
        norma_status status =
            norma_plan_check_local(machine, setup->n_cells > 1 && where.data ? where.data : "run",
                                   peak_bytes, &n, "fewer ranks a node leave more for each");
        norma_text_clear(&where);
        NORMA_TRY(status);
        *peak = fmax(*peak, (double)peak_bytes(&n, machine->n_ranks));
    }
    return NORMA_OK;
}

/* Seconds of a layer of a block, from the first ones; 0 for a chain without layers. */
static norma_status measure(const norma_chain_setup *setup, const norma_chain_task *task,
                            double *seconds)
{
    const norma_chain_cell *cell = &setup->cells[task->cell];
    norma_chain_block *block = NULL;
    norma_status status = NORMA_OK;
    double begun = 0;
    double elapsed = 0;
    *seconds = 0;
    NORMA_GOTO(status, norma_chain_block_create(setup, cell, task->lanes, NULL, &block));
    NORMA_GOTO(status, norma_chain_block_start(block, task->first, task->count));
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

/* The blocks of one size of a cell: how many, one of them, and the seconds of a layer. */
typedef struct blocks {
    int64_t n;
    const norma_chain_task *one;
    double seconds;
} blocks;

/* The place of a cell's size among those of all cells, by lanes. */
static blocks *blocks_of(blocks *all, int64_t cell, int64_t lanes)
{
    int64_t s = 0;
    for (; lanes > 1; lanes /= 2)
        s++;
    return &all[cell * NORMA_CHAIN_N_SIZES + s];
}

static void print_cell(const norma_chain_cell *cell, int64_t n_blocks, int64_t lanes,
                       double seconds)
{
    norma_log_result("%5lld %9lld %9lld %11lld %6lld %5lld %8s %15.3e", (long long)cell->number,
                     (long long)cell->spec.width, (long long)cell->spec.batch,
                     (long long)cell->depth, (long long)n_blocks, (long long)lanes,
                     norma_chain_law_name(cell->spec.law), seconds);
}

/* The seconds of every block that is used. Rank 0 measures; cells behind the time that is spent are
 * judged by their operations. */
static norma_status print_cells(const norma_chain_setup *setup, blocks *all)
{
    double begun = norma_progress_clock_local();
    double per_operation = 0;
    norma_log_result("#cell     width     batch       depth blocks lanes      law seconds_a_layer");
    for (int64_t i = 0; i < setup->n_cells; i++)
        for (int s = setup->cells[i].n_sizes - 1; s >= 0; s--) {
            const norma_chain_size *size = &setup->cells[i].sizes[s];
            blocks *mine = blocks_of(all, i, size->lanes);
            if (mine->n == 0)
                continue;
            mine->seconds = size->cost * per_operation;
            if (per_operation == 0 || norma_progress_clock_local() - begun < all_seconds)
                NORMA_TRY(measure(setup, mine->one, &mine->seconds));
            per_operation = mine->seconds > 0 ? mine->seconds / size->cost : per_operation;
            print_cell(&setup->cells[i], mine->n, size->lanes, mine->seconds);
        }
    return NORMA_OK;
}

/* Prints the cells, and the time of the run with the blocks that it would choose. */
static norma_status print_time(const norma_chain_setup *setup, int64_t ranks,
                               norma_chain_partition *partition)
{
    char text[32];
    blocks *all = NULL;
    int64_t group = norma_config_get_integer(setup->config, 0, "group-size");
    int64_t groups = ranks / group > 1 ? ranks / group : 1;
    NORMA_TRY(norma_chain_partition_choose(setup, groups, NULL, NULL, 0, partition));
    NORMA_TRY(NORMA_CALLOC(all, setup->n_cells * NORMA_CHAIN_N_SIZES));
    for (int64_t t = 0; t < partition->n; t++) {
        blocks *mine = blocks_of(all, partition->tasks[t].cell, partition->tasks[t].lanes);
        mine->n++;
        mine->one = &partition->tasks[t];
    }
    norma_status status = print_cells(setup, all);
    for (int64_t t = 0; t < partition->n; t++) {
        norma_chain_task *task = &partition->tasks[t];
        double depth = (double)setup->cells[task->cell].depth;
        /* a group's at best: what is not the product is shared less evenly */
        task->cost = blocks_of(all, task->cell, task->lanes)->seconds * depth / (double)group;
    }
    norma_mem_free(all);
    if (status == NORMA_OK)
        status = norma_chain_partition_time(partition, groups);
    NORMA_TRY(status);
    int64_t busy = (groups < partition->n ? groups : partition->n) * group;
    norma_progress_format_seconds_local(partition->longest, text, sizeof text);
    norma_log_result("# time about %s on %lld ranks, of which %lld are busy (%.3g core seconds)",
                     text, (long long)ranks, (long long)busy, partition->total * (double)group);
    return NORMA_OK;
}

static norma_status print_plan(const norma_chain_setup *setup, const norma_plan_machine *machine,
                               double peak)
{
    norma_chain_partition partition = {0};
    norma_status status = print_time(setup, machine->n_ranks, &partition);
    norma_chain_partition_clear(&partition);
    NORMA_TRY(status);
    norma_plan_print_memory_local(machine, peak, (double)norma_chain_output_bytes(setup));
    return NORMA_OK;
}

norma_status norma_chain_plan(const norma_runtime *runtime, const norma_chain_setup *setup,
                              const norma_plan_machine *machine, bool print)
{
    double peak = 0;
    double base = (double)norma_plan_peak_memory(runtime);
    norma_status status = check_memory(setup, machine, base, &peak);
    if (status == NORMA_OK && print && runtime->rank == 0)
        status = print_plan(setup, machine, peak);
    return norma_agree(runtime->world, status);
}
