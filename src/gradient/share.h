#ifndef NORMA_GRADIENT_SHARE_H
#define NORMA_GRADIENT_SHARE_H
/*
 * Internal to src/gradient: what the members of a team (src/base/team.h) take of a wide chain. Each
 * holds some rows of every H and Z that is kept, and computes the same rows of W' V, that is
 * columns of W; of W V and of the norm of V H' it computes whole panels. V is held by all.
 */
#include "src/base/team.h"

#include <stdbool.h>

/* Rows of H are dealt out in units of so many: whole lines of the cache, whole vectors. */
#define NORMA_GRADIENT_SHARE_UNIT 8

typedef struct norma_gradient_share {
    const norma_chain_team *team; /* NULL: alone, or not joined yet; borrowed */
    int64_t width, n_members;
    int64_t first, count; /* rows of this member; before it joins, those of member 0 */
    int64_t most;         /* the largest count of any member */
} norma_gradient_share;

/* The most members that all get rows of a width. */
int64_t norma_gradient_share_most_members(int64_t width);

/* A share of `width` rows among n_members >= 1 members, to be joined where these are several. */
void norma_gradient_share_init(int64_t width, int64_t n_members, norma_gradient_share *share);

/* Takes the place of a member; the team has n_members members. */
void norma_gradient_share_join(norma_gradient_share *share, const norma_chain_team *team);

/* Of n items, dealt out in units of `unit`: the first one of this member at *first; the count is
 * returned. All n of one that is alone. */
int64_t norma_gradient_share_part(const norma_gradient_share *share, int64_t n, int64_t unit,
                                  int64_t *first);

/* x[n][columns]: the items of each member go to all. Collective over the team. */
void norma_gradient_share_collect(const norma_gradient_share *share, int64_t n, int64_t unit,
                                  int64_t columns, double *x);

/* x[width][columns] = the rows mine[count][columns] of all members. Collective over the team. */
void norma_gradient_share_gather(const norma_gradient_share *share, int64_t columns,
                                 const double *mine, double *x);

/* values[count] of member 0 to all. Collective over the team. */
void norma_gradient_share_first(const norma_gradient_share *share, int64_t count, double *values);

/* One status for all, as norma_agree. Collective over the team. */
NORMA_MUST_USE norma_status norma_gradient_share_agree(const norma_gradient_share *share,
                                                       norma_status status);

#endif
