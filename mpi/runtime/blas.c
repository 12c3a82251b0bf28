#include "mpi/runtime/blas.h"

#include "mpi/runtime/log.h"
#include "src/base/blas_kernel.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OpenBLAS's own functions; null where another library takes its place. */
extern char *openblas_get_corename(void) __attribute__((weak));
extern char *openblas_get_config(void) __attribute__((weak));
extern void openblas_set_num_threads(int n_threads) __attribute__((weak));

extern char **environ;

static const char coretype[] = "OPENBLAS_CORETYPE";
static const char refusal[] = "NORMA_NO_REEXEC";
/* Set by the first process for the second one: the kernels that OpenBLAS had chosen. */
static const char guard[] = "NORMA_REEXEC";

/* Of the processor's limit; kernels that suit it reach 0.6 to 0.95. */
static const double least_share = 1.0 / 3;

typedef enum outcome {
    FINE,    /* the kernels suit the processor, or the library is another one */
    ASKED,   /* OPENBLAS_CORETYPE came from outside */
    AGAIN,   /* this process was started again */
    FIXED,   /* the library holds one set of kernels */
    REFUSED, /* NORMA_NO_REEXEC is set */
    FAILED   /* the system refused to start the program again */
} outcome;

static struct {
    outcome outcome;
    int reason; /* errno of FAILED */
    char before[32];
} settled;

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0];
}

/* Returns only when that fails. */
static void start_again(const char *kernel, char *const *argv)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *before = openblas_get_corename();
    if (length > 0) {
        path[length] = '\0';
        if (setenv(guard, before, 1) == 0 && setenv(coretype, kernel, 1) == 0)
            execve(path, argv, environ);
    }
    settled.reason = errno;
    settled.outcome = FAILED;
    unsetenv(guard);
    unsetenv(coretype);
}

void norma_blas_restart_local(char *const *argv)
{
    norma_processor processor;
    const char *before = getenv(guard);
    if (!openblas_get_corename || !openblas_get_config)
        return;
    if (before) {
        settled.outcome = AGAIN;
        snprintf(settled.before, sizeof settled.before, "%s", before);
        unsetenv(guard);
        return;
    }
    norma_processor_read(&processor);
    const char *better = norma_blas_kernel_better(openblas_get_corename(), &processor);
    const char *stays = getenv(refusal);
    if (is_set(coretype))
        settled.outcome = ASKED;
    else if (better && !strstr(openblas_get_config(), "DYNAMIC_ARCH"))
        settled.outcome = FIXED;
    else if (better && stays && stays[0] && strcmp(stays, "0") != 0)
        settled.outcome = REFUSED;
    else if (better)
        start_again(better, argv);
}

static void warn(const char *better)
{
    const char *now = norma_blas_kernel_local();
    switch (settled.outcome) {
    case AGAIN:
        norma_log_warning("OpenBLAS uses its %s kernels, which are slow on this processor: %s=%s "
                          "had no effect; link an OpenBLAS that has those kernels",
                          now, coretype, getenv(coretype));
        break;
    case FIXED:
        norma_log_warning("OpenBLAS was built for %s processors alone and is slow on this one: "
                          "link an OpenBLAS that was built with DYNAMIC_ARCH",
                          now);
        break;
    case REFUSED:
        norma_log_warning("OpenBLAS uses its %s kernels, which are slow on this processor: set "
                          "%s=%s (%s keeps Norma from doing so)",
                          now, coretype, better, refusal);
        break;
    default:
        norma_log_warning("OpenBLAS uses its %s kernels, which are slow on this processor: set "
                          "%s=%s (Norma could not start itself again with it: %s)",
                          now, coretype, better, strerror(settled.reason));
    }
}

void norma_blas_report_local(void)
{
    norma_processor processor;
    const char *now = norma_blas_kernel_local();
    norma_processor_read(&processor);
    const char *better = norma_blas_kernel_better(now, &processor);
    if (better && settled.outcome == ASKED)
        norma_log_detail("OpenBLAS uses its %s kernels, as %s asks; %s would be faster", now,
                         coretype, better);
    else if (better && settled.outcome != FINE)
        warn(better);
    else if (settled.outcome == AGAIN)
        norma_log_detail("OpenBLAS uses its %s kernels: it had chosen %s, so Norma started itself "
                         "again with %s=%s",
                         now, settled.before, coretype, getenv(coretype));
    else
        norma_log_detail("OpenBLAS uses its %s kernels", now);
}

void norma_blas_judge_local(const char *name, double rate, double limit)
{
    if (rate < least_share * limit)
        norma_log_warning("%s reaches %.3g GFLOP/s, %.0f%% of the %.3g that the cores can do, with "
                          "OpenBLAS's %s kernels: a busy machine, or a wrong %s",
                          name, 1e-9 * rate, 100 * rate / limit, 1e-9 * limit,
                          norma_blas_kernel_local(), coretype);
}

const char *norma_blas_kernel_local(void)
{
    return openblas_get_corename ? openblas_get_corename() : "unknown";
}

void norma_blas_kernels(MPI_Comm comm, char names[static NORMA_BLAS_NAMES])
{
    enum { NAME = 32 };
    int rank = 0;
    bool listed = false;
    char name[NAME];
    MPI_Comm_rank(comm, &rank);
    names[0] = '\0';
    for (;;) { /* the lowest rank whose name is not there yet adds it */
        int next = listed ? INT_MAX : rank;
        MPI_Allreduce(MPI_IN_PLACE, &next, 1, MPI_INT, MPI_MIN, comm);
        if (next == INT_MAX)
            return;
        snprintf(name, sizeof name, "%s", norma_blas_kernel_local());
        MPI_Bcast(name, NAME, MPI_CHAR, next, comm);
        size_t length = strlen(names);
        snprintf(names + length, NORMA_BLAS_NAMES - length, "%s%s", length > 0 ? "," : "", name);
        listed = listed || strncmp(name, norma_blas_kernel_local(), NAME - 1) == 0;
    }
}

void norma_blas_set_threads_local(int n_threads)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(n_threads);
}

const char *norma_blas_config_local(void)
{
    return openblas_get_config ? openblas_get_config() : "unknown";
}
