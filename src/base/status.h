#ifndef NORMA_BASE_STATUS_H
#define NORMA_BASE_STATUS_H
/*
 * Statuses and the process's first-error record.
 *
 * Whatever can fail returns a norma_status. The place that detects a failure calls NORMA_FAIL,
 * which writes the record once; later failures of the same process do not overwrite it, so that the
 * message finally shown is the cause and not a consequence. mpi/runtime/agree.h carries a record
 * across ranks.
 */

#define NORMA_MUST_USE __attribute__((warn_unused_result))

/* The one list of statuses: X(name, exit code, text). Exit codes are those of the command line. */
#define NORMA_STATUS_LIST(X)                                                                       \
    X(OK, 0, "success")                                                                            \
    X(USAGE, 2, "bad usage")                                                                       \
    X(CONFIG, 2, "bad input")                                                                      \
    X(MEMORY, 3, "out of memory")                                                                  \
    X(LIMIT, 3, "over a limit")                                                                    \
    X(NUMERIC, 4, "numerical failure")                                                             \
    X(LIBRARY, 4, "library failure")                                                               \
    X(IO, 5, "input/output failure")                                                               \
    X(STOPPED, 75, "stopped early, state saved")                                                   \
    X(DIFFERENT, 1, "files differ")

#define NORMA_STATUS_ENUM(name, exit_code, text) NORMA_##name,
typedef enum norma_status { NORMA_STATUS_LIST(NORMA_STATUS_ENUM) NORMA_N_STATUS } norma_status;
#undef NORMA_STATUS_ENUM

/* Longest message kept, bytes with the closing zero; longer ones are cut. */
#define NORMA_MESSAGE_LENGTH 1024

/* The first error of this process. `where` is "file:line", shown with --verbose. */
typedef struct norma_error {
    norma_status status;
    char where[96];
    char message[NORMA_MESSAGE_LENGTH];
} norma_error;

/* The exit code of a status (0 for NORMA_OK). */
int norma_status_exit_code(norma_status status);

/* The text of a status; a constant string. */
const char *norma_status_text(norma_status status);

/* Fills the process's record unless it holds an error already; returns `status`. Thread-safe: of
 * several threads that fail at once, one is recorded. Use through NORMA_FAIL. */
norma_status norma_status_fail(norma_status status, const char *file, int line, const char *format,
                               ...) __attribute__((format(printf, 4, 5)));

/* Puts `context` ("layers/003: ") in front of the recorded message, if there is one. Returns
 * `status`, so that a caller can name what it was doing: return norma_status_context(s, ...). */
norma_status norma_status_context(norma_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The process's record; status NORMA_OK when nothing failed. Borrowed, valid for the process. */
const norma_error *norma_status_error(void);

/* Replaces the record (with one received from another rank). */
void norma_status_set_error(const norma_error *error);

/* Empties the record; for callers that handled the failure, and for tests. */
void norma_status_clear(void);

#ifdef __clang_analyzer__ /* which cannot see in other files that the code comes back */
#define NORMA_FAIL(status, ...)                                                                    \
    (norma_status_fail((status), __FILE__, __LINE__, __VA_ARGS__), (status))
#else
#define NORMA_FAIL(status, ...) norma_status_fail((status), __FILE__, __LINE__, __VA_ARGS__)
#endif

/* Returns from the calling function on failure; only where nothing is held. */
#define NORMA_TRY(call)                                                                            \
    do {                                                                                           \
        norma_status norma_try_status = (call);                                                    \
        if (norma_try_status != NORMA_OK)                                                          \
            return norma_try_status;                                                               \
    } while (0)

/* Leaves for the `done:` label on failure; `status` is the function's status variable. */
#define NORMA_GOTO(status, call)                                                                   \
    do {                                                                                           \
        (status) = (call);                                                                         \
        if ((status) != NORMA_OK)                                                                  \
            goto done;                                                                             \
    } while (0)

#endif
