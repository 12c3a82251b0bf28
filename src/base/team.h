#ifndef NORMA_BASE_TEAM_H
#define NORMA_BASE_TEAM_H
/*
 * Several processes that compute one wide chain together: each draws and multiplies some rows of W,
 * all hold H. What they say to each other goes through functions of the caller's
 * (mpi/runtime/team.h).
 */
#include "src/base/status.h"

#include <stdint.h>

typedef struct norma_chain_team {
    int rank, size;
    void *context;
    /* values[count] of member `root` to all members. */
    void (*broadcast)(void *context, int root, int64_t count, double *values);
    /* One status for all, as norma_agree. */
    norma_status (*agree)(void *context, norma_status status);
} norma_chain_team;

#endif
