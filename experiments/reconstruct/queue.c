#include "experiments/reconstruct/queue.h"

#include "experiments/reconstruct/journal.h"
#include "experiments/reconstruct/statistics.h"
#include "io/config/config_read.h"
#include "mpi/evaluate/maps_share.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "mpi/runtime/replicas.h"
#include "src/base/mem.h"

#include <string.h>

/* Groups solve in waves: with images so many layers a group at least before networks are compared,
 * so that few groups wait at the end of one; and no more tickets than this. */
static const int64_t tickets_a_group = 8;
static const int64_t most_tickets = 65536;

/* A unit is one replica of one cell; a task is one of its layers, or, after all of those, the
 * comparison of one unit. The tickets of a wave are its layers. */
typedef struct queue {
    norma_reconstruct_run *run;
    norma_checkpoint *checkpoint;
    norma_progress progress;
    double save_interval, saved; /* seconds */
    int64_t *wanted;             /* [n_wanted] numbers of the layers; owned */
    int64_t n_wanted, n_replicas, n_units, n_layer_tasks;
    bool one_group;
    unsigned char *done;         /* [n_layer_tasks + n_units]: by an earlier go; owned */
    norma_reconstruct_row *rows; /* [n_layer_tasks]; on rank 0, and the group that solved; owned */
    norma_maps **maps;           /* the same, until compared; NULL without images; owned */
    norma_evaluate_result *results; /* [n_units]; resumed ones on rank 0 alone; owned */

    /* The wave under way */
    norma_replicas *replicas;
    MPI_Comm comm; /* of this rank's group; borrowed */
    int64_t first_unit, wave_units;
    int64_t n_before; /* layers of earlier waves */

    int64_t cell;             /* that run->cell holds; -1: none */
    int64_t unit;             /* whose pairs `ready` is about, and `evaluate`; -1: none */
    bool *ready;              /* [n_wanted]: the pair of the unit's layer is drawn; owned */
    norma_evaluate *evaluate; /* of the group; owned */
} queue;

/* --- the current cell and unit -------------------------------------------------------------- */

static void drop_unit(queue *q)
{
    norma_evaluate_destroy(&q->evaluate);
    memset(q->ready, 0, (size_t)q->n_wanted * sizeof *q->ready);
    q->unit = -1;
}

static void drop_cell(queue *q)
{
    drop_unit(q);
    if (q->cell >= 0)
        norma_reconstruct_cell_clear(&q->run->cell);
    q->cell = -1;
}

/* Makes the unit, and its cell, the current one. Local; the same on all ranks of a group. */
static norma_status take_unit(queue *q, int64_t unit)
{
    norma_reconstruct_run *run = q->run;
    int64_t cell = unit / q->n_replicas;
    if (q->unit != unit)
        drop_unit(q);
    q->unit = unit;
    if (q->cell == cell)
        return NORMA_OK;
    drop_cell(q);
    q->cell = cell;
    q->unit = unit;
    return norma_reconstruct_cell_init(run->config, &run->inputs, cell, false, &run->cell);
}

/* "c-out=8, seed=3: " in front of an error of a sweep's cell. */
static norma_status in_cell(const queue *q, int64_t cell, norma_status status)
{
    norma_text where;
    if (status == NORMA_OK || status == NORMA_STOPPED)
        return status;
    norma_text_init(&where);
    norma_config_describe_cell(q->run->config, cell, &where);
    if (where.data)
        status = norma_status_context(status, "%s: ", where.data);
    norma_text_clear(&where);
    return status;
}

/* The table's heading of a cell, before its first replica. */
static void print_cell(const queue *q, int64_t unit)
{
    norma_text where;
    if (unit % q->n_replicas != 0)
        return;
    norma_text_init(&where);
    norma_config_describe_cell(q->run->config, unit / q->n_replicas, &where);
    if (where.data)
        norma_log_result("# cell %lld: %s", (long long)(unit / q->n_replicas), where.data);
    norma_text_clear(&where);
}

static void print_task(const queue *q, int64_t task)
{
    int64_t unit = task / q->n_wanted;
    norma_reconstruct_print_row(unit / q->n_replicas, unit % q->n_replicas,
                                q->wanted[task % q->n_wanted], &q->rows[task]);
}

/* --- solving -------------------------------------------------------------------------------- */

/* The finished layer into this group's journal. Local to the group's root. */
static norma_status keep(queue *q, int64_t task, const norma_reconstruct_record *record,
                         const norma_reconstruct_layer *layer)
{
    void *bytes = NULL;
    int64_t size = 0;
    NORMA_TRY(norma_reconstruct_journal_pack(record, layer, &bytes, &size));
    norma_status status = norma_checkpoint_append_local(q->checkpoint, task, bytes, size);
    norma_mem_free(bytes);
    double now = norma_progress_clock_local();
    if (status != NORMA_OK || now - q->saved < q->save_interval)
        return status;
    q->saved = now;
    return norma_checkpoint_sync_local(q->checkpoint);
}

static norma_status solve(queue *q, int64_t task)
{
    norma_reconstruct_run *run = q->run;
    const norma_images *images = norma_reconstruct_images(&run->inputs);
    norma_reconstruct_record record;
    int64_t at = task % q->n_wanted;
    norma_reconstruct_layer *layer = NULL;
    memset(&record, 0, sizeof record);
    NORMA_TRY(norma_agree(q->comm, take_unit(q, task / q->n_wanted)));
    if (!q->evaluate)
        NORMA_TRY(norma_evaluate_create(q->comm, run->cell.network, images,
                                        images ? images->n_images : 0, 0, &q->evaluate));
    NORMA_TRY(norma_reconstruct_run_layer(run, q->comm, q->evaluate, q->unit % q->n_replicas,
                                          q->wanted[at], &record));
    layer = &run->cell.layers[q->wanted[at]];
    bool root = norma_replicas_group_rank_local(q->replicas) == 0;
    NORMA_TRY(norma_agree(q->comm, root ? keep(q, task, &record, layer) : NORMA_OK));
    q->ready[at] = true;
    if (root)
        q->rows[task] = record.row;
    if (images) {
        q->maps[task] = layer->maps;
        layer->maps = NULL;
    }
    return NORMA_OK;
}

/* norma_replicas_task: one layer. */
static norma_status solve_ticket(void *context, int64_t ticket)
{
    queue *q = context;
    int64_t task = q->first_unit * q->n_wanted + ticket;
    norma_status status = NORMA_OK;
    if (q->one_group && task % q->n_wanted == 0)
        print_cell(q, task / q->n_wanted);
    if (!q->done[task])
        status = solve(q, task);
    if (q->one_group && status == NORMA_OK)
        print_task(q, task);
    (void)norma_replicas_poll(q->replicas, 1);
    norma_progress_update_local(&q->progress, q->n_before + norma_replicas_work_local(q->replicas));
    return in_cell(q, task / q->n_wanted / q->n_replicas, status);
}

/* --- comparing ------------------------------------------------------------------------------ */

/* The layers of a unit from those who solved them. */
static norma_status gather_layers(queue *q, int64_t unit)
{
    norma_reconstruct_run *run = q->run;
    MPI_Comm world = run->runtime->world;
    for (int64_t k = 0; k < q->n_wanted; k++) {
        norma_reconstruct_layer *layer = &run->cell.layers[q->wanted[k]];
        norma_maps **maps = &q->maps[unit * q->n_wanted + k];
        norma_status status = NORMA_OK;
        norma_maps_destroy(&layer->maps);
        layer->maps = *maps;
        *maps = NULL;
        if (!q->ready[k])
            status = norma_reconstruct_pair_init(&run->cell, &run->inputs, q->wanted[k],
                                                 unit % q->n_replicas);
        q->ready[k] = true;
        NORMA_TRY(norma_agree(world, status));
        NORMA_TRY(
            norma_maps_share(world, layer->n_features, layer->shape.n_channels_out, &layer->maps));
    }
    return NORMA_OK;
}

/* Both networks on all ranks. */
static norma_status compare(queue *q, int64_t unit)
{
    norma_reconstruct_run *run = q->run;
    const norma_runtime *runtime = run->runtime;
    const norma_images *images = norma_reconstruct_images(&run->inputs);
    int64_t task = q->n_layer_tasks + unit;
    norma_status status = NORMA_OK;
    NORMA_TRY(gather_layers(q, unit));
    if (!q->evaluate)
        NORMA_TRY(norma_evaluate_create(runtime->world, run->cell.network, images, images->n_images,
                                        0, &q->evaluate));
    NORMA_TRY(
        norma_reconstruct_run_compare(run, q->evaluate, unit % q->n_replicas, &q->results[unit]));
    if (runtime->rank == 0)
        status = norma_checkpoint_append_local(q->checkpoint, task, &q->results[unit],
                                               (int64_t)sizeof q->results[unit]);
    return norma_agree(runtime->world, status);
}

/* The table's lines of a unit, and its comparison. */
static norma_status finish_unit(queue *q, int64_t unit)
{
    norma_reconstruct_run *run = q->run;
    int64_t cell = unit / q->n_replicas;
    int64_t replica = unit % q->n_replicas;
    if (!q->one_group) {
        print_cell(q, unit);
        for (int64_t k = 0; k < q->n_wanted; k++)
            print_task(q, unit * q->n_wanted + k);
    }
    if (run->output.with_images) {
        NORMA_TRY(norma_agree(run->runtime->world, take_unit(q, unit)));
        if (!q->done[q->n_layer_tasks + unit])
            NORMA_TRY(compare(q, unit));
        norma_reconstruct_print_comparison(&q->results[unit],
                                           norma_reconstruct_is_exact(&run->cell));
    }
    NORMA_TRY(norma_reconstruct_output_memory(&run->output, cell, replica));
    if (run->output.with_images && replica == q->n_replicas - 1)
        NORMA_TRY(norma_reconstruct_output_statistics(&run->output, cell,
                                                      &q->results[cell * q->n_replicas]));
    return NORMA_OK;
}

/* --- waves ---------------------------------------------------------------------------------- */

/* Rows that other groups found, for rank 0 to print. */
static void collect_rows(queue *q, int64_t n_tickets)
{
    norma_reconstruct_row *rows = q->rows + q->first_unit * q->n_wanted;
    int64_t n_numbers = n_tickets * (int64_t)(sizeof *rows / sizeof(double));
    norma_replicas_collect(q->run->runtime->world, n_numbers, (double *)rows);
}

static norma_status run_wave(queue *q)
{
    norma_reconstruct_run *run = q->run;
    int64_t n_tickets = q->wave_units * q->n_wanted;
    NORMA_TRY(norma_replicas_create(run->runtime->world,
                                    norma_job_group_size(run->runtime, run->config), &q->replicas));
    q->comm = norma_replicas_group_local(q->replicas);
    if (!q->one_group)
        norma_reconstruct_output_group(&run->output, norma_replicas_group_rank_local(q->replicas),
                                       (int)norma_job_group_size(run->runtime, run->config));
    norma_status status = norma_replicas_run(q->replicas, n_tickets, solve_ticket, q);
    norma_reconstruct_output_ungroup(&run->output);
    NORMA_TRY(status);
    q->n_before += n_tickets;
    if (!q->one_group) {
        collect_rows(q, n_tickets);
        drop_cell(q);
    }
    for (int64_t unit = q->first_unit; unit < q->first_unit + q->wave_units; unit++) {
        NORMA_TRY(in_cell(q, unit / q->n_replicas, finish_unit(q, unit)));
        if (!q->one_group)
            drop_unit(q);
    }
    return norma_result_flush(run->output.file);
}

static int64_t wave_length(const queue *q)
{
    int64_t n_groups =
        q->run->runtime->size / norma_job_group_size(q->run->runtime, q->run->config);
    int64_t tickets = q->run->output.with_images ? tickets_a_group * n_groups : most_tickets;
    int64_t length = tickets > q->n_wanted ? tickets / q->n_wanted : 1;
    if (q->one_group)
        length = 1; /* each replica's comparison follows its layers */
    return length < q->n_units - q->first_unit ? length : q->n_units - q->first_unit;
}

/* --- what an earlier go left ---------------------------------------------------------------- */

static norma_status replay_layer(queue *q, int64_t task, const void *bytes, int64_t size)
{
    norma_reconstruct_run *run = q->run;
    norma_reconstruct_record record;
    int64_t number = q->wanted[task % q->n_wanted];
    NORMA_TRY(take_unit(q, task / q->n_wanted));
    norma_reconstruct_layer *layer = &run->cell.layers[number];
    NORMA_TRY(norma_reconstruct_journal_unpack(bytes, size, &record, layer));
    if (run->output.save_weights)
        NORMA_TRY(
            norma_reconstruct_pair_init(&run->cell, &run->inputs, number, q->unit % q->n_replicas));
    norma_reconstruct_statistics_use_given(&run->cell, &run->inputs, number);
    NORMA_TRY(norma_reconstruct_run_write(run, q->unit % q->n_replicas, number, &record));
    q->rows[task] = record.row;
    if (q->maps) {
        q->maps[task] = layer->maps;
        layer->maps = NULL;
    }
    return NORMA_OK;
}

static norma_status replay_comparison(queue *q, int64_t unit, const void *bytes, int64_t size)
{
    if (size != (int64_t)sizeof q->results[unit])
        return NORMA_FAIL(NORMA_CONFIG, "the saved comparison has %lld bytes", (long long)size);
    memcpy(&q->results[unit], bytes, (size_t)size);
    return norma_reconstruct_output_evaluation(&q->run->output, unit / q->n_replicas,
                                               unit % q->n_replicas, &q->results[unit]);
}

/* norma_checkpoint_visit, on rank 0 */
static norma_status replay_task(void *context, int64_t task, const void *bytes, int64_t size)
{
    queue *q = context;
    norma_reconstruct_output_group(&q->run->output, 0, 1);
    norma_status status = task < q->n_layer_tasks
                              ? replay_layer(q, task, bytes, size)
                              : replay_comparison(q, task - q->n_layer_tasks, bytes, size);
    norma_reconstruct_output_ungroup(&q->run->output);
    return status;
}

static norma_status replay(queue *q)
{
    int64_t n_done = 0;
    int64_t n_tasks = q->n_layer_tasks + (q->run->output.with_images ? q->n_units : 0);
    NORMA_TRY(norma_checkpoint_replay(q->checkpoint, n_tasks, q->done, replay_task, q));
    drop_cell(q);
    for (int64_t task = 0; task < q->n_layer_tasks; task++) {
        n_done += q->done[task];
        if (q->maps && q->done[q->n_layer_tasks + task / q->n_wanted])
            norma_maps_destroy(&q->maps[task]);
    }
    if (norma_checkpoint_resumed_local(q->checkpoint))
        norma_log_info("resumes: %lld of %lld layers are done", (long long)n_done,
                       (long long)q->n_layer_tasks);
    return NORMA_OK;
}

/* --- all of it ------------------------------------------------------------------------------ */

static norma_status list_layers(queue *q)
{
    const norma_config *config = q->run->config;
    int64_t n_listed = norma_config_get_count(config, "layers");
    NORMA_TRY(NORMA_ALLOC(q->wanted, q->run->output.n_layers));
    for (int64_t i = 0; i < q->run->output.n_layers; i++) {
        bool listed = n_listed == 0;
        for (int64_t k = 0; k < n_listed && !listed; k++)
            listed = norma_config_get_integer(config, k, "layers") == i;
        if (listed)
            q->wanted[q->n_wanted++] = i;
    }
    return NORMA_OK;
}

static norma_status allocate(queue *q)
{
    norma_reconstruct_run *run = q->run;
    NORMA_TRY(list_layers(q));
    q->n_units = norma_config_get_sweep(run->config)->n_cells * q->n_replicas;
    q->n_layer_tasks = q->n_units * q->n_wanted;
    NORMA_TRY(NORMA_CALLOC(q->ready, q->n_wanted));
    NORMA_TRY(NORMA_CALLOC(q->done, q->n_layer_tasks + q->n_units));
    NORMA_TRY(NORMA_CALLOC(q->rows, q->n_layer_tasks));
    if (!run->output.with_images)
        return NORMA_OK;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    NORMA_TRY(NORMA_CALLOC(q->maps, q->n_layer_tasks));
    return NORMA_CALLOC(q->results, q->n_units);
}

/* Everything that will be written is created before: groups do that in any order. */
static norma_status create_arrays(queue *q)
{
    norma_reconstruct_run *run = q->run;
    bool arrays = run->output.save_gamma || run->output.save_weights;
    for (int64_t unit = 0; arrays && unit < q->n_units; unit += q->n_replicas) {
        norma_status status = norma_agree(run->runtime->world, take_unit(q, unit));
        if (status == NORMA_OK)
            status = norma_reconstruct_output_add_cell(&run->output, &run->cell);
        if (status != NORMA_OK)
            return in_cell(q, unit / q->n_replicas, status);
    }
    drop_cell(q);
    return norma_result_begin(run->output.file);
}

static void destroy(queue *q)
{
    if (q->ready)
        drop_cell(q);
    norma_replicas_destroy(&q->replicas);
    for (int64_t task = 0; q->maps && task < q->n_layer_tasks; task++)
        norma_maps_destroy(&q->maps[task]);
    NORMA_FREE(q->maps);
    NORMA_FREE(q->rows);
    NORMA_FREE(q->results);
    NORMA_FREE(q->done);
    NORMA_FREE(q->ready);
    NORMA_FREE(q->wanted);
    norma_progress_finish_local(&q->progress);
}

norma_status norma_reconstruct_queue(norma_reconstruct_run *run, norma_checkpoint *checkpoint)
{
    queue q = {.run = run, .checkpoint = checkpoint, .cell = -1, .unit = -1};
    norma_status status = NORMA_OK;
    q.n_replicas = run->output.n_replicas;
    q.one_group = norma_job_group_size(run->runtime, run->config) == run->runtime->size;
    q.save_interval = norma_job_save_interval(run->config);
    q.saved = norma_progress_clock_local();
    NORMA_GOTO(status, norma_agree(run->runtime->world, allocate(&q)));
    norma_progress_init_local(&q.progress, "layers", "layer", q.n_layer_tasks);
    if (q.n_wanted < run->output.n_layers)
        norma_log_info("%lld of %lld layers are reconstructed, the others stay the target's own",
                       (long long)q.n_wanted, (long long)run->output.n_layers);
    NORMA_GOTO(status, create_arrays(&q));
    NORMA_GOTO(status, replay(&q));
    norma_reconstruct_print_heading();
    while (status == NORMA_OK && q.first_unit < q.n_units) {
        q.wave_units = wave_length(&q);
        status = run_wave(&q);
        drop_unit(&q);
        norma_replicas_destroy(&q.replicas);
        q.first_unit += q.wave_units;
    }
done:
    destroy(&q);
    return status;
}
