/* experiments/job/queue: every task is computed once by one group, in the order asked for, also
 * across a stop and a resume by groups of another size; a failure keeps what was done. */
#include "tests/harness/mpi_harness.h"

#include "experiments/job/queue.h"
#include "mpi/runtime/stop.h"
#include "src/base/mem.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { N_TASKS = 23, N_STEPS = 5, NONE = -1 };

typedef struct work {
    norma_queue *queue;
    norma_checkpoint *checkpoint;
    int64_t signalling;    /* its root sends itself SIGUSR1 in the middle */
    int64_t failing;       /* it fails at its end */
    double found[N_TASKS]; /* results, where this rank found or replayed them; 0 elsewhere */
    double times[N_TASKS]; /* how often it did */
    double begun[N_TASKS]; /* steps that a saved state had, on the root */
    int64_t sequence[N_TASKS];
    int n_sequence;
    int n_saves;
} work;

/* How far a task is. */
typedef struct state {
    int64_t step;
    double sum;
} state;

static double term(int64_t task, int64_t step)
{
    return sin(1.0 + (double)task) / (1.0 + (double)step);
}

static double expected(int64_t task)
{
    double sum = 0;
    for (int64_t step = 0; step < N_STEPS; step++)
        sum += term(task, step);
    return sum;
}

static norma_status begin(work *w, int64_t task, state *now)
{
    void *bytes = NULL;
    int64_t size = 0;
    *now = (state){0, 0};
    NORMA_TRY(norma_queue_load(w->queue, task, &bytes, &size));
    if (!bytes)
        return NORMA_OK;
    if (size == (int64_t)sizeof *now)
        memcpy(now, bytes, sizeof *now);
    norma_mem_free(bytes);
    return NORMA_OK;
}

static norma_status compute(void *context, int64_t task)
{
    work *w = context;
    state now;
    bool root = norma_team_is_root_local(norma_queue_team_local(w->queue));
    NORMA_TRY(begin(w, task, &now));
    if (root)
        w->begun[task] = (double)now.step;
    w->sequence[w->n_sequence++] = task;
    while (now.step < N_STEPS) {
        now.sum += term(task, now.step++);
        if (task == w->signalling && now.step == 2 && root)
            raise(SIGUSR1);
        norma_stop_request request = norma_queue_step(w->queue, 1);
        w->n_saves += request == NORMA_STOP_SAVE;
        if (request != NORMA_STOP_NONE)
            NORMA_TRY(norma_queue_save(w->queue, task, &now, (int64_t)sizeof now));
        if (request == NORMA_STOP_END)
            return NORMA_STOPPED;
    }
    if (!root)
        return NORMA_OK;
    if (task == w->failing)
        return NORMA_FAIL(NORMA_NUMERIC, "task %lld fails", (long long)task);
    w->found[task] = now.sum;
    w->times[task]++;
    return norma_queue_keep_local(w->queue, task, &now.sum, (int64_t)sizeof now.sum);
}

static norma_status replay(void *context, int64_t task, const void *bytes, int64_t size)
{
    work *w = context;
    if (size != (int64_t)sizeof(double))
        return NORMA_FAIL(NORMA_CONFIG, "task %lld has %lld bytes", (long long)task,
                          (long long)size);
    memcpy(&w->found[task], bytes, sizeof(double));
    w->times[task]++;
    return NORMA_OK;
}

/* A queue on a new checkpoint, or on the one that an earlier queue left. */
static void open_queue(work *w, bool resume, int64_t group_size, double interval,
                       const int64_t *order)
{
    static const char *const no_keys[] = {NULL};
    const norma_checkpoint_options how = {.resume = resume,
                                          .force = !resume,
                                          .configuration = "test:\n  seed: 1\n",
                                          .free_keys = no_keys};
    const norma_queue_tasks tasks = {.n_tasks = N_TASKS,
                                     .n_queued = N_TASKS,
                                     .order = order,
                                     .name = "tasks",
                                     .step = "steps",
                                     .step_unit = "step",
                                     .context = w,
                                     .compute = compute,
                                     .replay = replay};
    char output[64];
    memset(w, 0, sizeof *w);
    w->signalling = w->failing = NONE;
    norma_status_clear();
    snprintf(output, sizeof output, "test_queue_%d.h5", norma_test_runtime->size);
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    norma_test_ok_all(
        norma_checkpoint_open(norma_test_runtime->world, output, &how, &w->checkpoint));
    const norma_queue_options options = {.world = norma_test_runtime->world,
                                         .group_size = group_size,
                                         .checkpoint = w->checkpoint,
                                         .save_interval = interval};
    norma_test_ok_all(norma_queue_create(&options, &tasks, &w->queue));
    norma_test_ok_all(norma_queue_replay(w->queue));
}

static void close_queue(work *w, bool finished)
{
    norma_queue_destroy(&w->queue);
    (void)norma_checkpoint_close(&w->checkpoint, finished);
    norma_stop_close_local();
}

/* numbers[N_TASKS] of all ranks added up. */
static void add_up(double *numbers)
{
    norma_replicas_collect(norma_test_runtime->world, N_TASKS, numbers);
}

/* Every task was found once, with the bits of its own sum. */
static void check_results(work *w)
{
    add_up(w->found);
    add_up(w->times);
    for (int64_t task = 0; task < N_TASKS; task++) {
        if (w->times[task] != 1 || w->found[task] != expected(task))
            print_error("task %lld: found %g times, %.17g, expected once, %.17g\n", (long long)task,
                        w->times[task], w->found[task], expected(task));
        norma_test_check_all(w->times[task] == 1);
        norma_test_check_all(w->found[task] == expected(task));
    }
}

static void test_every_task_once(void **unused)
{
    (void)unused;
    for (int64_t group = 1; group <= norma_test_runtime->size; group++) {
        work w;
        open_queue(&w, false, group, 1e9, NULL);
        norma_test_ok_all(norma_queue_run(w.queue, 0, N_TASKS));
        norma_test_check_all(w.n_saves == 0);
        check_results(&w);
        close_queue(&w, true);
    }
}

/* All ranks as one group: the order is that of the list, also when it is run in parts. */
static void test_order_and_parts(void **unused)
{
    (void)unused;
    int64_t order[N_TASKS];
    work w;
    for (int i = 0; i < N_TASKS; i++)
        order[i] = 7 * i % N_TASKS;
    open_queue(&w, false, norma_test_runtime->size, 1e9, order);
    norma_test_ok_all(norma_queue_run(w.queue, 0, 5));
    norma_test_check_all(w.n_sequence == 5);
    norma_test_ok_all(norma_queue_run(w.queue, 5, N_TASKS - 5));
    norma_test_check_all(w.n_sequence == N_TASKS);
    for (int i = 0; i < N_TASKS; i++)
        norma_test_check_all(w.sequence[i] == order[i]);
    check_results(&w);
    close_queue(&w, true);
}

/* An interval of no length asks for a save at every step. */
static void test_save_interval(void **unused)
{
    (void)unused;
    work w;
    open_queue(&w, false, norma_test_runtime->size, 0, NULL);
    norma_test_ok_all(norma_queue_run(w.queue, 0, 3));
    norma_test_check_all(w.n_saves == 3 * N_STEPS);
    close_queue(&w, true);
}

/* Stopped by a signal in the middle of a task, resumed by groups of any other size. */
static void test_stop_and_resume(void **unused)
{
    (void)unused;
    int size = norma_test_runtime->size;
    for (int64_t group = 1; group <= size; group++) {
        work w;
        open_queue(&w, false, group, 1e9, NULL);
        w.signalling = 4;
        norma_status status = norma_queue_run(w.queue, 0, N_TASKS);
        norma_test_check_all(status == NORMA_STOPPED);
        close_queue(&w, false);

        open_queue(&w, true, size + 1 - group, 1e9, NULL);
        norma_test_check_all(!norma_queue_was_done_local(w.queue, 4));
        norma_test_ok_all(norma_queue_run(w.queue, 0, N_TASKS));
        add_up(w.begun);
        norma_test_check_all(w.begun[4] == 2);
        check_results(&w);
        close_queue(&w, true);
    }
}

static void test_failure_keeps_the_rest(void **unused)
{
    (void)unused;
    int64_t n_done = 0;
    work w;
    open_queue(&w, false, norma_test_runtime->size, 1e9, NULL);
    w.failing = 3;
    norma_test_fails_all(norma_queue_run(w.queue, 0, N_TASKS), NORMA_NUMERIC, "task 3 fails");
    close_queue(&w, false);
    open_queue(&w, true, 1, 1e9, NULL);
    for (int64_t task = 0; task < N_TASKS; task++)
        n_done += norma_queue_was_done_local(w.queue, task);
    norma_test_check_all(n_done == 3);
    norma_test_ok_all(norma_queue_run(w.queue, 0, N_TASKS));
    check_results(&w);
    close_queue(&w, true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_task_once),        cmocka_unit_test(test_order_and_parts),
    cmocka_unit_test(test_save_interval),          cmocka_unit_test(test_stop_and_resume),
    cmocka_unit_test(test_failure_keeps_the_rest),
};

norma_test_main_mpi("experiments.queue", tests)
