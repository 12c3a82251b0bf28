#ifndef NORMA_MPI_RUNTIME_PROGRESS_H
#define NORMA_MPI_RUNTIME_PROGRESS_H
/* Progress of a loop with a known number of steps, on stderr from rank 0: a bar with rate and time
 * left on a terminal, a line a minute otherwise; silent under --quiet. Nothing here communicates.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_progress {
    const char *what; /* "solving layers"; borrowed */
    const char *unit; /* "layer"; borrowed; NULL: floating-point operations */
    int64_t total;
    double started;  /* seconds, monotonic clock */
    double reported; /* when the last line was printed */
    bool terminal;
    bool drawn;
} norma_progress;

/* Seconds on the monotonic clock. */
double norma_progress_clock_local(void);

void norma_progress_init_local(norma_progress *progress, const char *what, const char *unit,
                               int64_t total);

/* `done` of total steps are finished. Cheap enough for every step. */
void norma_progress_update_local(norma_progress *progress, int64_t done);

/* Clears the bar. */
void norma_progress_finish_local(norma_progress *progress);

/* "1 h 02 min", "3 min 20 s", "4.1 s" into text. */
void norma_progress_format_seconds_local(double seconds, char *text, int length);

#endif
