#ifndef NORMA_MPI_RUNTIME_PROGRESS_H
#define NORMA_MPI_RUNTIME_PROGRESS_H
/*
 * Progress of a loop with a known number of steps, which rank 0 prints to stderr: a bar with rate
 * and time left on a terminal, one line a minute elsewhere, nothing under --quiet. Nothing here
 * communicates.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_progress {
    const char *what; /* "solving layers"; borrowed */
    const char *unit; /* "layer"; borrowed; NULL: floating-point operations */
    int64_t total;    /* steps */
    double started;   /* seconds, monotonic clock */
    double reported;  /* when the last line was printed */
    bool terminal;    /* stderr is a terminal */
    bool drawn;       /* a bar is on it */
} norma_progress;

/* Seconds on the monotonic clock. */
double norma_progress_clock_local(void);

/* Begins now; the fields of norma_progress say what the parameters are. */
void norma_progress_init_local(norma_progress *progress, const char *what, const char *unit,
                               int64_t total);

/* `done` of total steps are finished. Cheap enough for every step. */
void norma_progress_update_local(norma_progress *progress, int64_t done);

/* Clears the bar. */
void norma_progress_finish_local(norma_progress *progress);

/* Writes "1 h 02 min", "3 min 20 s" or "4.1 s" into text [length]. */
void norma_progress_format_seconds_local(double seconds, char *text, int length);

#endif
