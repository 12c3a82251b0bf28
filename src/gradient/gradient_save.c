/* The state of a gradient as bytes: a header, the chain at the beginning of every segment, the
 * results so far, V. */
#include "src/gradient/gradient_state.h"

#include <string.h>

typedef struct saved_header {
    norma_chain_draw draw;
    int64_t pass, layer, progress, v_exponent;
    double value;
} saved_header;

static int64_t n_gaps(const norma_gradient *g)
{
    return g->request.isometry_gap ? g->request.n_layers : 0;
}

static int64_t v_bytes(const norma_gradient *g)
{
    return g->spec->width * g->spec->batch * (int64_t)sizeof(double);
}

int64_t norma_gradient_state_bytes(const norma_gradient *g)
{
    int64_t numbers = g->request.depth + n_gaps(g) + g->n_windows + g->n_pairs;
    return (int64_t)sizeof(saved_header) + g->n_segments * g->kept_bytes +
           numbers * (int64_t)sizeof(double) + v_bytes(g);
}

void norma_gradient_state_divide(norma_gradient *g)
{
    g->kept = g->state + sizeof(saved_header);
    double *numbers = (double *)(void *)(g->kept + g->n_segments * g->kept_bytes);
    g->log_norm = numbers;
    numbers += g->request.depth;
    g->isometry_gap = n_gaps(g) > 0 ? numbers : NULL;
    numbers += n_gaps(g);
    g->log_jacobian = g->n_windows > 0 ? numbers : NULL;
    numbers += g->n_windows;
    g->cosine = g->n_pairs > 0 ? numbers : NULL;
}

void norma_gradient_get_state(norma_gradient *g, const void **bytes, int64_t *size)
{
    const saved_header header = {g->draw, g->pass, g->layer, g->progress, g->v_exponent, g->value};
    *size = norma_gradient_state_bytes(g);
    memcpy(g->state, &header, sizeof header);
    memcpy(g->state + *size - v_bytes(g), g->v, (size_t)v_bytes(g));
    *bytes = g->state;
}

norma_status norma_gradient_set_state(norma_gradient *g, const void *bytes, int64_t size)
{
    saved_header header;
    if (size != norma_gradient_state_bytes(g))
        return NORMA_FAIL(NORMA_CONFIG, "the saved state has %lld bytes, this gradient needs %lld",
                          (long long)size, (long long)norma_gradient_state_bytes(g));
    memcpy(g->state, bytes, (size_t)size);
    memcpy(&header, g->state, sizeof header);
    memcpy(g->v, g->state + size - v_bytes(g), (size_t)v_bytes(g));
    g->draw = header.draw;
    g->progress = header.progress;
    g->v_exponent = header.v_exponent;
    g->value = header.value;
    g->last = g->gathered = -1;
    NORMA_TRY(norma_gradient_share_agree(
        &g->share,
        norma_gradient_loss_start(&g->loss, g->draw.seed, g->draw.cell, g->draw.replica)));
    if (norma_gradient_is_done(g))
        return NORMA_OK;
    if (header.pass == NORMA_GRADIENT_FORWARD) {
        g->pass = NORMA_GRADIENT_FORWARD;
        g->layer = header.layer / g->segment * g->segment;
        norma_chain_set_state(g->chain, norma_gradient_kept(g, g->layer / g->segment));
        return NORMA_OK;
    }
    g->layer = norma_gradient_n_left(g) - 1;
    norma_gradient_load(g);
    return NORMA_OK;
}
