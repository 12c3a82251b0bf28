#ifndef NORMA_MPI_RUNTIME_REPLICAS_H
#define NORMA_MPI_RUNTIME_REPLICAS_H
/*
 * Many independent tasks (cells of a sweep, replicas) over ranks, or over groups of ranks that
 * compute one task together. Who is free takes the next ticket from a counter on rank 0
 * (MPI_Fetch_and_op), so nobody waits for anybody and no rank only serves. The same window carries
 * the word that all must stop, and the work done so far.
 *
 *     norma_replicas_create(world, 1, &replicas);
 *     norma_replicas_run(replicas, n, task, context);     task: compute, now and then poll
 *     norma_replicas_destroy(&replicas);
 *
 * A task must depend on its ticket alone; then results do not depend on the number of groups.
 */
#include "mpi/runtime/stop.h"
#include "src/base/status.h"

#include <mpi.h>
#include <stdint.h>

typedef struct norma_replicas norma_replicas;

/* Cuts world into groups of group_size consecutive ranks; ranks of an incomplete last group stay
 * idle. NORMA_USAGE when group_size is not 1 .. size, NORMA_LIBRARY when MPI has no windows between
 * these ranks. Collective over world; caller owns *out. */
NORMA_MUST_USE norma_status norma_replicas_create(MPI_Comm world, int64_t group_size,
                                                  norma_replicas **out);

/* Collective over world; nulls, NULL is allowed. */
void norma_replicas_destroy(norma_replicas **replicas);

/* This rank's group: its communicator (MPI_COMM_NULL for an idle rank; borrowed), this rank within
 * it (0 is its root), and how many groups there are. Local. */
MPI_Comm norma_replicas_group_local(const norma_replicas *replicas);
int norma_replicas_group_rank_local(const norma_replicas *replicas);
int norma_replicas_n_groups_local(const norma_replicas *replicas);

/* Computes the task of a ticket: NORMA_OK when it is done, NORMA_STOPPED when it was left with its
 * state saved because norma_replicas_poll said END. Collective over the group; a task on several
 * ranks may return different statuses. */
typedef norma_status (*norma_replicas_task)(void *context, int64_t ticket);

/* Runs tickets 0 .. n_tickets - 1 in this order, each on one group. A task that fails stops all
 * others at their next poll. Returns on all ranks the failure of the lowest failing rank; else
 * NORMA_STOPPED when not all tickets are done, else NORMA_OK. After NORMA_OK the object can run
 * further tickets; work goes on being counted. Collective over world. */
NORMA_MUST_USE norma_status norma_replicas_run(norma_replicas *replicas, int64_t n_tickets,
                                               norma_replicas_task task, void *context);

/* The request that the task has to follow now, from norma_stop_look_local of the group's ranks and
 * from other groups; END also when another group failed. Call it at every step; `work` is what was
 * done since the last call, in units of the caller's, of a group its root's counts. Looks at the
 * other groups a few times a second. Collective over the group. */
norma_stop_request norma_replicas_poll(norma_replicas *replicas, int64_t work);

/* Work of all groups, as this rank last received it. Local. */
int64_t norma_replicas_work_local(const norma_replicas *replicas);

/* values[n]: each element is other than 0 on at most one rank; afterwards all ranks hold all.
 * Exact: nothing is added to a value but zeros. Collective over world. */
void norma_replicas_collect(MPI_Comm world, int64_t n, double *values);

#endif
