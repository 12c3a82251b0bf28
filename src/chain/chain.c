#include "src/chain/chain.h"

#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/chain/chain_state.h"
#include "src/chain/single.h"
#include "src/theory/gram_map.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* The expected Gram matrix at the fixed point, in the chain's own scale. */
static norma_status make_reference(norma_chain *chain)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t n = spec->batch;
    if (!chain->gram_reference)
        return NORMA_OK;
    if (chain->request.gram_reference) {
        for (int lane = 0; lane < chain->lanes; lane++)
            memcpy(chain->gram_reference + lane * n * n, chain->request.gram_reference,
                   (size_t)(n * n) * sizeof *chain->gram_reference);
        return NORMA_OK;
    }
    if (chain->gram_from_input)
        return NORMA_OK;
    const norma_transfer phi = {.activation = spec->activation, .factor = 1};
    norma_gram_fixed_point fixed;
    NORMA_TRY(norma_gram_map_solve(&phi, n, spec->norm == NORMA_CHAIN_NORM_BN_CENTERED,
                                   spec->unit_norm ? 1 : sqrt((double)n), &fixed));
    double factor = spec->act_scale * spec->scale;
    factor *= factor * spec->gram_scale * (double)spec->width;
    for (int64_t i = 0; i < chain->lanes * n * n; i++)
        chain->gram_reference[i] =
            factor * (i % (n * n) % (n + 1) == 0 ? fixed.gram.diagonal : fixed.gram.off);
    return NORMA_OK;
}

norma_status norma_chain_create(const norma_chain_spec *spec, const norma_chain_input *input,
                                const norma_observable_request *request, int64_t block,
                                norma_chain **out)
{
    norma_status status = NORMA_OK;
    norma_chain *chain = NULL;
    NORMA_GOTO(status, NORMA_CALLOC(chain, 1));
    NORMA_GOTO(status, norma_chain_prepare(chain, spec, input, request, block));
    NORMA_GOTO(status, norma_chain_workspace_create(chain));
    NORMA_GOTO(status, make_reference(chain));
    *out = chain;
    return NORMA_OK;
done:
    norma_chain_destroy(&chain);
    return status;
}

norma_status norma_chain_check(const norma_chain_spec *spec, const norma_chain_input *input,
                               const norma_observable_request *request, int64_t block,
                               norma_chain_needs *needs)
{
    norma_chain chain = {0};
    NORMA_TRY(norma_chain_prepare(&chain, spec, input, request, block));
    needs->lanes = chain.lanes;
    needs->not_shared = norma_chain_why_not_shared(&chain);
    needs->state_bytes = norma_chain_state_size(&chain);
    return norma_chain_workspace_measure(&chain, &needs->bytes);
}

void norma_chain_destroy(norma_chain **chain)
{
    if (!*chain)
        return;
    norma_chain_workspace_destroy(*chain);
    NORMA_FREE(*chain);
}

void norma_chain_join(norma_chain *chain, const norma_chain_team *team)
{
    chain->team = team->size > 1 ? team : NULL;
}

int norma_chain_n_lanes(const norma_chain *chain)
{
    return chain->lanes;
}

const norma_chain_spec *norma_chain_get_spec(const norma_chain *chain)
{
    return &chain->spec;
}

void norma_chain_trace(norma_chain *chain, double *z)
{
    chain->trace = z;
}

void norma_chain_keep_weights(norma_chain *chain, double *w)
{
    chain->kept_weights = w;
}

bool norma_chain_draws_rows(const norma_chain_spec *spec)
{
    const norma_law_source source = norma_law_get(spec->weights)->source;
    return spec->law != NORMA_CHAIN_LAW_EXACT && !spec->single && source != NORMA_LAW_HAAR &&
           source != NORMA_LAW_GIVEN;
}

int64_t norma_chain_get_layer(const norma_chain *chain)
{
    return chain->draw.layer;
}

int64_t norma_chain_offset(const norma_chain *chain, norma_observable observable)
{
    return chain->offset[observable];
}

int64_t norma_chain_n_values_all(const norma_chain *chain)
{
    return chain->offset[NORMA_N_OBSERVABLES];
}

norma_status norma_chain_measure(norma_chain *chain, norma_observable_set set, double *values)
{
    return norma_chain_measure_set(chain, set & chain->request.wanted, values);
}

void norma_chain_get_matrix(const norma_chain *chain, int lane, double *out, int64_t *exponent)
{
    norma_chain_extract(chain, chain->h, chain->spec.width * chain->spec.batch, lane, out);
    *exponent = chain->exponent[lane];
}

/* Puts one replica's input into its lane of z, a power of two kept aside where that is possible. */
static void place_input(norma_chain *chain, int lane)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch;
    double *plain = chain->scratch.matrix, largest = 0;
    norma_chain_input_fill(&chain->input, chain->draw.seed, chain->draw.cell,
                           chain->draw.replica + lane, d, n, plain);
    for (int64_t i = 0; i < d * n; i++)
        largest = fmax(largest, fabs(plain[i]));
    int shift = chain->scale_free && largest > 0 ? ilogb(largest) : 0;
    chain->exponent[lane] = shift;
    for (int64_t i = 0; i < d * n; i++)
        chain->z[i * chain->lanes + lane] = ldexp(plain[i], -shift);
}

static norma_status begin_layer_zero(norma_chain *chain)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t count = spec->width * spec->batch;
    if (spec->start == NORMA_CHAIN_START_THROUGH_LAYER)
        return norma_chain_normalize(chain, 1);
    if (spec->start != NORMA_CHAIN_START_UNIT_FROBENIUS)
        return NORMA_OK;
    for (int lane = 0; lane < chain->lanes; lane++) {
        double square = 0;
        for (int64_t i = 0; i < count; i++)
            square += chain->z[i * chain->lanes + lane] * chain->z[i * chain->lanes + lane];
        if (!(square > 0))
            return NORMA_FAIL(NORMA_CONFIG, "the chain input is zero; it cannot be scaled to unit "
                                            "norm");
        for (int64_t i = 0; i < count; i++)
            chain->z[i * chain->lanes + lane] /= sqrt(square);
        chain->exponent[lane] = 0;
    }
    return NORMA_OK;
}

static void swap_matrices(norma_chain *chain)
{
    double *h = chain->h;
    chain->h = chain->z;
    chain->z = h;
}

norma_status norma_chain_start(norma_chain *chain, uint64_t seed, int64_t cell,
                               int64_t first_replica, int64_t count)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch;
    if (count < 1 || count > chain->lanes)
        return NORMA_FAIL(NORMA_LIMIT, "a block holds 1 to %d replicas, not %lld", chain->lanes,
                          (long long)count);
    norma_chain_draw draw = {seed, cell, first_replica + count - 1, 0};
    norma_rng_stream last = norma_chain_weights_stream(&draw, NORMA_CHAIN_TENSOR_WEIGHTS);
    NORMA_TRY(norma_rng_check(&last, d * (d > n ? d : n)));
    draw.replica = first_replica;
    chain->draw = draw;
    chain->making = 0;
    chain->n_replicas = (int)count;
    for (int lane = 0; lane < chain->lanes; lane++) {
        place_input(chain, lane < count ? lane : 0);
        chain->row_bias[lane] = chain->column_bias[lane] = NAN;
    }
    for (int lane = (int)count; lane < chain->lanes; lane++) { /* idle lanes repeat the first */
        chain->exponent[lane] = chain->exponent[0];
        for (int64_t i = 0; i < d * n; i++)
            chain->z[i * chain->lanes + lane] = chain->z[i * chain->lanes];
    }
    NORMA_TRY(norma_chain_single_check_given(chain));
    NORMA_TRY(begin_layer_zero(chain));
    NORMA_TRY(norma_chain_single_round(chain, chain->z));
    swap_matrices(chain);
    for (int lane = 0; chain->gram_from_input && lane < chain->lanes; lane++)
        norma_chain_gram(chain, lane, chain->gram_reference + lane * n * n);
    return chain->frame ? norma_chain_frame_start(chain->frame, chain->h, chain->exponent[0])
                        : NORMA_OK;
}

norma_status norma_chain_step(norma_chain *chain)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t layer = chain->draw.layer, exponent = chain->exponent[0];
    chain->making = layer + 1;
    if (spec->weights == NORMA_DISTRIBUTION_GIVEN && layer >= spec->n_given)
        return NORMA_FAIL(NORMA_CONFIG, "the given weights end after %lld layers",
                          (long long)spec->n_given);
    if (layer >= NORMA_RNG_N_LAYERS)
        return NORMA_FAIL(NORMA_LIMIT, "a chain has at most %lld layers",
                          (long long)NORMA_RNG_N_LAYERS);
    NORMA_TRY(norma_chain_product(chain));
    if (chain->family[NORMA_OBSERVABLE_FAMILY_BIAS])
        norma_chain_measure_bias(chain);
    if (chain->trace)
        memcpy(chain->trace, chain->z,
               (size_t)(spec->width * spec->batch * chain->lanes) * sizeof *chain->z);
    NORMA_TRY(norma_chain_normalize(chain, norma_chain_spec_gain(spec, layer)));
    if (spec->norm == NORMA_CHAIN_NORM_NONE)
        NORMA_TRY(norma_chain_rescale(chain, chain->z));
    if (chain->frame)
        NORMA_TRY(norma_chain_frame_advance(chain->frame, chain->factor,
                                            spec->norm == NORMA_CHAIN_NORM_NONE ? 0 : -exponent));
    NORMA_TRY(norma_chain_single_round(chain, chain->z));
    swap_matrices(chain);
    chain->draw.layer = layer + 1;
    return NORMA_OK;
}

void norma_chain_get_lyapunov(const norma_chain *chain, int lane, double *out)
{
    const norma_chain_frame *frame = chain->frame;
    (void)lane; /* a chain with a frame has one lane */
    for (int64_t k = 0; frame && k < frame->k; k++)
        out[k] = frame->n_layers > 0 ? frame->log_sums[k] / (double)frame->n_layers : NAN;
}

void norma_chain_reset_lyapunov(norma_chain *chain)
{
    if (chain->frame) {
        memset(chain->frame->log_sums, 0, (size_t)chain->frame->k * sizeof(double));
        chain->frame->n_layers = 0;
    }
}
