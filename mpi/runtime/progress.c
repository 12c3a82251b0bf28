#include "mpi/runtime/progress.h"

#include "mpi/runtime/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };

static const double terminal_interval = 0.2;
static const double line_interval = 60.0;

double norma_progress_clock_local(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void norma_progress_init_local(norma_progress *progress, const char *what, const char *unit,
                               int64_t total)
{
    memset(progress, 0, sizeof *progress);
    progress->what = what;
    progress->unit = unit;
    progress->total = total;
    progress->started = norma_progress_clock_local();
    progress->reported = progress->started;
    progress->terminal = isatty(STDERR_FILENO) == 1;
}

void norma_progress_format_seconds_local(double seconds, char *text, int length)
{
    long long whole = seconds < 9e15 ? (long long)(seconds + 0.5) : 0;
    if (seconds < 60)
        snprintf(text, (size_t)length, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(text, (size_t)length, "%lld min %02lld s", whole / 60, whole % 60);
    else
        snprintf(text, (size_t)length, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
}

void norma_progress_update_local(norma_progress *progress, int64_t done)
{
    double now = norma_progress_clock_local();
    double interval = progress->terminal ? terminal_interval : line_interval;
    if (now - progress->reported < interval || !norma_log_speaks_local() ||
        norma_log_level_local() == NORMA_LOG_QUIET || done <= 0 || progress->total <= 0)
        return;
    progress->reported = now;

    double fraction = (double)done / (double)progress->total;
    double elapsed = now - progress->started;
    char left[32], rate[64];
    norma_progress_format_seconds_local(elapsed * (1 - fraction) / fraction, left, sizeof left);
    if (progress->unit)
        snprintf(rate, sizeof rate, "%.3g %s/s", (double)done / elapsed, progress->unit);
    else
        snprintf(rate, sizeof rate, "%.3g GFLOP/s", 1e-9 * (double)done / elapsed);
    if (progress->terminal) {
        char bar[BAR_WIDTH + 1];
        int filled = (int)(fraction * BAR_WIDTH);
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', (size_t)(filled < BAR_WIDTH ? filled : BAR_WIDTH));
        bar[BAR_WIDTH] = '\0';
        fprintf(stderr, "\r%s [%s] %3.0f%%, %s, %s left\033[K", progress->what, bar, 100 * fraction,
                rate, left);
        fflush(stderr);
        progress->drawn = true;
    } else if (progress->unit) {
        norma_log_info("%s: %lld of %lld (%.0f%%), %s, %s left", progress->what, (long long)done,
                       (long long)progress->total, 100 * fraction, rate, left);
    } else {
        norma_log_info("%s: %.0f%%, %s, %s left", progress->what, 100 * fraction, rate, left);
    }
}

void norma_progress_finish_local(norma_progress *progress)
{
    if (progress->drawn) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
        progress->drawn = false;
    }
}
