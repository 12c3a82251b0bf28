#ifndef NORMA_MPI_RUNTIME_LOG_H
#define NORMA_MPI_RUNTIME_LOG_H
/* One voice: rank 0 speaks on stderr, the others are silent. Results meant for machines go to
 * stdout through norma_log_result. None of these functions communicates. */

#include <stdbool.h>

typedef enum norma_log_level {
    NORMA_LOG_QUIET = 0,  /* errors only */
    NORMA_LOG_NORMAL = 1, /* what the run does, once */
    NORMA_LOG_VERBOSE = 2 /* how it does it */
} norma_log_level;

/* Who speaks (the runtime sets it) and how much (the driver sets it). */
void norma_log_set_speaker_local(bool speaks);
void norma_log_set_level_local(norma_log_level level);
norma_log_level norma_log_level_local(void);
bool norma_log_speaks_local(void);

/* A line on stderr, "norma: " in front, at level NORMAL, at level VERBOSE, and a warning at any
 * level but QUIET. No newline in format. */
void norma_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void norma_log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void norma_log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A warning of this rank's own, whoever speaks. */
void norma_log_warning_local(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As norma_log_info, but a line that was printed by this function before is not printed again: for
 * what every layer or replica would say alike. It remembers the last few dozen lines. */
void norma_log_news(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line on stderr at any level: the one error message of a run. */
void norma_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Waits, some seconds at most, until a reader has taken what was printed to a pipe on stderr. A
 * launcher that ends a job because a rank failed may not read what it had not read by then. */
void norma_log_wait_for_reader_local(void);

/* False when lines of norma_log_result could not be written (a full disk). */
bool norma_log_results_arrived_local(void);

/* A line on stdout: columns separated by white space, '#' before headings. */
void norma_log_result(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
