#include "mpi/runtime/team.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

/* MPI counts in int. */
static const int64_t piece = (int64_t)1 << 27;

static void broadcast(void *context, int root, int64_t count, double *values)
{
    const norma_team *team = context;
    for (int64_t at = 0; at < count; at += piece)
        MPI_Bcast(values + at, (int)(count - at < piece ? count - at : piece), MPI_DOUBLE, root,
                  team->group);
}

static norma_status agree(void *context, norma_status status)
{
    const norma_team *team = context;
    return norma_agree(team->group, status);
}

void norma_team_init_local(MPI_Comm group, norma_team *team)
{
    *team =
        (norma_team){.group = group,
                     .chain = {.size = 1, .context = team, .broadcast = broadcast, .agree = agree}};
    if (group == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(group, &team->chain.rank);
    MPI_Comm_size(group, &team->chain.size);
}

void norma_team_init_alone_local(norma_team *team)
{
    norma_team_init_local(MPI_COMM_NULL, team);
}

bool norma_team_is_root_local(const norma_team *team)
{
    return team->chain.rank == 0;
}

norma_status norma_team_agree(const norma_team *team, norma_status status)
{
    return team->chain.size > 1 ? norma_agree(team->group, status) : status;
}

bool norma_team_root_says(const norma_team *team, bool mine)
{
    int word = mine;
    if (team->chain.size > 1)
        MPI_Bcast(&word, 1, MPI_INT, 0, team->group);
    return word != 0;
}

norma_status norma_team_share(const norma_team *team, void **bytes, int64_t *size)
{
    int64_t n = *bytes ? *size : -1;
    norma_status status = NORMA_OK;
    unsigned char *copy = *bytes;
    if (team->chain.size == 1)
        return NORMA_OK;
    MPI_Bcast(&n, 1, MPI_INT64_T, 0, team->group);
    *size = n;
    if (n < 0)
        return NORMA_OK;
    if (team->chain.rank != 0)
        status = NORMA_ALLOC(copy, n);
    *bytes = copy;
    NORMA_TRY(norma_agree(team->group, status));
    for (int64_t at = 0; at < n; at += piece)
        MPI_Bcast(copy + at, (int)(n - at < piece ? n - at : piece), MPI_BYTE, 0, team->group);
    return NORMA_OK;
}
