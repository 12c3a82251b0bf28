/* The queue of tasks: each done once by someone, failures and stops reach everybody. */
#include "tests/harness/mpi_harness.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "mpi/runtime/replicas.h"

#include <signal.h>
#include <string.h>
#include <time.h>

enum { MOST_TICKETS = 512 };

typedef struct work {
    norma_replicas *replicas;
    int done[MOST_TICKETS]; /* by this rank as a group's root */
    int64_t failing;        /* ticket, -1 none */
    int64_t endless;        /* tickets from here on only poll until they are stopped */
    int64_t signalling;     /* ticket whose root sends itself SIGUSR1 */
    int saves;
} work;

static norma_status do_ticket(void *context, int64_t ticket)
{
    work *w = context;
    bool root = norma_replicas_group_rank_local(w->replicas) == 0;
    if (ticket == w->failing)
        return root ? NORMA_FAIL(NORMA_NUMERIC, "ticket %lld fails", (long long)ticket) : NORMA_OK;
    if (ticket == w->signalling && root)
        raise(SIGUSR1);
    norma_stop_request request = norma_replicas_poll(w->replicas, 3);
    double give_up = norma_progress_clock_local() + 20;
    while (ticket >= w->endless && request != NORMA_STOP_END &&
           norma_progress_clock_local() < give_up) {
        w->saves += request == NORMA_STOP_SAVE;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        request = norma_replicas_poll(w->replicas, 0);
    }
    if (request == NORMA_STOP_END)
        return NORMA_STOPPED;
    if (root)
        w->done[ticket]++;
    return NORMA_OK;
}

static norma_status run(work *w, int64_t group_size, int64_t n_tickets)
{
    norma_status status =
        norma_replicas_create(norma_test_runtime->world, group_size, &w->replicas);
    if (status == NORMA_OK)
        status = norma_replicas_run(w->replicas, n_tickets, do_ticket, w);
    return status;
}

static work fresh(void)
{
    work w;
    memset(&w, 0, sizeof w);
    w.failing = -1;
    w.signalling = -1;
    w.endless = MOST_TICKETS;
    return w;
}

static void test_every_ticket_once(void **state)
{
    (void)state;
    for (int64_t group = 1; group <= norma_test_runtime->size; group++) {
        work w = fresh();
        int all[MOST_TICKETS];
        norma_test_ok_all(run(&w, group, 401));
        MPI_Allreduce(w.done, all, MOST_TICKETS, MPI_INT, MPI_SUM, norma_test_runtime->world);
        bool once = true;
        for (int i = 0; i < MOST_TICKETS; i++)
            once = once && all[i] == (i < 401 ? 1 : 0);
        norma_test_check_all(once);
        norma_test_check_all(norma_replicas_n_groups_local(w.replicas) ==
                             norma_test_runtime->size / (int)group);
        int64_t work_done = norma_replicas_work_local(w.replicas);
        MPI_Allreduce(MPI_IN_PLACE, &work_done, 1, MPI_INT64_T, MPI_MAX, norma_test_runtime->world);
        norma_test_check_all(work_done == 3 * 401);
        norma_replicas_destroy(&w.replicas);
    }
}

/* An object runs further tickets from the first one, and goes on counting work. */
static void test_runs_again(void **state)
{
    (void)state;
    work w = fresh();
    int all[MOST_TICKETS];
    norma_test_ok_all(run(&w, 1, 7));
    norma_test_ok_all(norma_replicas_run(w.replicas, 0, do_ticket, &w));
    norma_test_ok_all(norma_replicas_run(w.replicas, 11, do_ticket, &w));
    MPI_Allreduce(w.done, all, MOST_TICKETS, MPI_INT, MPI_SUM, norma_test_runtime->world);
    for (int i = 0; i < 12; i++)
        norma_test_check_all(all[i] == (i < 7) + (i < 11));
    int64_t work_done = norma_replicas_work_local(w.replicas);
    MPI_Allreduce(MPI_IN_PLACE, &work_done, 1, MPI_INT64_T, MPI_MAX, norma_test_runtime->world);
    norma_test_check_all(work_done == 3 * 18);
    norma_replicas_destroy(&w.replicas);
}

static void test_fewer_tickets_than_groups(void **state)
{
    (void)state;
    for (int n = 0; n < 2; n++) {
        work w = fresh();
        norma_test_ok_all(run(&w, 1, n));
        norma_replicas_destroy(&w.replicas);
    }
}

/* Whatever else runs for ever is stopped, and the cause is what all report. */
static void test_failure_stops_all(void **state)
{
    (void)state;
    for (int64_t group = 1; group <= 2 && group <= norma_test_runtime->size; group++) {
        work w = fresh();
        w.failing = norma_test_runtime->size / group - 1;
        w.endless = 0;
        if (norma_test_runtime->size / group < 2)
            w.endless = 1;
        norma_test_fails_all(run(&w, group, 50), NORMA_NUMERIC, "fails");
        norma_replicas_destroy(&w.replicas);
    }
}

static void test_signal_of_one_stops_all(void **state)
{
    (void)state;
    work w = fresh();
    w.endless = 0;
    w.signalling = norma_test_runtime->size - 1;
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    norma_status status = run(&w, 1, 50);
    norma_test_check_all(status == NORMA_STOPPED);
    norma_test_check_all(norma_status_error()->status == NORMA_OK);
    norma_stop_close_local();
    norma_replicas_destroy(&w.replicas);
}

static void test_time_stops_all(void **state)
{
    (void)state;
    work w = fresh();
    w.endless = 0;
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 1));
    if (norma_test_runtime->rank == 0)
        raise(SIGUSR2); /* everybody saves, the run goes on until its limit */
    norma_status status = run(&w, 1, 50);
    norma_test_check_all(status == NORMA_STOPPED);
    norma_test_check_all(norma_test_runtime->size == 1 || w.saves == 1 ||
                         norma_test_runtime->rank == 0);
    norma_stop_close_local();
    norma_replicas_destroy(&w.replicas);
}

static void test_impossible_groups(void **state)
{
    (void)state;
    work w = fresh();
    norma_test_fails_all(run(&w, norma_test_runtime->size + 1, 1), NORMA_USAGE, "groups of");
    norma_test_fails_all(run(&w, 0, 1), NORMA_USAGE, "groups of 0");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_ticket_once),         cmocka_unit_test(test_runs_again),
    cmocka_unit_test(test_fewer_tickets_than_groups), cmocka_unit_test(test_failure_stops_all),
    cmocka_unit_test(test_signal_of_one_stops_all),   cmocka_unit_test(test_time_stops_all),
    cmocka_unit_test(test_impossible_groups),
};

norma_test_main_mpi("mpi.replicas", tests)
