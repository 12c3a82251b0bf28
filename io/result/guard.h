#ifndef NORMA_IO_RESULT_GUARD_H
#define NORMA_IO_RESULT_GUARD_H
/*
 * Failing writes of parallel HDF5, made harmless.
 *
 * When a write of HDF5's metadata fails on one rank (full disk, quota, broken server), that rank
 * leaves HDF5's own collective calls early and all wait for ever, in H5Fflush or H5Fclose. So this
 * module stands between HDF5 and MPI-IO, by MPI's profiling interface: a write, sync or change of
 * size that fails is noted here and reported to HDF5 as done. HDF5 stays in step, and the note,
 * asked for after each call, is the failure that ranks then agree on.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Forgets earlier notes. Local. */
void norma_guard_clear_local(void);

/* True when a write failed since the last clear. Local. */
bool norma_guard_failed_local(void);

/* The reason of the first failure since the last clear: what the system said ("No space left on
 * device"), else what MPI said. Valid until the next clear. Local. */
const char *norma_guard_reason_local(void);

/* Appends the limit on the size of this process's files to a text in `size` bytes; nothing where
 * there is none. Local. */
void norma_guard_append_limit_local(char *text, size_t size);

#endif
