/* The state of a chain as bytes. */
#include "src/chain/chain.h"
#include "src/chain/chain_state.h"
#include "src/chain/single.h"

#include <string.h>

typedef struct saved_header {
    norma_chain_draw draw;
    int64_t n_replicas;
    int64_t exponent[NORMA_LANES];
    double row_bias[NORMA_LANES], column_bias[NORMA_LANES];
} saved_header;

static int64_t n_matrix(const norma_chain *chain)
{
    return chain->spec.width * chain->spec.batch * chain->lanes;
}

static int64_t n_gram(const norma_chain *chain)
{
    return chain->gram_from_input ? chain->lanes * chain->spec.batch * chain->spec.batch : 0;
}

int64_t norma_chain_state_size(const norma_chain *chain)
{
    int64_t doubles = n_matrix(chain) + n_gram(chain) + chain->n_frame_state;
    return (int64_t)sizeof(saved_header) + doubles * (int64_t)sizeof(double);
}

void norma_chain_get_state(const norma_chain *chain, void *bytes)
{
    saved_header header = {.draw = chain->draw, .n_replicas = chain->n_replicas};
    memcpy(header.exponent, chain->exponent, sizeof header.exponent);
    memcpy(header.row_bias, chain->row_bias, sizeof header.row_bias);
    memcpy(header.column_bias, chain->column_bias, sizeof header.column_bias);
    memcpy(bytes, &header, sizeof header);
    double *out = (double *)((unsigned char *)bytes + sizeof header);
    memcpy(out, chain->h, (size_t)n_matrix(chain) * sizeof *out);
    out += n_matrix(chain);
    if (n_gram(chain) > 0)
        memcpy(out, chain->gram_reference, (size_t)n_gram(chain) * sizeof *out);
    if (chain->frame)
        norma_chain_frame_get_state(chain->frame, out + n_gram(chain));
}

void norma_chain_set_state(norma_chain *chain, const void *bytes)
{
    saved_header header;
    memcpy(&header, bytes, sizeof header);
    chain->draw = header.draw;
    chain->making = header.draw.layer;
    chain->n_replicas = (int)header.n_replicas;
    memcpy(chain->exponent, header.exponent, sizeof header.exponent);
    memcpy(chain->row_bias, header.row_bias, sizeof header.row_bias);
    memcpy(chain->column_bias, header.column_bias, sizeof header.column_bias);
    const double *in = (const double *)((const unsigned char *)bytes + sizeof header);
    memcpy(chain->h, in, (size_t)n_matrix(chain) * sizeof *in);
    norma_chain_single_copy(chain);
    in += n_matrix(chain);
    if (n_gram(chain) > 0)
        memcpy(chain->gram_reference, in, (size_t)n_gram(chain) * sizeof *in);
    if (chain->frame)
        norma_chain_frame_set_state(chain->frame, in + n_gram(chain));
}
