#include "experiments/job/queue.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "mpi/runtime/stop.h"
#include "src/base/mem.h"

#include <math.h>

/* Seconds of a run before its speed is trusted enough to warn. */
static const double warning_after = 60;

struct norma_queue {
    norma_queue_options options;
    norma_queue_tasks tasks;
    norma_replicas *replicas; /* owned */
    norma_team team;
    unsigned char *done; /* [n_tasks]: in the journal from the beginning; owned */
    int64_t first;       /* of the queued tasks that are being computed */
    int64_t work_before; /* steps of the tasks that the journal held */
    norma_progress progress;
    bool started, warned;
    double began;        /* the first computation */
    double state_saved;  /* of the task under way, or its begin */
    double journal_kept; /* last sync of the journal */
};

norma_queue_options norma_job_queue(const norma_job_context *job)
{
    return (norma_queue_options){.world = job->runtime->world,
                                 .group_size = norma_job_group_size(job),
                                 .checkpoint = job->checkpoint,
                                 .save_interval = norma_job_save_interval(job->config)};
}

norma_status norma_queue_create(const norma_queue_options *options, const norma_queue_tasks *tasks,
                                norma_queue **out)
{
    norma_queue *q = NULL;
    norma_status status = NORMA_CALLOC(q, 1);
    if (status == NORMA_OK)
        status = NORMA_CALLOC(q->done, tasks->n_tasks);
    status = norma_agree(options->world, status);
    if (status == NORMA_OK)
        status = norma_replicas_create(options->world, options->group_size, &q->replicas);
    if (status != NORMA_OK) {
        norma_queue_destroy(&q);
        return status;
    }
    q->options = *options;
    q->tasks = *tasks;
    norma_team_init_local(norma_replicas_group_local(q->replicas), &q->team);
    q->journal_kept = norma_progress_clock_local();
    *out = q;
    return NORMA_OK;
}

void norma_queue_destroy(norma_queue **queue)
{
    norma_queue *q = *queue;
    if (!q)
        return;
    norma_progress_finish_local(&q->progress);
    norma_replicas_destroy(&q->replicas);
    NORMA_FREE(q->done);
    NORMA_FREE(*queue);
}

static int64_t work_of(const norma_queue *q, int64_t task)
{
    return q->tasks.work ? q->tasks.work(q->tasks.context, task) : 1;
}

norma_status norma_queue_replay(norma_queue *q)
{
    int64_t n_done = 0;
    const norma_checkpoint_visitor visitor = {.context = q->tasks.context,
                                              .finished = q->tasks.replay,
                                              .piece = q->tasks.piece,
                                              .settle = q->tasks.settle};
    NORMA_TRY(
        norma_checkpoint_replay_pieces(q->options.checkpoint, q->tasks.n_tasks, q->done, &visitor));
    for (int64_t task = 0; task < q->tasks.n_queued; task++)
        if (q->done[task]) {
            n_done++;
            q->work_before += work_of(q, task);
        }
    if (norma_checkpoint_resumed_local(q->options.checkpoint))
        norma_log_info("resumes: %lld of %lld %s are done", (long long)n_done,
                       (long long)q->tasks.n_queued, q->tasks.name);
    return NORMA_OK;
}

norma_status norma_job_queue_alone(const norma_job_context *job, const norma_queue_tasks *tasks,
                                   norma_queue **out)
{
    norma_queue_options options = norma_job_queue(job);
    options.group_size = 1;
    NORMA_TRY(norma_queue_create(&options, tasks, out));
    return norma_queue_replay(*out);
}

bool norma_queue_was_done_local(const norma_queue *q, int64_t task)
{
    return q->done[task];
}

/* norma_replicas_task */
static norma_status compute_ticket(void *context, int64_t ticket)
{
    norma_queue *q = context;
    int64_t task = q->tasks.order ? q->tasks.order[q->first + ticket] : q->first + ticket;
    if (q->done[task])
        return NORMA_OK;
    q->state_saved = norma_progress_clock_local();
    return q->tasks.compute(q->tasks.context, task);
}

static void start_progress(norma_queue *q)
{
    double total = 0;
    for (int64_t task = 0; task < q->tasks.n_queued; task++)
        total += (double)work_of(q, task);
    norma_progress_init_local(&q->progress, q->tasks.step, q->tasks.step_unit,
                              (int64_t)fmin(total, 9e18));
    q->began = norma_progress_clock_local();
    q->started = true;
}

norma_status norma_queue_run(norma_queue *q, int64_t first, int64_t n)
{
    if (!q->started)
        start_progress(q);
    q->first = first;
    norma_status status = norma_replicas_run(q->replicas, n, compute_ticket, q);
    norma_progress_finish_local(&q->progress);
    return status;
}

int64_t norma_queue_n_groups_local(const norma_queue *q)
{
    return norma_replicas_n_groups_local(q->replicas);
}

norma_team *norma_queue_team_local(norma_queue *q)
{
    return &q->team;
}

/* Progress, and once a warning when the time limit will not do. Steps of different cost do not
 * predict the time that is left, operations do. */
static void report(norma_queue *q)
{
    int64_t done = norma_replicas_work_local(q->replicas) + q->work_before;
    double left = norma_stop_seconds_left_local();
    double elapsed = norma_progress_clock_local() - q->began;
    norma_progress_update_local(&q->progress, done);
    if (q->warned || q->tasks.step_unit || elapsed < warning_after || isinf(left) ||
        done <= q->work_before)
        return;
    double needed = elapsed * (double)(q->progress.total - done) / (double)(done - q->work_before);
    q->warned = true;
    if (needed > left)
        norma_log_warning("at this speed the run takes %.3g s more and its time limit leaves %.3g "
                          "s: it will stop with a checkpoint; --resume continues it",
                          needed, left);
}

norma_stop_request norma_queue_step(norma_queue *q, int64_t work)
{
    norma_stop_request request = norma_replicas_poll(q->replicas, work);
    double now = norma_progress_clock_local();
    bool due = norma_team_root_says(&q->team, now - q->state_saved >= q->options.save_interval);
    report(q);
    return due && request == NORMA_STOP_NONE ? NORMA_STOP_SAVE : request;
}

norma_status norma_queue_keep_local(norma_queue *q, int64_t task, const void *bytes, int64_t size)
{
    NORMA_TRY(norma_checkpoint_append_local(q->options.checkpoint, task, bytes, size));
    double now = norma_progress_clock_local();
    if (now - q->journal_kept < q->options.save_interval)
        return NORMA_OK;
    q->journal_kept = now;
    return norma_checkpoint_sync_local(q->options.checkpoint);
}

norma_status norma_queue_keep_piece_local(norma_queue *q, int64_t task, const void *bytes,
                                          int64_t size)
{
    return norma_checkpoint_append_piece_local(q->options.checkpoint, task, bytes, size);
}

norma_status norma_queue_save(norma_queue *q, int64_t task, const void *bytes, int64_t size)
{
    double begun = norma_progress_clock_local();
    norma_status status = NORMA_OK;
    if (norma_team_is_root_local(&q->team)) {
        status = norma_checkpoint_sync_local(q->options.checkpoint); /* its pieces first */
        if (status == NORMA_OK)
            status = norma_checkpoint_save_local(q->options.checkpoint, task, bytes, size);
    }
    status = norma_team_agree(&q->team, status);
    q->state_saved = norma_progress_clock_local();
    norma_stop_note_save_local(q->state_saved - begun);
    return status;
}

norma_status norma_queue_keep_state_local(norma_queue *q, int64_t task, const void *bytes,
                                          int64_t size)
{
    NORMA_TRY(norma_checkpoint_sync_local(q->options.checkpoint)); /* its pieces first */
    return norma_checkpoint_keep_state_local(q->options.checkpoint, task, bytes, size);
}

norma_status norma_queue_drop_local(norma_queue *q, int64_t task)
{
    return norma_checkpoint_drop_local(q->options.checkpoint, task);
}

norma_status norma_queue_states(norma_queue *q, int64_t **tasks, int64_t *n)
{
    *tasks = NULL;
    *n = 0;
    return norma_checkpoint_resumed_local(q->options.checkpoint)
               ? norma_checkpoint_list(q->options.checkpoint, tasks, n)
               : NORMA_OK;
}

norma_status norma_queue_load(norma_queue *q, int64_t task, void **bytes, int64_t *size)
{
    norma_status status = NORMA_OK;
    *bytes = NULL;
    *size = 0;
    if (norma_checkpoint_resumed_local(q->options.checkpoint) && norma_team_is_root_local(&q->team))
        status = norma_checkpoint_load_local(q->options.checkpoint, task, bytes, size);
    status = norma_team_agree(&q->team, status);
    if (status == NORMA_OK)
        status = norma_team_share(&q->team, bytes, size);
    if (status != NORMA_OK) {
        norma_mem_free(*bytes);
        *bytes = NULL;
    }
    return status;
}
