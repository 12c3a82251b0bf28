/* The state of a gradient as bytes. */
#include "src/gradient/gradient_state.h"

#include <string.h>

typedef struct saved_header {
    norma_chain_draw draw;
    int64_t pass, layer, progress, v_exponent;
    double value;
} saved_header;

typedef struct saved_part {
    void *data;
    int64_t bytes;
} saved_part;

enum { N_PARTS = 7 };

static void list_parts(const norma_gradient *g, saved_part parts[N_PARTS])
{
    const int64_t size = (int64_t)sizeof(double);
    const int64_t n_gaps = g->request.isometry_gap ? g->request.n_layers : 0;
    const saved_part all[N_PARTS] = {{g->kept, g->n_segments * g->kept_bytes},
                                     {g->v, g->spec->width * g->spec->batch * size},
                                     {g->log_norm, g->request.depth * size},
                                     {g->isometry_gap, n_gaps * size},
                                     {g->log_jacobian, g->n_windows * size},
                                     {g->cosine, g->n_pairs * size},
                                     {NULL, 0}};
    memcpy(parts, all, sizeof all);
}

int64_t norma_gradient_state_size(const norma_gradient *g)
{
    saved_part parts[N_PARTS];
    int64_t bytes = (int64_t)sizeof(saved_header);
    list_parts(g, parts);
    for (int i = 0; i < N_PARTS; i++)
        bytes += parts[i].bytes;
    return bytes;
}

void norma_gradient_get_state(const norma_gradient *g, void *bytes)
{
    const saved_header header = {g->draw, g->pass, g->layer, g->progress, g->v_exponent, g->value};
    saved_part parts[N_PARTS];
    unsigned char *to = bytes;
    memcpy(to, &header, sizeof header);
    to += sizeof header;
    list_parts(g, parts);
    for (int i = 0; i < N_PARTS; to += parts[i++].bytes)
        if (parts[i].bytes > 0)
            memcpy(to, parts[i].data, (size_t)parts[i].bytes);
}

norma_status norma_gradient_set_state(norma_gradient *g, const void *bytes)
{
    saved_header header;
    saved_part parts[N_PARTS];
    const unsigned char *from = bytes;
    memcpy(&header, from, sizeof header);
    from += sizeof header;
    list_parts(g, parts);
    for (int i = 0; i < N_PARTS; from += parts[i++].bytes)
        if (parts[i].bytes > 0)
            memcpy(parts[i].data, from, (size_t)parts[i].bytes);
    g->draw = header.draw;
    g->progress = header.progress;
    g->v_exponent = header.v_exponent;
    g->value = header.value;
    g->last = -1;
    NORMA_TRY(norma_gradient_loss_start(&g->loss, g->draw.seed, g->draw.cell, g->draw.replica));
    if (norma_gradient_is_done(g))
        return NORMA_OK;
    g->pass = NORMA_GRADIENT_FORWARD;
    if (header.pass == NORMA_GRADIENT_FORWARD) {
        g->layer = header.layer / g->segment * g->segment;
        norma_chain_set_state(g->chain, norma_gradient_kept(g, g->layer / g->segment));
        return NORMA_OK;
    }
    g->layer = norma_gradient_n_left(g) - 1;
    norma_gradient_load(g);
    return NORMA_OK;
}
