#include "src/gradient/share.h"

#include "src/base/index.h"

#include <string.h>

static int64_t part_of(const norma_gradient_share *share, int64_t n, int64_t unit, int64_t member,
                       int64_t *first)
{
    int64_t units = norma_index_ceil_divide(n, unit);
    int64_t end = norma_index_share(units, share->n_members, member, first);
    end = (*first + end) * unit;
    *first *= unit;
    *first = *first < n ? *first : n;
    return (end < n ? end : n) - *first;
}

int64_t norma_gradient_share_most_members(int64_t width)
{
    return norma_index_ceil_divide(width, NORMA_GRADIENT_SHARE_UNIT);
}

void norma_gradient_share_init(int64_t width, int64_t n_members, norma_gradient_share *share)
{
    *share = (norma_gradient_share){.width = width, .n_members = n_members > 1 ? n_members : 1};
    share->count = part_of(share, width, NORMA_GRADIENT_SHARE_UNIT, 0, &share->first);
    share->most = share->count;
}

void norma_gradient_share_join(norma_gradient_share *share, const norma_chain_team *team)
{
    share->team = team->size > 1 ? team : NULL;
    share->count =
        norma_gradient_share_part(share, share->width, NORMA_GRADIENT_SHARE_UNIT, &share->first);
}

int64_t norma_gradient_share_part(const norma_gradient_share *share, int64_t n, int64_t unit,
                                  int64_t *first)
{
    return part_of(share, n, unit, share->team ? share->team->rank : 0, first);
}

void norma_gradient_share_collect(const norma_gradient_share *share, int64_t n, int64_t unit,
                                  int64_t columns, double *x)
{
    const norma_chain_team *team = share->team;
    for (int member = 0; team && member < team->size; member++) {
        int64_t first = 0;
        int64_t count = part_of(share, n, unit, member, &first);
        if (count > 0)
            team->broadcast(team->context, member, count * columns, x + first * columns);
    }
}

void norma_gradient_share_gather(const norma_gradient_share *share, int64_t columns,
                                 const double *mine, double *x)
{
    memcpy(x + share->first * columns, mine, (size_t)(share->count * columns) * sizeof *x);
    norma_gradient_share_collect(share, share->width, NORMA_GRADIENT_SHARE_UNIT, columns, x);
}

void norma_gradient_share_first(const norma_gradient_share *share, int64_t count, double *values)
{
    if (share->team)
        share->team->broadcast(share->team->context, 0, count, values);
}

norma_status norma_gradient_share_agree(const norma_gradient_share *share, norma_status status)
{
    return share->team ? share->team->agree(share->team->context, status) : status;
}
