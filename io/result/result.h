#ifndef NORMA_IO_RESULT_RESULT_H
#define NORMA_IO_RESULT_RESULT_H
/*
 * The life of a result file.
 *
 *     create    refuse an existing FILE; write to FILE.part, status "running"
 *     (schema)  io/result/schema.h: everything that will be written
 *     begin     all is laid out: from here on a killed run leaves a .part that opens
 *     write     each rank its own part
 *     flush     at each finished cell: what is there survives a kill
 *     close     status "complete", "stopped" or "partial", verified, synced, renamed to FILE
 *     abandon   after a failure: FILE stays as it was
 *
 * Space is reserved before it is written where the file system can do that, so that a full disk is
 * one clear refusal and not a failed write on one rank. Still every write's status is agreed on,
 * and at each flush samples of what was written are read back and compared.
 *
 * All functions are collective over the communicator given at create unless their name ends in
 * _local; the order of calls and all arguments but start, count and data must be equal on all
 * ranks. After a failure the file can only be abandoned.
 */
#include "io/result/schema.h"

#include <mpi.h>
#include <stdint.h>

typedef struct norma_result_options {
    bool force;    /* replace an existing result at close; other files are never replaced */
    bool resume;   /* replace an existing file of status "stopped" at close */
    bool extend;   /* the same of status "complete": the run extends that one */
    int64_t bytes; /* expected size of the file, checked against the free space; 0: not checked */
} norma_result_options;

typedef enum norma_result_end {
    NORMA_RESULT_COMPLETE,
    NORMA_RESULT_STOPPED,
    NORMA_RESULT_PARTIAL /* finished, but some cells of its sweep are missing */
} norma_result_end;

/* Opens FILE.part for writing in parallel; a .part left by a dead run is replaced (and a run that
 * is still writing that one fails at its next flush). `world` is the
 * runtime's communicator (never a reordered or Cartesian one: HDF5 data are corrupted by those); it
 * is duplicated. *out is set on success only; it is released by close or abandon.
 * NORMA_CONFIG: path exists (without force or resume; or it is not HDF5, whatever force says) or is
 * no file name. NORMA_LIMIT: less free space than options->bytes. NORMA_IO: folder missing or not
 * writable, file system full or refusing. Nothing is left behind then. */
NORMA_MUST_USE norma_status norma_result_create(MPI_Comm world, const char *path,
                                                const norma_result_options *options,
                                                norma_result **out);

/* Only what create refuses before it touches anything, for a dry run. */
NORMA_MUST_USE norma_status norma_result_check(MPI_Comm world, const char *path,
                                               const norma_result_options *options);

/* Brings the layout to the disk, once it is complete and before the work begins. */
NORMA_MUST_USE norma_status norma_result_begin(norma_result *file);

/* Each rank writes its own hyperslab of a variable ("/rmse", "/layers/000/gamma1"): `count`
 * elements from `start` in every dimension, data row-major and dense, of the variable's type.
 * count NULL: one element; start NULL as well: the whole variable. A count of 0 writes nothing
 * here (start and data are then not looked at). No element may be written by two ranks.
 * NORMA_LIBRARY: unknown variable, other type, selection outside. NORMA_IO: not written. */
NORMA_MUST_USE norma_status norma_result_write(norma_result *file, const char *variable,
                                               norma_type type, const int64_t *start,
                                               const int64_t *count, const void *data);

/* The same for values that all ranks hold: rank 0 writes its own, the others nothing. */
NORMA_MUST_USE norma_status norma_result_write_replicated(norma_result *file, const char *variable,
                                                          norma_type type, const int64_t *start,
                                                          const int64_t *count, const void *data);

/* The same by this rank alone, without communication: for groups of ranks that finish cells in any
 * order. The caller agrees on the status, at the latest before the next collective call. */
NORMA_MUST_USE norma_status norma_result_write_local(norma_result *file, const char *variable,
                                                     norma_type type, const int64_t *start,
                                                     const int64_t *count, const void *data);

/* The same, but kept in memory until a few megabytes are together or the file is flushed or closed:
 * small writes then cost little, and those of neighbouring elements become one. A failure may show
 * in a later call. start must not be NULL; a variable that is written so must be written in no
 * other way before the next flush. */
NORMA_MUST_USE norma_status norma_result_put_local(norma_result *file, const char *variable,
                                                   norma_type type, const int64_t *start,
                                                   const int64_t *count, const void *data);

/* A text of any length as a scalar string dataset, "/configuration"; equal on all ranks. */
NORMA_MUST_USE norma_status norma_result_write_text(norma_result *file, const char *dataset,
                                                    const char *long_name, const char *text);

/* Attributes of a group or variable ("/", "/layers/000"), equal on all ranks; overwritten when they
 * exist. A text attribute of the root over 60000 bytes becomes a scalar string dataset of its name,
 * elsewhere it is NORMA_LIMIT. */
NORMA_MUST_USE norma_status norma_result_set_text(norma_result *file, const char *object,
                                                  const char *name, const char *text);
NORMA_MUST_USE norma_status norma_result_set_int64(norma_result *file, const char *object,
                                                   const char *name, int64_t value);
NORMA_MUST_USE norma_status norma_result_set_uint64(norma_result *file, const char *object,
                                                    const char *name, uint64_t value);
NORMA_MUST_USE norma_status norma_result_set_double(norma_result *file, const char *object,
                                                    const char *name, double value);

/* The variable that viewers draw when they open the file (NeXus default, signal, axes). */
NORMA_MUST_USE norma_status norma_result_set_default(norma_result *file, const char *variable);

/* Brings everything written so far to the disk, then reads samples of it back and compares: the
 * .part of a killed or failing run holds it. Call at each finished cell. */
NORMA_MUST_USE norma_status norma_result_flush(norma_result *file);

/* Sets `finished` and `status`, flushes, closes, verifies, syncs and renames to FILE. Releases and
 * nulls *file whatever is returned; on failure as abandon does. */
NORMA_MUST_USE norma_status norma_result_close(norma_result **file, norma_result_end end);

/* *out = the file of this name exists with status complete. Collective over world. */
NORMA_MUST_USE norma_status norma_result_is_complete(MPI_Comm world, const char *path, bool *out);

/* Closes without finishing and removes FILE.part, whatever it holds; FILE stays as it was. NULL is
 * allowed. Collective; nulls *file. */
void norma_result_discard(norma_result **file);

/* Closes without finishing; FILE stays as it was. The .part is removed unless it holds a flushed
 * cell and opens. NULL is allowed. Collective; nulls *file. */
void norma_result_abandon(norma_result **file);

#endif
