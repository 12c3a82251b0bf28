#include "mpi/runtime/stop.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_SIGNALS = 6, SHELL_SIGNAL_BASE = 128 };
static const int numbers[N_SIGNALS] = {SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGHUP, SIGXCPU};
static const char *const names[N_SIGNALS] = {"SIGTERM", "SIGUSR1", "SIGUSR2",
                                             "SIGINT",  "SIGHUP",  "SIGXCPU"};

/* Seconds within which a repeated signal is the first one again: launchers and batch systems send a
 * signal to a process by several ways. */
static const double same_signal = 1;

static volatile sig_atomic_t end_signal; /* the first one that asks for the end */
static struct timespec end_time;         /* when it came; set ahead of end_signal */
static volatile sig_atomic_t n_saves;    /* counted by the handler */
static sig_atomic_t n_saves_told;

static struct sigaction former[N_SIGNALS];
static bool installed, is_open; /* handlers stay behind the end of a run that was stopped */
static double deadline = INFINITY;
static double last_look;    /* 0 before the first */
static double longest_step; /* seconds between two looks */
static double longest_save;

/* Nothing here but what a handler may do. */
static void handle(int number)
{
    struct timespec now;
    if (number == SIGUSR2) {
        n_saves++;
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (end_signal == 0) {
        end_time = now;
        end_signal = number;
        return;
    }
    double since =
        (double)(now.tv_sec - end_time.tv_sec) + 1e-9 * (double)(now.tv_nsec - end_time.tv_nsec);
    if (since >= same_signal)
        _exit(SHELL_SIGNAL_BASE + number);
}

/* Seconds that remain by rank 0's word; infinity without a limit. */
static double seconds_allowed_local(double limit)
{
    const char *text = getenv("SLURM_JOB_END_TIME");
    char *end = NULL;
    if (limit > 0)
        return limit - fmin(2, 0.05 * limit);
    if (!text)
        return INFINITY;
    double job_end = strtod(text, &end);
    if (end == text || *end || !(job_end > 0))
        return INFINITY;
    double left = job_end - (double)time(NULL);
    if (left <= 0) {
        norma_log_info("SLURM_JOB_END_TIME is %.0f seconds ago, so it is of another job and is "
                       "ignored",
                       -left);
        return INFINITY;
    }
    return left - fmin(60, fmax(5, 0.1 * left));
}

norma_status norma_stop_open(const norma_runtime *runtime, double limit)
{
    struct sigaction action;
    norma_status status = NORMA_OK;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_SIGNALS; i++)
        sigaddset(&action.sa_mask, numbers[i]);
    if (is_open)
        status = NORMA_FAIL(NORMA_LIBRARY, "the signal handlers are installed already");
    end_signal = is_open ? end_signal : 0;
    is_open = true;
    for (int i = 0; i < N_SIGNALS && status == NORMA_OK && !installed; i++) {
        bool good = sigaction(numbers[i], NULL, &former[i]) == 0;
        /* A signal that is ignored, as nohup does with SIGHUP, stays so. */
        if (!good || (former[i].sa_handler != SIG_IGN && sigaction(numbers[i], &action, NULL) != 0))
            status = NORMA_FAIL(NORMA_LIBRARY, "signal %d cannot be handled", numbers[i]);
    }
    installed = installed || status == NORMA_OK;

    double allowed = seconds_allowed_local(limit);
    MPI_Bcast(&allowed, 1, MPI_DOUBLE, 0, runtime->world);
    deadline = norma_progress_clock_local() + allowed;
    last_look = 0;
    longest_step = 0;
    longest_save = 0;
    return norma_agree(runtime->world, status);
}

void norma_stop_close_local(void)
{
    /* After a stop the same signal may still come by another way: it must not spoil the exit code.
     */
    bool stays = end_signal != 0;
    for (int i = 0; i < N_SIGNALS && installed && !stays; i++)
        sigaction(numbers[i], &former[i], NULL);
    installed = installed && stays;
    is_open = false;
    deadline = INFINITY;
    n_saves = 0;
    n_saves_told = 0;
}

/* Would another step end behind the limit? */
static bool is_late_local(void)
{
    double now = norma_progress_clock_local();
    if (last_look > 0 && now - last_look > longest_step)
        longest_step = now - last_look;
    last_look = now;
    return now + longest_step + longest_save >= deadline;
}

static norma_stop_request look_at_signals_local(void)
{
    if (end_signal != 0)
        return NORMA_STOP_END;
    if (n_saves == n_saves_told)
        return NORMA_STOP_NONE;
    n_saves_told = n_saves;
    return NORMA_STOP_SAVE;
}

norma_stop_request norma_stop_look_local(void)
{
    bool late = is_late_local();
    norma_stop_request request = look_at_signals_local();
    return late ? NORMA_STOP_END : request;
}

norma_stop_request norma_stop_agree(MPI_Comm comm)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    bool late = is_late_local();
    int request = (int)look_at_signals_local();
    if (rank == 0 && late)
        request = NORMA_STOP_END;
    MPI_Allreduce(MPI_IN_PLACE, &request, 1, MPI_INT, MPI_MAX, comm);
    return (norma_stop_request)request;
}

void norma_stop_note_save_local(double seconds)
{
    longest_save = fmax(longest_save, seconds);
    last_look = norma_progress_clock_local();
}

double norma_stop_seconds_left_local(void)
{
    return deadline - norma_progress_clock_local();
}

const char *norma_stop_reason_local(void)
{
    for (int i = 0; i < N_SIGNALS; i++)
        if (end_signal == numbers[i])
            return names[i];
    return norma_progress_clock_local() + longest_step + longest_save >= deadline ? "the time limit"
                                                                                  : "another rank";
}
