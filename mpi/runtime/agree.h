#ifndef NORMA_MPI_RUNTIME_AGREE_H
#define NORMA_MPI_RUNTIME_AGREE_H
/*
 * Agreement: from a status that differs between ranks to one that all hold.
 *
 * A collective function of Norma is: local work (validate, allocate, build selections; no early
 * return), agree, communicate, local work, agree. A rank that returned early instead would leave
 * the others in the next collective call for ever.
 */
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All ranks return the same status: NORMA_OK when every rank brought NORMA_OK, otherwise the status
 * of the lowest failing rank, whose error record then replaces that of every rank. Collective over
 * comm. One all-reduce of an int; a broadcast more on failure. Test hook: NORMA_TEST_FAIL=k@r makes
 * the k-th call (from 0) of world rank r fail. */
NORMA_MUST_USE norma_status norma_agree(MPI_Comm comm, norma_status status);

#ifdef __clang_analyzer__ /* which cannot see in other files that a failure comes back as one */
static inline norma_status norma_agree_analyzed(MPI_Comm comm, norma_status status)
{
    norma_status agreed = norma_agree(comm, status);
    return status == NORMA_OK || agreed != NORMA_OK ? agreed : status;
}
#define norma_agree(comm, status) norma_agree_analyzed(comm, status)
#endif

/* True on all ranks when true on any. Collective over comm. */
bool norma_agree_any(MPI_Comm comm, bool mine);

/* NORMA_OK on all ranks when all brought the same bytes, otherwise NORMA_LIBRARY naming `what`: a
 * guard on arguments that must be equal everywhere. Collective over comm. */
NORMA_MUST_USE norma_status norma_agree_same(MPI_Comm comm, const void *data, size_t size,
                                             const char *what);

#endif
