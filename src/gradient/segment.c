/* The segment of layers that is loaded: H and Z of each, of a shared chain this member's rows; and
 * W where there is place. */
#include "src/gradient/gradient_state.h"

#include <string.h>

unsigned char *norma_gradient_kept(norma_gradient *g, int64_t segment)
{
    return g->kept + segment * g->kept_bytes;
}

void norma_gradient_loaded(norma_gradient *g, int64_t layer, const double **h, const double **z)
{
    const int64_t n = g->spec->batch, at = layer % g->segment * g->share.most * n;
    *h = g->h + at;
    *z = g->z + at;
    if (g->share.n_members == 1)
        return;
    if (g->gathered != layer) {
        norma_gradient_share_gather(&g->share, n, *h, g->whole[0]);
        norma_gradient_share_gather(&g->share, n, *z, g->whole[1]);
    }
    g->gathered = layer;
    *h = g->whole[0];
    *z = g->whole[1];
}

static double *place_of_weights(const norma_gradient *g, int64_t layer)
{
    return g->w ? g->w + layer % g->segment * g->spec->width * g->spec->width : NULL;
}

void norma_gradient_take_weights(norma_gradient *g, int64_t layer)
{
    g->weights.draw = g->draw;
    g->weights.draw.layer = layer;
    g->weights.kept = place_of_weights(g, layer);
}

void norma_gradient_load(norma_gradient *g)
{
    const int64_t segment = g->layer / g->segment;
    norma_chain_set_state(g->chain, norma_gradient_kept(g, segment));
    g->pass = NORMA_GRADIENT_AGAIN;
    g->layer = segment * g->segment;
}

/* A member of a team takes its rows of a matrix in `spare` to `place`. */
static void take_rows(const norma_gradient *g, double *place)
{
    const norma_gradient_share *share = &g->share;
    const int64_t n = g->spec->batch;
    if (share->n_members > 1)
        memcpy(place, g->spare + share->first * n, (size_t)(share->count * n) * sizeof *place);
}

norma_status norma_gradient_advance(norma_gradient *g, bool loads)
{
    const bool alone = g->share.n_members == 1;
    const int64_t place = g->layer % g->segment, at = place * g->share.most * g->spec->batch;
    if (loads) {
        norma_chain_get_matrix(g->chain, 0, alone ? g->h + at : g->spare, &g->exponent[place]);
        take_rows(g, g->h + at);
    }
    norma_chain_keep_weights(g->chain, loads ? place_of_weights(g, g->layer) : NULL);
    norma_chain_trace(g->chain, !loads ? NULL : alone ? g->z + at : g->spare);
    NORMA_TRY(norma_chain_step(g->chain));
    if (loads)
        take_rows(g, g->z + at);
    g->layer++;
    return NORMA_OK;
}
