#ifndef NORMA_MPI_RUNTIME_STOP_H
#define NORMA_MPI_RUNTIME_STOP_H
/*
 * Early stops of a run: at its time limit, or on a signal.
 *
 *     SIGUSR1, SIGTERM,
 *     SIGINT, SIGHUP, SIGXCPU
 *                        save the state and leave at the next step; another one of them ends the
 *                        process at once with exit code 128 + its number, unless it comes within a
 *                        second: launchers and batch systems send one signal by several ways
 *     SIGUSR2            save the state and continue
 *
 * The handlers only set flags. One process has one set of them: open once, close before the runtime
 * is closed. A saved state must therefore be whole at any moment (io/checkpoint/checkpoint.h).
 */
#include "mpi/runtime/runtime.h"

#include <stdbool.h>

/* Requests; a larger one includes the smaller ones. */
typedef enum norma_stop_request {
    NORMA_STOP_NONE = 0,
    NORMA_STOP_SAVE = 1, /* save the state, continue */
    NORMA_STOP_END = 2   /* save the state, leave */
} norma_stop_request;

/* Installs the handlers and sets the time limit: `limit` seconds from now, or, when it is 0, what
 * SLURM_JOB_END_TIME leaves; no limit without either, nor where that time is past. A margin is
 * kept: of a given limit 5%, at most 2 s; of a job's end 10%, 5 to 60 s. Rank 0's environment and
 * clock decide. Collective over runtime->world. */
NORMA_MUST_USE norma_status norma_stop_open(const norma_runtime *runtime, double limit);

/* Puts the former handlers back, forgets limit and signals; after a signal that asked for the end
 * the handlers stay until the process ends (or opens anew), so that its echo does not change the
 * exit code. Local. */
void norma_stop_close_local(void);

/* The request of this process, by signals and by the clock: call it at every step. END stays,
 * SAVE is returned once. The time between calls is watched: END comes one longest step (and what
 * norma_stop_note_save_local was given) ahead of the limit. Costs a reading of the clock. Local. */
norma_stop_request norma_stop_look_local(void);

/* The same for ranks that step together: a signal of any rank counts, the time is that of comm's
 * rank 0. Collective over comm, equal on all its ranks. */
norma_stop_request norma_stop_agree(MPI_Comm comm);

/* Seconds that saving the state took: kept free before the limit, and not counted as a step. Local.
 */
void norma_stop_note_save_local(double seconds);

/* Seconds until the limit, margin deducted; infinity without one. Local. */
double norma_stop_seconds_left_local(void);

/* The reason of END: "SIGTERM", "SIGUSR1" or another signal, "the time limit", "another rank". A
 * constant. Local. */
const char *norma_stop_reason_local(void);

#endif
