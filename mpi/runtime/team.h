#ifndef NORMA_MPI_RUNTIME_TEAM_H
#define NORMA_MPI_RUNTIME_TEAM_H
/* The ranks of a group (mpi/runtime/replicas.h) as the team of a wide chain (src/base/team.h). */
#include "src/base/status.h"
#include "src/base/team.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_team {
    MPI_Comm group;         /* borrowed */
    norma_chain_team chain; /* its context is this object, which must not move */
} norma_team;

/* A team of the ranks of `group`; an idle rank (MPI_COMM_NULL) is alone. Local. */
void norma_team_init_local(MPI_Comm group, norma_team *team);

/* A team of this rank alone. Local. */
void norma_team_init_alone_local(norma_team *team);

/* Is this rank the root of its team? Local. */
bool norma_team_is_root_local(const norma_team *team);

/* norma_agree over the team. Collective over the team. */
NORMA_MUST_USE norma_status norma_team_agree(const norma_team *team, norma_status status);

/* The root's value on all members. Collective over the team. */
bool norma_team_root_says(const norma_team *team, bool mine);

/* The root's bytes (NULL: none) on all members, who own theirs. NORMA_MEMORY on all. Collective
 * over the team. */
NORMA_MUST_USE norma_status norma_team_share(const norma_team *team, void **bytes, int64_t *size);

#endif
