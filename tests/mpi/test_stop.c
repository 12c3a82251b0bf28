/* Signals and the time limit, as one process and as several see them. */
#include "tests/harness/mpi_harness.h"

#include "mpi/runtime/progress.h"
#include "mpi/runtime/stop.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void wait_seconds(double seconds)
{
    double end = norma_progress_clock_local() + seconds;
    while (norma_progress_clock_local() < end)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_nothing_is_asked(void **state)
{
    (void)state;
    unsetenv("SLURM_JOB_END_TIME");
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    norma_test_check_all(norma_stop_look_local() == NORMA_STOP_NONE);
    norma_test_check_all(isinf(norma_stop_seconds_left_local()));
    norma_test_fails_all(norma_stop_open(norma_test_runtime, 0), NORMA_LIBRARY, "already");
    norma_stop_close_local();
}

/* A signal to one rank reaches all; SAVE is returned once, END stays. */
static void test_signals_of_one_rank(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    int last = norma_test_runtime->size - 1;
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    if (norma_test_runtime->rank == last)
        raise(SIGUSR2);
    norma_test_check_all(norma_stop_agree(world) == NORMA_STOP_SAVE);
    norma_test_check_all(norma_stop_agree(world) == NORMA_STOP_NONE);
    static const int ends[] = {SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGXCPU};
    static const char *const names[] = {"SIGUSR1", "SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU"};
    for (int k = 0; k < 5; k++) {
        if (norma_test_runtime->rank == last)
            raise(ends[k]);
        norma_test_check_all(norma_stop_agree(world) == NORMA_STOP_END);
        norma_test_check_all(norma_stop_agree(world) == NORMA_STOP_END);
        norma_test_check_all(norma_test_runtime->rank != last ||
                             norma_test_contains(norma_stop_reason_local(), names[k]));
        norma_stop_close_local();
        norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    }
    norma_stop_close_local();
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    norma_test_check_all(norma_stop_agree(world) == NORMA_STOP_NONE);
    norma_stop_close_local();
}

static void test_time_limit(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 2));
    norma_test_check_all(norma_stop_agree(world) == NORMA_STOP_NONE);
    double left = norma_stop_seconds_left_local();
    norma_test_check_all(left <= 1.9 && left > 0.5);
    norma_stop_note_save_local(30); /* a save does not fit any more */
    norma_test_check_all(norma_stop_agree(world) == NORMA_STOP_END);
    norma_test_check_all(norma_test_contains(norma_stop_reason_local(), "time limit"));
    norma_stop_close_local();
}

/* A step that took 0.4 s is not begun when 0.3 s are left. */
static void test_longest_step_is_kept_free(void **state)
{
    (void)state;
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 1.2));
    (void)norma_stop_look_local();
    wait_seconds(0.6);
    norma_test_check_all(norma_stop_look_local() == NORMA_STOP_END);
    norma_stop_close_local();
}

static void test_end_of_the_job(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)time(NULL) + 1000);
    setenv("SLURM_JOB_END_TIME", text, 1);
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    double left = norma_stop_seconds_left_local();
    norma_test_check_all(left > 900 && left <= 940);
    norma_stop_close_local();
    snprintf(text, sizeof text, "%lld", (long long)time(NULL) - 1000);
    setenv("SLURM_JOB_END_TIME", text, 1); /* of another job */
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    norma_test_check_all(isinf(norma_stop_seconds_left_local()));
    norma_test_check_all(norma_stop_agree(norma_test_runtime->world) == NORMA_STOP_NONE);
    norma_stop_close_local();
    setenv("SLURM_JOB_END_TIME", "soon", 1);
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    norma_test_check_all(isinf(norma_stop_seconds_left_local()));
    norma_stop_close_local();
    unsetenv("SLURM_JOB_END_TIME");
}

/* The exit of a child that gets SIGUSR1 and, `wait` seconds later, SIGTERM. */
static int fate_of_child(double wait, bool closes)
{
    int how = 0;
    pid_t child = fork();
    if (child == 0) {
        raise(SIGUSR1);
        if (norma_stop_look_local() != NORMA_STOP_END)
            _exit(1);
        if (closes)
            norma_stop_close_local();
        wait_seconds(wait);
        raise(SIGTERM);
        _exit(75);
    }
    bool waited = child > 0 && waitpid(child, &how, 0) == child;
    return waited && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* The second signal ends the process itself, whatever it is doing; the echo of the first one does
 * not, neither while the run stops nor after. Looked at from the parent. */
static void test_second_signal(void **state)
{
    (void)state;
    norma_test_ok_all(norma_stop_open(norma_test_runtime, 0));
    norma_test_check_all(fate_of_child(0, false) == 75);
    norma_test_check_all(fate_of_child(0.3, true) == 75);
    norma_test_check_all(fate_of_child(1.2, false) == 128 + SIGTERM);
    norma_stop_close_local();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nothing_is_asked), cmocka_unit_test(test_signals_of_one_rank),
    cmocka_unit_test(test_time_limit),       cmocka_unit_test(test_longest_step_is_kept_free),
    cmocka_unit_test(test_end_of_the_job),   cmocka_unit_test(test_second_signal),
};

norma_test_main_mpi("mpi.stop", tests)
