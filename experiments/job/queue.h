#ifndef NORMA_EXPERIMENTS_JOB_QUEUE_H
#define NORMA_EXPERIMENTS_JOB_QUEUE_H
/*
 * The tasks of a job: dealt out to groups of ranks, their results kept in a journal, their states
 * saved while they are under way, their progress printed.
 *
 *     norma_queue_options options = norma_job_queue(job);
 *     norma_queue_create(&options, &tasks, &queue);
 *     norma_queue_replay(queue);                what an earlier run finished
 *     norma_queue_run(queue, 0, tasks.n_tasks); the others; in one call, or in several
 *     norma_queue_destroy(&queue);
 *
 * A group that is free takes the next task. With one group, all ranks compute one task after the
 * other. A result must depend on its task and on the size of the group alone; then it is the same
 * for any number of groups.
 */
#include "experiments/job/job.h"
#include "mpi/runtime/replicas.h"
#include "mpi/runtime/team.h"

typedef struct norma_queue norma_queue;

/* The tasks; the functions and arrays are borrowed. */
typedef struct norma_queue_tasks {
    int64_t n_tasks;  /* in the journal */
    int64_t n_queued; /* tasks 0 .. n_queued - 1 are computed by groups; those behind them by all
                         ranks together, outside of norma_queue_run */
    const int64_t *order;  /* [n_queued]: the task that is taken as the i-th one, looked at when it
                              is its turn; NULL: task i */
    const char *name;      /* "blocks of replicas", for messages */
    const char *step;      /* "layers": what progress counts */
    const char *step_unit; /* as in norma_progress_init_local; NULL: floating-point operations */
    void *context;         /* handed to the functions */

    /* Computes a task: writes its result and keeps it (norma_queue_keep_local). Calls
     * norma_queue_step at every step. NORMA_OK when the task is done, NORMA_STOPPED when it was
     * left with its state saved. Collective over the group; ranks may return different statuses. */
    norma_status (*compute)(void *context, int64_t task);

    /* Writes the result of a task that an earlier run kept. On rank 0 alone. */
    norma_status (*replay)(void *context, int64_t task, const void *bytes, int64_t size);

    /* Tasks whose results are kept piece by piece (norma_queue_keep_piece_local), else NULL: writes
     * a piece that an earlier run kept; after all of them, tasks of which a piece is missing become
     * undone. On rank 0 alone. */
    norma_status (*piece)(void *context, int64_t task, const void *bytes, int64_t size);
    norma_status (*settle)(void *context, unsigned char *done);

    /* Steps of a task, in the unit of progress; NULL: 1. Local. */
    int64_t (*work)(const void *context, int64_t task);
} norma_queue_tasks;

typedef struct norma_queue_options {
    MPI_Comm world;
    int64_t group_size;
    norma_checkpoint *checkpoint; /* borrowed */
    double save_interval;         /* seconds between two writes of a state or journal to the disk */
} norma_queue_options;

/* The options of a job whose file and checkpoint are open: norma_job_group_size,
 * --checkpoint-every. Local. */
norma_queue_options norma_job_queue(const norma_job_context *job);

/* Forms the groups: consecutive ranks; those of an incomplete last group stay idle. NORMA_USAGE
 * when group_size is not 1 .. number of ranks. Collective over the world; caller owns *out. */
NORMA_MUST_USE norma_status norma_queue_create(const norma_queue_options *options,
                                               const norma_queue_tasks *tasks, norma_queue **out);

/* A queue of tasks that one rank computes each, with the options of a job whose file and checkpoint
 * are open; the results in the journal are handed to tasks->replay. Collective over the world; the
 * caller destroys *out, on failure too. */
NORMA_MUST_USE norma_status norma_job_queue_alone(const norma_job_context *job,
                                                  const norma_queue_tasks *tasks,
                                                  norma_queue **out);

/* Collective over the world; nulls, NULL is allowed. */
void norma_queue_destroy(norma_queue **queue);

/* Hands the results in the journal to tasks->replay and prints how many there are. Once, before
 * anything is computed. Collective over the world. */
NORMA_MUST_USE norma_status norma_queue_replay(norma_queue *queue);

/* True when the result of a task was in the journal. Local, equal on all ranks. */
bool norma_queue_was_done_local(const norma_queue *queue, int64_t task);

/* Computes the queued tasks number first .. first + n - 1 (in the order of tasks->order) that the
 * journal did not hold. NORMA_STOPPED when not all are done, otherwise the failure of the lowest
 * failing rank. Collective over the world. */
NORMA_MUST_USE norma_status norma_queue_run(norma_queue *queue, int64_t first, int64_t n);

/* --- for tasks->compute ----------------------------------------------------------------------- */

/* How many groups there are. Local, equal on all ranks. */
int64_t norma_queue_n_groups_local(const norma_queue *queue);

/* This rank's group; borrowed, valid as long as the queue. Local. */
norma_team *norma_queue_team_local(norma_queue *queue);

/* Counts `work` steps and prints progress. Returns what the task has to do now: NORMA_STOP_SAVE
 * also when the save interval is over, NORMA_STOP_END: save and return NORMA_STOPPED. Collective
 * over the group. */
norma_stop_request norma_queue_step(norma_queue *queue, int64_t work);

/* Appends the result of a finished task to this rank's journal, on the root of the group; syncs the
 * journal when the save interval is over. Local. */
NORMA_MUST_USE norma_status norma_queue_keep_local(norma_queue *queue, int64_t task,
                                                   const void *bytes, int64_t size);

/* Appends a piece of the results of the task under way to this rank's journal. Before a state is
 * saved, and before a result is kept, its pieces must be. Local. */
NORMA_MUST_USE norma_status norma_queue_keep_piece_local(norma_queue *queue, int64_t task,
                                                         const void *bytes, int64_t size);

/* Saves the state of the task under way: the root's bytes, others' are not looked at. Collective
 * over the group. */
NORMA_MUST_USE norma_status norma_queue_save(norma_queue *queue, int64_t task, const void *bytes,
                                             int64_t size);

/* Saves the state of a task that is finished, for runs that extend this one: it stays there. On the
 * root of the group. Local. */
NORMA_MUST_USE norma_status norma_queue_keep_state_local(norma_queue *queue, int64_t task,
                                                         const void *bytes, int64_t size);

/* Removes the state of a task that is finished, or not to be continued. On the root of the group,
 * or rank 0 alone. Local. */
NORMA_MUST_USE norma_status norma_queue_drop_local(norma_queue *queue, int64_t task);

/* The tasks whose states an earlier run left, ascending: (*tasks)[*n], counted memory that the
 * caller frees. Collective over the world, equal on all ranks. */
NORMA_MUST_USE norma_status norma_queue_states(norma_queue *queue, int64_t **tasks, int64_t *n);

/* The saved state of a task on all ranks of the group, counted memory that the caller frees; *bytes
 * = NULL when there is none. Collective over the group. */
NORMA_MUST_USE norma_status norma_queue_load(norma_queue *queue, int64_t task, void **bytes,
                                             int64_t *size);

#endif
