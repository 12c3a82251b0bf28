#ifndef NORMA_IO_CHECKPOINT_CHECKPOINT_H
#define NORMA_IO_CHECKPOINT_CHECKPOINT_H
/*
 * The state of an unfinished run, in the folder FILE.ckpt beside its result FILE:
 *
 *     configuration     what the run computes; a resume with another one is refused
 *     done-NNNNNN       journals, one a writing process: the results of finished tasks, appended,
 * and before them what a long task wrote piece by piece task-N.0, .1      the state of a task under
 * way, two generations
 *
 * A run that resumes makes its result file anew from the journals, so that nothing depends on what
 * a killed run left in FILE.part, and goes on from the states. Journals and states do not know how
 * many ranks wrote them. Every entry and file carries a checksum over its content, its task and the
 * configuration: what a kill or a full disk cut off is recognized and counts as not there. States
 * are written beside, synced and renamed over the older generation. The configuration also names
 * the kernels of BLAS: a resume with others is allowed, and warned of.
 *
 * Content is opaque and in this machine's own representation.
 */
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_checkpoint norma_checkpoint;

/* How a run takes over the results of a smaller one that it extends. Called on rank 0. */
typedef struct norma_checkpoint_growth {
    void *context; /* handed to the functions; borrowed */
    /* The number in this run of a finished task, of the task of a piece, of a state; negative where
     * it is not taken over. */
    int64_t (*task)(const void *context, int64_t task);
    int64_t (*piece)(const void *context, int64_t task);
    int64_t (*state)(const void *context, int64_t state);
    /* Change the bytes of a piece, which may become fewer, or of a state in place; NULL: they stay.
     */
    norma_status (*change_piece)(const void *context, int64_t task, void *bytes, int64_t *size);
    norma_status (*change_state)(const void *context, int64_t state, void *bytes, int64_t size);
} norma_checkpoint_growth;

typedef struct norma_checkpoint_options {
    bool resume;                  /* continue from an existing one; there need not be any */
    bool force;                   /* without resume: an existing one is removed */
    const char *configuration;    /* norma_config_write's text, and further "  key: value" lines */
    const char *const *free_keys; /* NULL-terminated: may differ on resume ("output") */
    const norma_checkpoint_growth *growth; /* of a resume that extends the run; else NULL */
} norma_checkpoint_options;

/* A hash of content, for lines of the configuration. Local. */
uint64_t norma_checkpoint_hash_local(const void *bytes, int64_t size);

/* The value of a key in the configuration of the checkpoint of `output`, a counted text; *value =
 * NULL when there is no checkpoint or no such key. Collective over world, equal on all ranks. */
NORMA_MUST_USE norma_status norma_checkpoint_recall(MPI_Comm world, const char *output,
                                                    const char *key, char **value);

/* The configuration in the checkpoint of `output`, a counted text; *text = NULL when there is none.
 * Collective over world, equal on all ranks. */
NORMA_MUST_USE norma_status norma_checkpoint_configuration(MPI_Comm world, const char *output,
                                                           char **text);

/* Puts in order the folders of `output` that a run left which was killed while it extended another:
 * nothing is lost. No other run may write this output. Collective. */
NORMA_MUST_USE norma_status norma_checkpoint_recover(MPI_Comm world, const char *output);

/* *out: does the checkpoint of `output` hold a result of a task? Collective, equal on all ranks. */
NORMA_MUST_USE norma_status norma_checkpoint_has_results(MPI_Comm world, const char *output,
                                                         bool *out);

/* Only what open refuses: NORMA_CONFIG when there is a checkpoint and neither resume nor force,
 * when it is of another configuration (naming the keys that differ), or is damaged.
 * Collective. */
NORMA_MUST_USE norma_status norma_checkpoint_check(MPI_Comm world, const char *output,
                                                   const norma_checkpoint_options *options);

/* Makes the folder, or finds it. With options->growth what it holds is copied to FILE.ckpt.grown,
 * which takes its place when norma_checkpoint_replay has read all of it back; before, FILE.ckpt
 * stays as it was. Collective over world, arguments equal; caller owns *out. Errors of
 * norma_checkpoint_check; NORMA_IO when it cannot be written. */
NORMA_MUST_USE norma_status norma_checkpoint_open(MPI_Comm world, const char *output,
                                                  const norma_checkpoint_options *options,
                                                  norma_checkpoint **out);

/* Did a checkpoint exist to continue from? Local. */
bool norma_checkpoint_resumed_local(const norma_checkpoint *checkpoint);

/* Called for one finished task; `bytes` is aligned for double. */
typedef norma_status (*norma_checkpoint_visit)(void *context, int64_t task, const void *bytes,
                                               int64_t size);

/* Receives the entries of all journals on rank 0. Functions that are NULL have nothing to do. */
typedef struct norma_checkpoint_visitor {
    void *context;
    norma_checkpoint_visit finished; /* once for each finished task */
    norma_checkpoint_visit piece;    /* for every piece, in any order; some come twice */
    /* After all of them: a finished task of which a piece is missing becomes undone. */
    norma_status (*settle)(void *context, unsigned char *done);
} norma_checkpoint_visitor;

/* norma_checkpoint_replay, for tasks that have pieces. */
NORMA_MUST_USE norma_status norma_checkpoint_replay_pieces(norma_checkpoint *checkpoint,
                                                           int64_t n_tasks, unsigned char *done,
                                                           const norma_checkpoint_visitor *visitor);

/* done[n_tasks] (equal on all ranks) = which tasks are finished; rank 0 visits each of them once.
 * Torn ends of journals are cut off. Once, before anything is appended. Collective. */
NORMA_MUST_USE norma_status norma_checkpoint_replay(norma_checkpoint *checkpoint, int64_t n_tasks,
                                                    unsigned char *done,
                                                    norma_checkpoint_visit visit, void *context);

/* Appends a finished task to this process's journal and removes the task's state. It survives a
 * kill of the process at once, one of the machine from the next sync (or removal of a state) on.
 * NORMA_IO. */
NORMA_MUST_USE norma_status norma_checkpoint_append_local(norma_checkpoint *checkpoint,
                                                          int64_t task, const void *bytes,
                                                          int64_t size);

/* Appends a piece of the results of a task under way to this process's journal; as above. */
NORMA_MUST_USE norma_status norma_checkpoint_append_piece_local(norma_checkpoint *checkpoint,
                                                                int64_t task, const void *bytes,
                                                                int64_t size);

/* Replaces the older generation of a task's state, synced. NORMA_IO; the newer one is still there
 * then. */
NORMA_MUST_USE norma_status norma_checkpoint_save_local(norma_checkpoint *checkpoint, int64_t task,
                                                        const void *bytes, int64_t size);

/* The same for a task that is finished, whose state stays for runs that extend this one: appending
 * its result does not remove it. */
NORMA_MUST_USE norma_status norma_checkpoint_keep_state_local(norma_checkpoint *checkpoint,
                                                              int64_t task, const void *bytes,
                                                              int64_t size);

/* The newest whole state of a task, counted memory that the caller frees; *bytes = NULL when there
 * is none. */
NORMA_MUST_USE norma_status norma_checkpoint_load_local(norma_checkpoint *checkpoint, int64_t task,
                                                        void **bytes, int64_t *size);

/* Brings the journal to the disk and removes a task's state. NORMA_IO. */
NORMA_MUST_USE norma_status norma_checkpoint_drop_local(norma_checkpoint *checkpoint, int64_t task);

/* The tasks that have a state, ascending: (*tasks)[*n], counted memory that the caller frees, equal
 * on all ranks. Collective. */
NORMA_MUST_USE norma_status norma_checkpoint_list(norma_checkpoint *checkpoint, int64_t **tasks,
                                                  int64_t *n);

/* Brings the journal of this process to the disk. NORMA_IO. */
NORMA_MUST_USE norma_status norma_checkpoint_sync_local(norma_checkpoint *checkpoint);

/* Closes; the folder is removed when `finished`, or when it holds neither a result nor a state.
 * Returns whether it is still there, equal on all ranks. Collective; nulls, NULL is allowed. */
bool norma_checkpoint_close(norma_checkpoint **checkpoint, bool finished);

#endif
