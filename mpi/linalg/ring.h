#ifndef NORMA_MPI_LINALG_RING_H
#define NORMA_MPI_LINALG_RING_H
/*
 * Broadcast of a long message among the ranks of a communicator while all of them work on something
 * else.
 *
 * Ranks of one node read the message where one of them wrote it, in shared memory. From node to
 * node it travels in parts around a ring, one rank a node handing on each part when it has come.
 * MPI moves data only inside its own calls, so the working ranks call norma_ring_progress now and
 * then. A node sends and receives the message once, however many nodes there are.
 */
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_ring norma_ring;

typedef struct norma_ring_options {
    int64_t max_bytes; /* longest message */
    int which;         /* 0 to 2: tells the rings of one communicator apart */
    int n_alike;       /* rings of this size that a node may have to hold at a time, >= 1 */
    int most_together; /* ranks that may share memory, where a node has more; 0: all of them */
} norma_ring_options;

/* Room for one message. Collective over comm, which is borrowed; options are equal on all ranks.
 * Where a node has no room in its shared memory, each of its ranks counts as a node. Caller owns
 * *out. */
NORMA_MUST_USE norma_status norma_ring_create(MPI_Comm comm, const norma_ring_options *options,
                                              norma_ring **out);

/* Bytes of a ring of `size` ranks on one of them, its own message included. Local, pure. */
double norma_ring_bytes_local(int64_t max_bytes, int size);

/* Bytes of the parts that messages of at most max_bytes travel in. Local. */
int64_t norma_ring_part_local(int64_t max_bytes);

/* Where this rank finds the message of `root`, aligned for doubles; the root writes it before
 * norma_ring_start, nobody afterwards. Valid between norma_ring_receive and norma_ring_finish. */
char *norma_ring_buffer_local(norma_ring *ring, int root);

/* Begins to send `bytes` bytes of rank `root`, or to receive them; root and bytes are equal on all
 * ranks. Collective, and never waits. */
void norma_ring_start(norma_ring *ring, int root, int64_t bytes);

/* Hands on what has come. */
void norma_ring_progress(norma_ring *ring);

/* Returns when this rank can read the whole message, which may still be on its way to others. */
void norma_ring_receive(norma_ring *ring);

/* This rank reads the message no more. Returns when nobody needs its buffer; nothing to do where
 * nothing was started. */
void norma_ring_finish(norma_ring *ring);

/* Frees and nulls; NULL is allowed (on all ranks). Finished before. Collective. */
void norma_ring_destroy(norma_ring **ring);

#endif
