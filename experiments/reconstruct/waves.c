#include "experiments/reconstruct/waves.h"
#include "experiments/reconstruct/construct/construction.h"
#include "experiments/reconstruct/construct/layers.h"
#include "experiments/reconstruct/construct/orders.h"

#include "experiments/job/queue.h"
#include "experiments/reconstruct/journal.h"
#include "experiments/reconstruct/statistics.h"
#include "mpi/evaluate/maps_share.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem.h"

#include <string.h>

/* Layers of a wave for every group of ranks, where images are compared: enough that few groups wait
 * at the end of the wave. Without images a wave has at most most_layers. */
static const int64_t layers_a_group = 8;
static const int64_t most_layers = 65536;

/* Seconds between two flushes of the result, at least. */
static const double flush_interval = 2;

/* The cell and the unit that these ranks work at. */
typedef struct workspace {
    norma_reconstruct_cell cell;
    int64_t cell_number, unit; /* -1: none */
    int n_ranks;               /* of the team that works at it */
    bool *ready;               /* [n_wanted]: the pair of the unit's layer is drawn; owned */
    norma_evaluate *evaluate;  /* of the unit and the team; owned */
} workspace;

/* A unit is one replica of one cell. A task is one layer of a unit, or, after all of those, the
 * comparison of a unit. */
typedef struct waves {
    norma_reconstruct_run *run;
    norma_queue *queue; /* owned */
    norma_team world;
    int64_t *wanted; /* [n_wanted] numbers of the layers; owned */
    int64_t n_wanted, n_replicas, n_units, n_layer_tasks;
    int64_t first_unit, n_wave_units; /* the wave under way */
    norma_reconstruct_row *rows;      /* [n_layer_tasks]; zeros where not known; owned */
    int64_t n_printed;                /* rows */
    double flushed;                   /* time of the last flush of the file, seconds */
    norma_maps **maps; /* [n_layer_tasks], until compared; NULL without images; owned */
    norma_evaluate_result *results;   /* [n_units]; resumed ones on rank 0 alone; owned */
    norma_reconstruct_orders *orders; /* with --align; owned; else NULL */
    workspace at;
} waves;

/* --- the cell and the unit ------------------------------------------------------------------- */

static void drop_unit(waves *w)
{
    norma_evaluate_destroy(&w->at.evaluate);
    memset(w->at.ready, 0, (size_t)w->n_wanted * sizeof *w->at.ready);
    w->at.unit = -1;
}

static void drop_cell(waves *w)
{
    drop_unit(w);
    if (w->at.cell_number >= 0)
        norma_reconstruct_cell_clear(&w->at.cell);
    w->at.cell_number = -1;
}

/* Prepares a unit, and its cell, for a team of n_ranks. Local; the same on all ranks of the team.
 */
static norma_status take_unit(waves *w, int64_t unit, int n_ranks)
{
    int64_t number = unit / w->n_replicas;
    if (w->at.cell_number != number || w->at.n_ranks != n_ranks)
        drop_cell(w);
    else if (w->at.unit != unit)
        drop_unit(w);
    else
        return NORMA_OK;
    w->at.unit = unit;
    w->at.n_ranks = n_ranks;
    if (w->at.cell_number != number) {
        w->at.cell_number = number;
        NORMA_TRY(norma_reconstruct_cell_init(w->run->config, &w->run->inputs, number, false,
                                              &w->at.cell));
    }
    return norma_reconstruct_orders_use_local(w->orders, unit, &w->at.cell);
}

/* The evaluation of the unit's network by a team. Collective over the team. */
static norma_status make_evaluate(waves *w, const norma_team *team)
{
    if (w->at.evaluate)
        return NORMA_OK;
    return norma_reconstruct_construction_evaluate(team->group, &w->at.cell, &w->run->inputs,
                                                   &w->at.evaluate);
}

static norma_status in_cell(const waves *w, int64_t cell, norma_status status)
{
    return norma_reconstruct_in_cell(w->run->config, cell, status);
}

/* --- the table ------------------------------------------------------------------------------- */

/* The table's heading of a cell, before its first row. */
static void print_cell(const waves *w, int64_t cell)
{
    norma_text where;
    norma_text_init(&where);
    norma_config_describe_cell(w->run->config, cell, &where);
    if (where.data)
        norma_log_result("# cell %lld: %s", (long long)cell, where.data);
    norma_text_clear(&where);
}

static bool is_known(const norma_reconstruct_row *row)
{
    return row->c2 > 0;
}

/* Prints the next rows, as far as they are known here, up to those of `unit`. */
static void print_rows(waves *w, int64_t unit)
{
    int64_t end = (unit + 1) * w->n_wanted;
    for (; w->n_printed < end && is_known(&w->rows[w->n_printed]); w->n_printed++) {
        int64_t of = w->n_printed / w->n_wanted;
        if (w->n_printed % (w->n_wanted * w->n_replicas) == 0)
            print_cell(w, of / w->n_replicas);
        norma_reconstruct_print_row(of / w->n_replicas, of % w->n_replicas,
                                    w->wanted[w->n_printed % w->n_wanted], &w->rows[w->n_printed]);
    }
}

/* --- solving --------------------------------------------------------------------------------- */

/* Writes a finished layer to this group's journal. Only on the group's root. */
static norma_status keep(waves *w, int64_t task, const norma_reconstruct_record *record,
                         const norma_reconstruct_layer *layer)
{
    void *bytes = NULL;
    double *orders = NULL;
    int64_t n_orders = 0;
    int64_t size = 0;
    NORMA_TRY(
        norma_reconstruct_orders_open_local(w->orders, task / w->n_wanted, &orders, &n_orders));
    NORMA_TRY(norma_reconstruct_journal_pack(record, layer, orders, n_orders, &bytes, &size));
    norma_status status = norma_queue_keep_local(w->queue, task, bytes, size);
    norma_mem_free(bytes);
    return status;
}

static norma_status solve(waves *w, int64_t task)
{
    const norma_team *team = norma_queue_team_local(w->queue);
    const norma_reconstruct_writer writer =
        norma_reconstruct_writer_of_local(&w->run->output, team);
    norma_reconstruct_record record;
    int64_t number = w->wanted[task % w->n_wanted];
    memset(&record, 0, sizeof record);
    NORMA_TRY(norma_team_agree(team, take_unit(w, task / w->n_wanted, team->chain.size)));
    NORMA_TRY(make_evaluate(w, team));
    NORMA_TRY(norma_reconstruct_run_layer(w->run, &writer, &w->at.cell, w->at.evaluate,
                                          w->at.unit % w->n_replicas, number, &record));
    norma_reconstruct_layer *layer = &w->at.cell.layers[number];
    bool root = norma_team_is_root_local(team);
    NORMA_TRY(norma_team_agree(team, root ? keep(w, task, &record, layer) : NORMA_OK));
    w->at.ready[task % w->n_wanted] = true;
    if (root)
        w->rows[task] = norma_reconstruct_row_of(layer, &record.solution);
    if (w->maps) {
        w->maps[task] = layer->maps;
        layer->maps = NULL;
    }
    return NORMA_OK;
}

/* Solves one layer (norma_queue_tasks). */
static norma_status compute(void *context, int64_t task)
{
    waves *w = context;
    norma_status status = solve(w, task);
    if (status == NORMA_OK)
        print_rows(w, w->first_unit);
    (void)norma_queue_step(w->queue, 1);
    return in_cell(w, task / w->n_wanted / w->n_replicas, status);
}

/* --- comparing ------------------------------------------------------------------------------- */

/* Broadcasts the solved layers of a unit from the groups that own them. */
static norma_status gather_layers(waves *w, int64_t unit)
{
    norma_reconstruct_run *run = w->run;
    for (int64_t k = 0; k < w->n_wanted; k++) {
        norma_reconstruct_layer *layer = &w->at.cell.layers[w->wanted[k]];
        norma_maps **maps = &w->maps[unit * w->n_wanted + k];
        norma_status status = NORMA_OK;
        norma_maps_destroy(&layer->maps);
        layer->maps = *maps;
        *maps = NULL;
        if (!w->at.ready[k])
            status = norma_reconstruct_pair_init(&w->at.cell, &run->inputs, w->wanted[k],
                                                 unit % w->n_replicas);
        w->at.ready[k] = true;
        NORMA_TRY(norma_agree(run->runtime->world, status));
        NORMA_TRY(norma_maps_share(run->runtime->world, layer->n_features,
                                   layer->source_shape.n_channels_out, &layer->maps));
    }
    return NORMA_OK;
}

/* Runs both networks of a unit on all ranks, and writes how they differ. */
static norma_status compare(waves *w, int64_t unit)
{
    const norma_runtime *runtime = w->run->runtime;
    const norma_reconstruct_writer writer =
        norma_reconstruct_writer_of_local(&w->run->output, &w->world);
    norma_status status = NORMA_OK;
    NORMA_TRY(gather_layers(w, unit));
    NORMA_TRY(make_evaluate(w, &w->world));
    NORMA_TRY(norma_reconstruct_run_compare(&writer, &w->at.cell, w->at.evaluate,
                                            unit % w->n_replicas, &w->results[unit]));
    if (runtime->rank == 0)
        status = norma_queue_keep_local(w->queue, w->n_layer_tasks + unit, &w->results[unit],
                                        (int64_t)sizeof w->results[unit]);
    return norma_agree(runtime->world, status);
}

/* Prints the remaining rows of a unit, and compares its networks. */
static norma_status finish_unit(waves *w, int64_t unit)
{
    norma_reconstruct_run *run = w->run;
    int64_t cell = unit / w->n_replicas;
    int64_t replica = unit % w->n_replicas;
    print_rows(w, unit);
    if (run->output.with_images) {
        norma_status status = take_unit(w, unit, run->runtime->size);
        NORMA_TRY(norma_agree(run->runtime->world, status));
        if (!norma_queue_was_done_local(w->queue, w->n_layer_tasks + unit))
            NORMA_TRY(compare(w, unit));
        norma_reconstruct_print_comparison(
            &w->results[unit], norma_reconstruct_is_exact(&w->at.cell), run->output.n_teacher > 0);
    }
    norma_reconstruct_orders_drop_local(w->orders, unit);
    NORMA_TRY(norma_reconstruct_output_memory(&run->output, cell, replica));
    if (run->output.with_images && replica == w->n_replicas - 1)
        NORMA_TRY(norma_reconstruct_output_statistics(&run->output, cell,
                                                      &w->results[cell * w->n_replicas]));
    return NORMA_OK;
}

/* --- waves ----------------------------------------------------------------------------------- */

/* Rows that groups found, for rank 0 to print. */
static void collect_rows(waves *w)
{
    norma_reconstruct_row *rows = w->rows + w->first_unit * w->n_wanted;
    int64_t n = w->n_wave_units * w->n_wanted * (int64_t)(sizeof *rows / sizeof(double));
    norma_replicas_collect(w->run->runtime->world, n, (double *)rows);
}

/* Flushes the result, but not after every small replica: the journal holds finished ones. */
static norma_status flush_when_due(waves *w)
{
    double now = norma_progress_clock_local();
    if (!norma_team_root_says(&w->world, now - w->flushed >= flush_interval))
        return NORMA_OK;
    NORMA_TRY(norma_result_flush(w->run->output.file));
    w->flushed = norma_progress_clock_local();
    return NORMA_OK;
}

/* The orders of channels of the wave's units that are not finished. */
static norma_status find_orders(waves *w)
{
    bool *needed = NULL;
    if (!w->orders)
        return NORMA_OK;
    norma_status status = NORMA_CALLOC(needed, w->n_wave_units);
    NORMA_TRY(norma_agree(w->run->runtime->world, status));
    for (int64_t k = 0; k < w->n_wave_units; k++) {
        int64_t unit = w->first_unit + k;
        for (int64_t l = 0; l < w->n_wanted && !needed[k]; l++)
            needed[k] = !norma_queue_was_done_local(w->queue, unit * w->n_wanted + l);
        if (w->run->output.with_images && !needed[k])
            needed[k] = !norma_queue_was_done_local(w->queue, w->n_layer_tasks + unit);
    }
    status = norma_reconstruct_orders_find(w->orders, w->first_unit, w->n_wave_units, needed);
    NORMA_FREE(needed);
    drop_cell(w);
    return status;
}

static norma_status run_wave(waves *w)
{
    int64_t end = w->first_unit + w->n_wave_units;
    NORMA_TRY(find_orders(w));
    NORMA_TRY(
        norma_queue_run(w->queue, w->first_unit * w->n_wanted, w->n_wave_units * w->n_wanted));
    collect_rows(w);
    for (int64_t unit = w->first_unit; unit < end; unit++)
        NORMA_TRY(in_cell(w, unit / w->n_replicas, finish_unit(w, unit)));
    return flush_when_due(w);
}

int64_t norma_reconstruct_wave_units(int64_t n_wanted, int64_t left, int64_t n_groups,
                                     bool with_images)
{
    int64_t layers = with_images ? layers_a_group * n_groups : most_layers;
    int64_t length = layers > n_wanted ? layers / n_wanted : 1;
    if (n_groups == 1)
        length = 1; /* each replica's comparison follows its layers */
    return length < left ? length : left;
}

static int64_t wave_length(const waves *w, int64_t n_groups)
{
    int64_t length = norma_reconstruct_wave_units(w->n_wanted, w->n_units - w->first_unit, n_groups,
                                                  w->run->output.with_images);
    if (w->orders && length > w->run->runtime->size)
        length = w->run->runtime->size; /* a rank searches for one replica's orders */
    return length;
}

/* --- results of an earlier run --------------------------------------------------------------- */

static norma_status replay_layer(waves *w, const norma_reconstruct_writer *writer, int64_t task,
                                 const void *bytes, int64_t size)
{
    norma_reconstruct_run *run = w->run;
    norma_reconstruct_cell *cell = &w->at.cell;
    norma_reconstruct_record record;
    double *orders = NULL;
    int64_t n_orders = 0;
    int64_t number = w->wanted[task % w->n_wanted];
    NORMA_TRY(take_unit(w, task / w->n_wanted, 1));
    int64_t replica = w->at.unit % w->n_replicas;
    norma_reconstruct_layer *layer = &cell->layers[number];
    NORMA_TRY(norma_reconstruct_orders_open_local(w->orders, w->at.unit, &orders, &n_orders));
    NORMA_TRY(norma_reconstruct_journal_unpack(bytes, size, &record, layer, orders, n_orders));
    NORMA_TRY(norma_reconstruct_orders_use_local(w->orders, w->at.unit, cell));
    if (run->output.save_weights)
        NORMA_TRY(norma_reconstruct_pair_init(cell, &run->inputs, number, replica));
    norma_reconstruct_statistics_use_given(cell, &run->inputs, number);
    NORMA_TRY(norma_reconstruct_run_write(writer, cell, replica, number, &record));
    w->rows[task] = norma_reconstruct_row_of(layer, &record.solution);
    if (w->maps) {
        w->maps[task] = layer->maps;
        layer->maps = NULL;
    }
    return NORMA_OK;
}

static norma_status replay_comparison(waves *w, const norma_reconstruct_writer *writer,
                                      int64_t unit, const void *bytes, int64_t size)
{
    if (size != (int64_t)sizeof w->results[unit])
        return NORMA_FAIL(NORMA_CONFIG, "the saved comparison has %lld bytes", (long long)size);
    memcpy(&w->results[unit], bytes, (size_t)size);
    return norma_reconstruct_output_evaluation(writer, unit / w->n_replicas, unit % w->n_replicas,
                                               &w->results[unit]);
}

/* A finished task of an earlier run, on rank 0 (norma_queue_tasks). */
static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    waves *w = context;
    norma_team alone;
    norma_team_init_alone_local(&alone);
    const norma_reconstruct_writer writer =
        norma_reconstruct_writer_of_local(&w->run->output, &alone);
    if (task < w->n_layer_tasks)
        return replay_layer(w, &writer, task, bytes, size);
    return replay_comparison(w, &writer, task - w->n_layer_tasks, bytes, size);
}

static norma_status replay_all(waves *w)
{
    NORMA_TRY(norma_queue_replay(w->queue));
    drop_cell(w);
    for (int64_t task = 0; w->maps && task < w->n_layer_tasks; task++)
        if (norma_queue_was_done_local(w->queue, w->n_layer_tasks + task / w->n_wanted))
            norma_maps_destroy(&w->maps[task]);
    return NORMA_OK;
}

/* --- all of it ------------------------------------------------------------------------------- */

static norma_status list_layers(waves *w)
{
    const norma_config *config = w->run->config;
    int64_t n_layers = w->run->output.n_layers;
    const norma_reconstruct_inputs *inputs = &w->run->inputs;
    const norma_network *network = inputs->factored;
    if (!network && inputs->target)
        network = norma_target_network_local(inputs->target);
    NORMA_TRY(NORMA_ALLOC(w->wanted, n_layers));
    for (int64_t i = 0; i < n_layers; i++)
        if (norma_reconstruct_layers_take(config, network, i))
            w->wanted[w->n_wanted++] = i;
    norma_reconstruct_layers_print(config, network);
    return NORMA_OK;
}

static norma_status allocate(waves *w)
{
    norma_reconstruct_run *run = w->run;
    NORMA_TRY(list_layers(w));
    w->n_units = norma_config_get_sweep(run->config)->n_cells * w->n_replicas;
    w->n_layer_tasks = w->n_units * w->n_wanted;
    NORMA_TRY(NORMA_CALLOC(w->at.ready, w->n_wanted));
    NORMA_TRY(NORMA_CALLOC(w->rows, w->n_layer_tasks));
    if (!run->output.with_images)
        return NORMA_OK;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    NORMA_TRY(NORMA_CALLOC(w->maps, w->n_layer_tasks));
    return NORMA_CALLOC(w->results, w->n_units);
}

/* Creates all arrays before the first is written, since groups write in any order. */
static norma_status create_arrays(waves *w)
{
    norma_reconstruct_run *run = w->run;
    bool arrays = norma_reconstruct_output_has_arrays(&run->output);
    for (int64_t unit = 0; arrays && unit < w->n_units; unit += w->n_replicas) {
        norma_status status = take_unit(w, unit, run->runtime->size);
        status = norma_agree(run->runtime->world, status);
        if (status == NORMA_OK)
            status = norma_reconstruct_output_add_cell(&run->output, &w->at.cell);
        if (status != NORMA_OK)
            return in_cell(w, unit / w->n_replicas, status);
    }
    drop_cell(w);
    return norma_result_begin(run->output.file);
}

static norma_status open_queue(waves *w, const norma_job_context *job)
{
    const norma_queue_options options = norma_job_queue(job);
    int64_t n_comparisons = w->run->output.with_images ? w->n_units : 0;
    const norma_queue_tasks tasks = {.n_tasks = w->n_layer_tasks + n_comparisons,
                                     .n_queued = w->n_layer_tasks,
                                     .name = "layers",
                                     .step = "layers",
                                     .step_unit = "layer",
                                     .context = w,
                                     .compute = compute,
                                     .replay = replay};
    return norma_queue_create(&options, &tasks, &w->queue);
}

static void destroy(waves *w)
{
    if (w->at.ready)
        drop_cell(w);
    norma_queue_destroy(&w->queue);
    norma_reconstruct_orders_destroy(&w->orders);
    for (int64_t task = 0; w->maps && task < w->n_layer_tasks; task++)
        norma_maps_destroy(&w->maps[task]);
    NORMA_FREE(w->maps);
    NORMA_FREE(w->rows);
    NORMA_FREE(w->results);
    NORMA_FREE(w->at.ready);
    NORMA_FREE(w->wanted);
}

norma_status norma_reconstruct_waves_run(norma_reconstruct_run *run, const norma_job_context *job)
{
    waves w = {.run = run, .at = {.cell_number = -1, .unit = -1}};
    int64_t n_groups = run->runtime->size / norma_job_group_size(job);
    norma_status status = NORMA_OK;
    w.n_replicas = run->output.n_replicas;
    norma_team_init_local(run->runtime->world, &w.world);
    NORMA_GOTO(status, norma_agree(run->runtime->world, allocate(&w)));
    if (norma_reconstruct_alignment_wanted(run->config))
        NORMA_GOTO(status, norma_reconstruct_orders_create(run->runtime, run->config, &run->inputs,
                                                           w.n_replicas, w.n_units, &w.orders));
    NORMA_GOTO(status, open_queue(&w, job));
    NORMA_GOTO(status, create_arrays(&w));
    NORMA_GOTO(status, replay_all(&w));
    norma_reconstruct_print_heading();
    while (status == NORMA_OK && w.first_unit < w.n_units) {
        w.n_wave_units = wave_length(&w, n_groups);
        status = run_wave(&w);
        w.first_unit += w.n_wave_units;
    }
done:
    destroy(&w);
    return status;
}
