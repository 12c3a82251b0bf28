#include "experiments/reconstruct_groups.h"

#include "io/config_read.h"
#include "mpi/agree.h"
#include "mpi/log.h"
#include "mpi/maps_share.h"
#include "mpi/replicas.h"
#include "src/base/mem.h"

#include <string.h>

/* Networks with images are solved in waves, after each of which they are compared: so many layers a
 * group at least, so that few groups wait at the end of one; and no more tickets than this. */
static const int64_t tickets_a_group = 8;
static const int64_t most_tickets = 65536;

typedef struct groups {
    norma_reconstruct_run *run;
    norma_replicas *replicas;
    MPI_Comm comm;                           /* of this rank's group; borrowed */
    int64_t first_cell, n_cells;             /* of the wave */
    int64_t *wanted;                         /* [n_wanted] numbers of the layers; owned */
    int64_t n_wanted, n_replicas, n_tickets; /* tickets of the wave */
    int64_t cell;                            /* that run->cell holds; -1: none */
    norma_maps **maps;                       /* [n_tickets]: of this group's layers; owned */
    norma_reconstruct_row *rows;             /* [n_tickets]; owned */
} groups;

int norma_reconstruct_group_size(const norma_reconstruct_run *run)
{
    int size = run->call->runtime->size;
    if (!norma_config_has(run->config, "group-size"))
        return size;
    return (int)norma_config_get_integer(run->config, 0, "group-size");
}

static void drop_cell(groups *g)
{
    if (g->cell >= 0)
        norma_reconstruct_cell_clear(&g->run->cell);
    g->cell = -1;
}

/* Makes `number` the current cell. Local; the same on all ranks of a group. */
static norma_status take_cell(groups *g, int64_t number)
{
    norma_reconstruct_run *run = g->run;
    if (g->cell == number)
        return NORMA_OK;
    drop_cell(g);
    g->cell = number;
    return norma_reconstruct_cell_init(run->config, &run->inputs, number, false, &run->cell);
}

/* "c-out 8, seed 3: " in front of an error of a sweep's cell. */
static norma_status in_cell(const groups *g, int64_t cell, norma_status status)
{
    norma_text where;
    if (status == NORMA_OK)
        return status;
    norma_text_init(&where);
    norma_config_describe_cell(g->run->config, cell, &where);
    if (where.data)
        status = norma_status_context(status, "%s: ", where.data);
    norma_text_clear(&where);
    return status;
}

static norma_status solve(groups *g, int64_t ticket, int64_t replica, int64_t number)
{
    norma_reconstruct_run *run = g->run;
    const norma_images *images = norma_reconstruct_images(&run->inputs);
    norma_evaluate *evaluate = NULL;
    norma_status status = norma_evaluate_create(g->comm, run->cell.network, images,
                                                images ? images->n_images : 0, 0, &evaluate);
    if (status == NORMA_OK)
        status =
            norma_reconstruct_run_layer(run, g->comm, evaluate, replica, number, &g->rows[ticket]);
    norma_evaluate_destroy(&evaluate);
    if (status == NORMA_OK && images) {
        g->maps[ticket] = run->cell.layers[number].maps;
        run->cell.layers[number].maps = NULL;
    }
    return status;
}

/* norma_replicas_task: one layer. */
static norma_status solve_ticket(void *context, int64_t ticket)
{
    groups *g = context;
    norma_reconstruct_run *run = g->run;
    int64_t number = g->wanted[ticket % g->n_wanted];
    int64_t replica = ticket / g->n_wanted % g->n_replicas;
    int64_t cell = g->first_cell + ticket / (g->n_wanted * g->n_replicas);
    norma_status status = norma_agree(g->comm, take_cell(g, cell));
    if (status == NORMA_OK)
        status = solve(g, ticket, replica, number);
    if (norma_replicas_group_rank_local(g->replicas) != 0)
        memset(&g->rows[ticket], 0, sizeof g->rows[ticket]); /* the root's counts */
    (void)norma_replicas_poll(g->replicas, 1);
    norma_progress_update_local(&run->progress,
                                run->n_done + norma_replicas_work_local(g->replicas));
    return in_cell(g, cell, status);
}

/* Everything that groups will write is created before. */
static norma_status create_arrays(groups *g)
{
    norma_reconstruct_run *run = g->run;
    MPI_Comm world = run->call->runtime->world;
    if (!run->output.save_gamma && !run->output.save_weights)
        return NORMA_OK;
    for (int64_t cell = g->first_cell; cell < g->first_cell + g->n_cells; cell++) {
        norma_status status = norma_agree(world, take_cell(g, cell));
        if (status == NORMA_OK)
            status = norma_reconstruct_output_add_cell(&run->output, &run->cell);
        if (status != NORMA_OK)
            return in_cell(g, cell, status);
    }
    return norma_result_begin(run->output.file);
}

/* The layers of a replica from the groups that solved them, then both networks on all ranks. */
static norma_status compare_replica(groups *g, int64_t replica, int64_t first_ticket)
{
    norma_reconstruct_run *run = g->run;
    MPI_Comm world = run->call->runtime->world;
    const norma_images *images = norma_reconstruct_images(&run->inputs);
    norma_evaluate *evaluate = NULL;
    for (int64_t k = 0; k < g->n_wanted; k++) {
        norma_reconstruct_layer *layer = &run->cell.layers[g->wanted[k]];
        norma_maps_destroy(&layer->maps);
        layer->maps = g->maps[first_ticket + k];
        g->maps[first_ticket + k] = NULL;
        NORMA_TRY(norma_agree(
            world, norma_reconstruct_pair_init(&run->cell, &run->inputs, g->wanted[k], replica)));
        NORMA_TRY(
            norma_maps_share(world, layer->n_features, layer->shape.n_channels_out, &layer->maps));
    }
    norma_status status =
        norma_evaluate_create(world, run->cell.network, images, images->n_images, 0, &evaluate);
    if (status == NORMA_OK)
        status = norma_reconstruct_run_compare(run, evaluate, replica);
    norma_evaluate_destroy(&evaluate);
    return status;
}

/* The table's lines of a cell, and its comparisons. */
static norma_status finish_cell(groups *g, int64_t cell)
{
    norma_reconstruct_run *run = g->run;
    int64_t ticket = (cell - g->first_cell) * g->n_replicas * g->n_wanted;
    norma_text where;
    norma_text_init(&where);
    norma_config_describe_cell(run->config, cell, &where);
    if (where.data)
        norma_log_result("# cell %lld: %s", (long long)cell, where.data);
    norma_text_clear(&where);
    if (run->output.with_images)
        NORMA_TRY(norma_agree(run->call->runtime->world, take_cell(g, cell)));
    for (int64_t r = 0; r < g->n_replicas; r++, ticket += g->n_wanted) {
        for (int64_t k = 0; k < g->n_wanted; k++)
            norma_reconstruct_print_row(cell, r, g->wanted[k], &g->rows[ticket + k]);
        if (run->output.with_images)
            NORMA_TRY(compare_replica(g, r, ticket));
        NORMA_TRY(norma_reconstruct_output_memory(&run->output, cell, r));
    }
    if (run->output.with_images)
        NORMA_TRY(norma_reconstruct_output_statistics(&run->output, cell, run->evaluations));
    return norma_result_flush(run->output.file);
}

static void clear_wave(groups *g)
{
    for (int64_t t = 0; g->maps && t < g->n_tickets; t++)
        norma_maps_destroy(&g->maps[t]);
    NORMA_FREE(g->maps);
    NORMA_FREE(g->rows);
    norma_replicas_destroy(&g->replicas);
    drop_cell(g);
}

static norma_status begin_wave(groups *g)
{
    norma_reconstruct_run *run = g->run;
    MPI_Comm world = run->call->runtime->world;
    g->n_tickets = g->n_cells * g->n_replicas * g->n_wanted;
    norma_status status = NORMA_CALLOC(g->rows, g->n_tickets);
    if (status == NORMA_OK)
        status = NORMA_CALLOC(g->maps, g->n_tickets);
    NORMA_TRY(norma_agree(world, status));
    NORMA_TRY(create_arrays(g));
    NORMA_TRY(norma_replicas_create(world, norma_reconstruct_group_size(run), &g->replicas));
    g->comm = norma_replicas_group_local(g->replicas);
    return NORMA_OK;
}

static norma_status run_wave(groups *g)
{
    norma_reconstruct_run *run = g->run;
    NORMA_TRY(begin_wave(g));
    norma_reconstruct_output_group(&run->output, norma_replicas_group_rank_local(g->replicas),
                                   norma_reconstruct_group_size(run));
    norma_status status = norma_replicas_run(g->replicas, g->n_tickets, solve_ticket, g);
    norma_reconstruct_output_ungroup(&run->output);
    NORMA_TRY(status);
    run->n_done += g->n_tickets;
    int64_t n_numbers = g->n_tickets * (int64_t)(sizeof *g->rows / sizeof(double));
    norma_replicas_collect(run->call->runtime->world, n_numbers, (double *)g->rows);
    drop_cell(g);
    for (int64_t cell = g->first_cell; cell < g->first_cell + g->n_cells; cell++)
        NORMA_TRY(in_cell(g, cell, finish_cell(g, cell)));
    return NORMA_OK;
}

/* Cells of a wave. */
static int64_t wave_length(const groups *g)
{
    const norma_reconstruct_run *run = g->run;
    int64_t per_cell = g->n_replicas * g->n_wanted;
    int64_t n_groups = run->call->runtime->size / norma_reconstruct_group_size(run);
    int64_t tickets = run->output.with_images ? tickets_a_group * n_groups : most_tickets;
    return tickets > per_cell ? tickets / per_cell : 1;
}

static norma_status list_layers(groups *g)
{
    const norma_config *config = g->run->config;
    int64_t n_listed = norma_config_get_count(config, "layers");
    NORMA_TRY(NORMA_ALLOC(g->wanted, g->run->output.n_layers));
    for (int64_t i = 0; i < g->run->output.n_layers; i++) {
        bool listed = n_listed == 0;
        for (int64_t k = 0; k < n_listed && !listed; k++)
            listed = norma_config_get_integer(config, k, "layers") == i;
        if (listed)
            g->wanted[g->n_wanted++] = i;
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_groups(norma_reconstruct_run *run)
{
    groups g = {.run = run, .n_replicas = run->output.n_replicas, .cell = -1};
    int64_t n_cells = norma_config_get_sweep(run->config)->n_cells;
    norma_status status = norma_agree(run->call->runtime->world, list_layers(&g));
    while (status == NORMA_OK && g.first_cell < n_cells) {
        int64_t length = wave_length(&g);
        g.n_cells = length < n_cells - g.first_cell ? length : n_cells - g.first_cell;
        status = run_wave(&g);
        clear_wave(&g);
        g.first_cell += g.n_cells;
    }
    NORMA_FREE(g.wanted);
    return status;
}
