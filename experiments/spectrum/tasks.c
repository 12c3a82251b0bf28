#include "experiments/spectrum/tasks.h"

#include "experiments/spectrum/options.h"
#include "mpi/plan/plan.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "mpi/runtime/stop.h"
#include "mpi/runtime/team.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A task under way, for what happens between probes. */
typedef struct task {
    norma_job_context *job;
    norma_spectrum_run *run;
    int64_t number; /* cell * replicas + replica */
    int64_t n_probes, n_steps;
    norma_team team; /* all ranks */
    norma_progress progress;
} task;

/* The state of a quadrature in a checkpoint; its rules follow: n_nodes [done], nodes and weights
 * [done][steps]. */
typedef struct state_head {
    int64_t n_done, n_steps;
} state_head;

double norma_spectrum_weights_bytes(const norma_spectrum_cell *cell)
{
    const norma_khatri_rao_shape *shape = &cell->problem.shape;
    double bytes = 0;
    if (cell->problem.width == NORMA_WIDTH_MIN)
        bytes += 8 * (double)norma_khatri_rao_n_rows(shape);
    if (cell->pair.distribution == NORMA_DISTRIBUTION_ORTHOGONAL) {
        double first = (double)norma_khatri_rao_width_first(shape);
        double second = (double)norma_khatri_rao_width_second(shape);
        bytes += 16 * (first * first + second * second);
    }
    return bytes;
}

norma_status norma_spectrum_tasks_layout(const norma_job_context *job, norma_spectrum_run *run)
{
    norma_spectrum_layout *layout = &run->layout;
    layout->n_cells = norma_config_get_sweep(job->config)->n_cells;
    layout->n_replicas = norma_config_get_integer(job->config, 0, "replicas");
    layout->n_bins = norma_config_get_integer(job->config, 0, "bins");
    NORMA_TRY(NORMA_CALLOC(layout->n_saved, layout->n_cells));
    NORMA_TRY(NORMA_CALLOC(run->done, layout->n_cells * layout->n_replicas));
    NORMA_TRY(NORMA_CALLOC(run->condition, layout->n_cells * layout->n_replicas));
    for (int64_t number = 0; number < layout->n_cells; number++) {
        norma_spectrum_cell cell;
        norma_spectrum_choice choice;
        norma_status status = norma_spectrum_cell_init(job->config, &run->inputs, number,
                                                       run->memory_per_rank, &cell);
        if (status == NORMA_OK)
            status = norma_spectrum_choose_local(&cell.problem, &cell.options, job->runtime->size,
                                                 job->runtime->n_threads, &choice);
        if (status == NORMA_OK && choice.method == NORMA_SPECTRUM_SVD)
            status =
                norma_spectrum_count_values(job->config, choice.n_values, layout->n_saved + number);
        int64_t c2 = cell.problem.shape.n_channels_out;
        if (cell.problem.width == NORMA_WIDTH_MIN && c2 > layout->n_outliers)
            layout->n_outliers = c2;
        norma_spectrum_cell_clear(&cell);
        NORMA_TRY(status);
    }
    return NORMA_OK;
}

static norma_status make_record(const norma_spectrum_run *run, int64_t number,
                                norma_spectrum_record *record)
{
    const norma_spectrum_layout *layout = &run->layout;
    return norma_spectrum_record_init(layout->n_bins, layout->n_outliers,
                                      layout->n_saved[number / layout->n_replicas], record);
}

/* norma_checkpoint_visit: a finished task of an earlier run; on rank 0. */
static norma_status replay(void *context, int64_t number, const void *bytes, int64_t size)
{
    task *t = context;
    norma_spectrum_record record;
    int64_t n_replicas = t->run->layout.n_replicas;
    norma_status status = make_record(t->run, number, &record);
    NORMA_GOTO(status, status);
    if (size != record.n_numbers * (int64_t)sizeof *record.numbers) {
        status = NORMA_FAIL(NORMA_CONFIG, "the checkpoint holds a result of another size");
        goto done;
    }
    memcpy(record.numbers, bytes, (size_t)size);
    t->run->condition[number] = record.scalars[NORMA_SPECTRUM_CONDITION];
    status = norma_spectrum_output_write_local(t->job, number / n_replicas, number % n_replicas,
                                               &record);
done:
    norma_spectrum_record_clear(&record);
    return status;
}

/* Rank 0 writes the rules of the probes so far. */
static norma_status save(const task *t, const norma_spectrum_result *r, int64_t n_done)
{
    int64_t n = n_done * t->n_steps;
    int64_t size = (int64_t)sizeof(state_head) + 8 * (n_done + 2 * n);
    char *bytes = NULL;
    norma_status status = NORMA_OK;
    if (t->job->runtime->rank == 0) {
        status = NORMA_ALLOC(bytes, size);
        if (status == NORMA_OK) {
            const state_head head = {n_done, t->n_steps};
            char *at = bytes;
            memcpy(at, &head, sizeof head);
            memcpy(at += sizeof head, r->n_nodes, (size_t)n_done * 8);
            memcpy(at += n_done * 8, r->nodes, (size_t)n * 8);
            memcpy(at + n * 8, r->weights, (size_t)n * 8);
            status = norma_checkpoint_save_local(t->job->checkpoint, t->number, bytes, size);
        }
        NORMA_FREE(bytes);
    }
    return norma_agree(t->job->runtime->world, status);
}

/* The probes that an earlier run finished, on all ranks; *n_done of them. */
static norma_status load(const task *t, norma_spectrum_result *r, int64_t *n_done)
{
    MPI_Comm world = t->job->runtime->world;
    void *bytes = NULL;
    int64_t size = 0;
    norma_status status = NORMA_OK;
    *n_done = 0;
    if (!norma_checkpoint_resumed_local(t->job->checkpoint))
        return NORMA_OK;
    if (t->job->runtime->rank == 0)
        status = norma_checkpoint_load_local(t->job->checkpoint, t->number, &bytes, &size);
    NORMA_GOTO(status, norma_agree(world, status));
    NORMA_GOTO(status, norma_team_share(&t->team, &bytes, &size));
    if (!bytes)
        goto done;
    NORMA_GOTO(status,
               norma_agree(world, norma_spectrum_result_create(t->n_probes, t->n_steps, r)));
    state_head head;
    memcpy(&head, bytes, sizeof head);
    if (head.n_steps == t->n_steps && head.n_done <= t->n_probes) {
        const char *at = (const char *)bytes + sizeof head;
        int64_t n = head.n_done * head.n_steps;
        memcpy(r->n_nodes, at, (size_t)head.n_done * 8);
        memcpy(r->nodes, at += head.n_done * 8, (size_t)n * 8);
        memcpy(r->weights, at + n * 8, (size_t)n * 8);
        *n_done = head.n_done;
    }
done:
    norma_mem_free(bytes);
    return status;
}

/* norma_spectrum_after_probe */
static norma_status after_probe(void *context, const norma_spectrum_result *result, int64_t n_done)
{
    task *t = context;
    double now = norma_progress_clock_local();
    norma_progress_update_local(&t->progress, n_done);
    norma_stop_request request = norma_stop_agree(t->job->runtime->world);
    bool ends = request == NORMA_STOP_END && n_done < t->n_probes;
    bool due = norma_team_root_says(&t->team,
                                    now - t->run->saved >= norma_job_save_interval(t->job->config));
    if (request == NORMA_STOP_SAVE || ends || due) {
        NORMA_TRY(save(t, result, n_done));
        norma_stop_note_save_local(norma_progress_clock_local() - now);
        t->run->saved = now;
    }
    return ends ? NORMA_STOPPED : NORMA_OK;
}

static void print_heading(void)
{
    norma_log_result("#%5s %7s %10s %10s %-10s %12s %12s %12s %11s %9s %9s", "cell", "replica",
                     "rows", "features", "method", "sigma_max", "sigma_min", "condition", "ks",
                     "limit", "seconds");
}

static void print_record(int64_t cell, int64_t replica, const norma_spectrum_record *record)
{
    const double *s = record->scalars;
    norma_log_result(
        "%6lld %7lld %10.0f %10.0f %-10s %12.6g %12.6g %12.6g %11.4g %9s %9.3g", (long long)cell,
        (long long)replica, s[NORMA_SPECTRUM_N_ROWS], s[NORMA_SPECTRUM_N_FEATURES],
        norma_spectrum_method_name((norma_spectrum_method)s[NORMA_SPECTRUM_METHOD_USED]),
        s[NORMA_SPECTRUM_SIGMA_MAX], s[NORMA_SPECTRUM_SIGMA_MIN], s[NORMA_SPECTRUM_CONDITION],
        s[NORMA_SPECTRUM_KS], norma_spectrum_law_names[(int)s[NORMA_SPECTRUM_LAW_USED]],
        s[NORMA_SPECTRUM_SECONDS]);
}

/* Writes a measured replica and keeps it. */
static norma_status finish(task *t, const norma_spectrum_cell *cell, int64_t replica,
                           const norma_spectrum_result *result)
{
    norma_job_context *job = t->job;
    norma_spectrum_record record;
    norma_status status = make_record(t->run, t->number, &record);
    if (status == NORMA_OK)
        status = norma_spectrum_record_fill(cell, result, &record);
    if (status == NORMA_OK)
        status = norma_spectrum_output_write_local(job, cell->pair.number, replica, &record);
    if (status == NORMA_OK && job->runtime->rank == 0)
        status = norma_checkpoint_append_local(job->checkpoint, t->number, record.numbers,
                                               record.n_numbers * (int64_t)sizeof *record.numbers);
    status = norma_agree(job->runtime->world, status);
    if (status == NORMA_OK) {
        t->run->condition[t->number] = record.scalars[NORMA_SPECTRUM_CONDITION];
        print_record(cell->pair.number, replica, &record);
        status = norma_result_flush(job->file);
    }
    norma_spectrum_record_clear(&record);
    return status;
}

static norma_status run_replica(task *t, norma_spectrum_cell *cell, int64_t replica)
{
    MPI_Comm world = t->job->runtime->world;
    norma_spectrum_result result;
    int64_t n_done = 0;
    memset(&result, 0, sizeof result);
    t->n_probes = cell->options.n_probes;
    t->n_steps = cell->options.n_steps;
    norma_status status = norma_agree(world, norma_spectrum_cell_draw(cell, replica));
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, load(t, &result, &n_done));
    norma_progress_init_local(&t->progress, "probes", "probe", t->n_probes);
    status = norma_spectrum_measure(world, &cell->problem, &cell->options, n_done, after_probe, t,
                                    &result);
    norma_progress_finish_local(&t->progress);
    NORMA_GOTO(status, status);
    if (replica == 0 && result.choice.reason[0])
        norma_log_news("method %s: %s", norma_spectrum_method_name(result.choice.method),
                       result.choice.reason);
    status = finish(t, cell, replica, &result);
done:
    norma_spectrum_result_clear(&result);
    return status;
}

static norma_status run_cell(task *t, int64_t number)
{
    norma_job_context *job = t->job;
    norma_spectrum_run *run = t->run;
    int64_t n_replicas = run->layout.n_replicas;
    norma_spectrum_cell cell;
    norma_status status =
        norma_spectrum_cell_init(job->config, &run->inputs, number, run->memory_per_rank, &cell);
    NORMA_GOTO(status, norma_agree(job->runtime->world, status));
    for (int64_t replica = 0; replica < n_replicas; replica++) {
        t->number = number * n_replicas + replica;
        if (run->done[t->number])
            continue;
        if (norma_stop_agree(job->runtime->world) == NORMA_STOP_END) {
            status = NORMA_STOPPED;
            goto done;
        }
        NORMA_GOTO(status, run_replica(t, &cell, replica));
    }
    status = norma_agree(job->runtime->world,
                         norma_spectrum_output_quantiles_local(
                             job, number, run->condition + number * n_replicas, n_replicas));
done:
    norma_spectrum_cell_clear(&cell);
    return status;
}

norma_status norma_spectrum_tasks_run(norma_job_context *job, norma_spectrum_run *run)
{
    int64_t n_tasks = run->layout.n_cells * run->layout.n_replicas;
    task t = {.job = job, .run = run};
    norma_team_init_local(job->runtime->world, &t.team);
    run->saved = norma_progress_clock_local();
    NORMA_TRY(norma_checkpoint_replay(job->checkpoint, n_tasks, run->done, replay, &t));
    if (norma_checkpoint_resumed_local(job->checkpoint)) {
        int64_t n_done = 0;
        for (int64_t i = 0; i < n_tasks; i++)
            n_done += run->done[i];
        norma_log_info("resumes: %" PRId64 " of %" PRId64 " replicas are done", n_done, n_tasks);
    }
    print_heading();
    for (int64_t number = 0; number < run->layout.n_cells; number++)
        NORMA_TRY(run_cell(&t, number));
    return NORMA_OK;
}

void norma_spectrum_tasks_clear(norma_spectrum_run *run)
{
    NORMA_FREE(run->layout.n_saved);
    NORMA_FREE(run->condition);
    NORMA_FREE(run->done);
}
