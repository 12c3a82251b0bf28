#include "experiments/chain/grow.h"

#include "experiments/chain/block.h"
#include "experiments/chain/partition.h"

/* The functions of norma_checkpoint_growth: `context` is a norma_chain_grow. */

static int64_t piece(const void *context, int64_t task)
{
    const norma_chain_grow *g = context;
    return norma_grow_task(g->grow, task);
}

/* Averages of a shallower chain are none of the deeper one's. */
static int64_t finished(const void *context, int64_t task)
{
    const norma_chain_grow *g = context;
    return g->grow->deeper ? -1 : norma_grow_task(g->grow, task);
}

static int64_t state(const void *context, int64_t number)
{
    const norma_chain_grow *g = context;
    int64_t first = norma_grow_task(g->grow, norma_chain_partition_first(number));
    return first < 0 ? -1 : norma_chain_partition_move(number, first);
}

static norma_status change_piece(const void *context, int64_t task, void *bytes, int64_t *size)
{
    const norma_chain_grow *g = context;
    const norma_chain_cell *cell = norma_chain_setup_cell(g->setup, norma_grow_task(g->grow, task));
    return norma_chain_piece_renumber(g->setup, cell, g->before, bytes, size);
}

static norma_status change_state(const void *context, int64_t number, void *bytes, int64_t size)
{
    const norma_chain_grow *g = context;
    (void)number;
    if (size < (int64_t)sizeof(norma_chain_progress))
        return NORMA_FAIL(NORMA_CONFIG, "a state in the checkpoint was written by another version");
    norma_chain_state_renumber(g->setup, g->before, bytes);
    return NORMA_OK;
}

norma_status norma_chain_grow_init(norma_job_context *job, const norma_chain_setup *setup,
                                   norma_chain_grow *grow)
{
    const norma_config *config = job->config;
    grow->grow = &job->grow;
    grow->setup = setup;
    job->growth = (norma_checkpoint_growth){
        .context = grow, .task = finished, .piece = piece, .state = state};
    if (!job->grow.deeper)
        return NORMA_OK;
    if (setup->lyapunov && setup->burn_in < 0)
        return NORMA_FAIL(norma_config_blame(config, "depth"),
                          "%s: Lyapunov exponents leave out the first tenth of the depth, which "
                          "would be another one in a deeper run: only runs with --burn-in can "
                          "become deeper",
                          norma_config_where(config, "depth"));
    int64_t depth = norma_config_get_integer(job->grow.before, 0, "depth");
    job->growth.change_piece = change_piece;
    job->growth.change_state = change_state;
    return norma_chain_setup_schedules(setup, &depth, 1, grow->before);
}

void norma_chain_grow_clear(norma_chain_grow *grow)
{
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        norma_chain_schedule_clear(&grow->before[o]);
}
