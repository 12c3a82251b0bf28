#ifndef NORMA_MPI_RUNTIME_SHARED_H
#define NORMA_MPI_RUNTIME_SHARED_H
/*
 * Read-only data with one copy a node: an MPI-3 shared window where the node has several ranks,
 * filled by rank 0 and a broadcast among the nodes' leaders.
 */
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_shared norma_shared;

/* Room for n_bytes >= 0 bytes (equal on all ranks) on every node. Where a node offers no shared
 * memory its ranks hold copies of their own. Collective over comm; caller owns *out and destroys it
 * collectively. */
NORMA_MUST_USE norma_status norma_shared_create(MPI_Comm comm, int64_t n_bytes, norma_shared **out);

/* This rank's address of the data, aligned for doubles. Rank 0 of comm writes it before
 * norma_shared_broadcast, nobody afterwards. Local. */
void *norma_shared_data_local(norma_shared *shared);

/* Brings rank 0's bytes to all nodes. Collective. */
void norma_shared_broadcast(norma_shared *shared);

/* True when the ranks of a node have room for a window of n_bytes together. Where they have not
 * (containers often offer 64 MiB), writing to it would end a rank with a bus error. Collective over
 * node. */
bool norma_shared_has_room(MPI_Comm node, int64_t n_bytes);

/* Collective; nulls; NULL is allowed (on all ranks). */
void norma_shared_destroy(norma_shared **shared);

#endif
