#include "src/gradient/gradient_state.h"

#include "src/base/largest.h"
#include "src/base/mem_place.h"

#include <math.h>
#include <string.h>

/* H and Z of all layers are kept where they take at most this, and W with them likewise. */
#define KEPT_BYTES ((double)((int64_t)1 << 28))

static const double log_2 = 0.69314718055994530942;

/* --- checks, sizes ---------------------------------------------------------------------------- */

static norma_status check(const norma_chain_spec *spec, const norma_gradient_request *request)
{
    if (spec->single)
        return NORMA_FAIL(NORMA_CONFIG, "gradients are computed in double precision only");
    if (request->depth < 0 || request->depth > NORMA_RNG_N_LAYERS)
        return NORMA_FAIL(NORMA_LIMIT, "a chain has 0 to %lld layers, not %lld",
                          (long long)NORMA_RNG_N_LAYERS, (long long)request->depth);
    if (request->segment < 0 || request->jacobian < 0)
        return NORMA_FAIL(NORMA_CONFIG, "segments and windows have at least 1 layer");
    if (request->jacobian > request->depth)
        return NORMA_FAIL(NORMA_CONFIG, "a window of %lld layers does not fit into %lld layers",
                          (long long)request->jacobian, (long long)request->depth);
    if (request->jacobian > 0 && spec->law == NORMA_CHAIN_LAW_EXACT)
        return NORMA_FAIL(NORMA_CONFIG,
                          "law exact draws W for a single cotangent, but the norm of a Jacobian "
                          "takes many; use law pathwise");
    if (request->per_sample && (spec->batch < 2 || request->depth < 1))
        return NORMA_FAIL(NORMA_CONFIG,
                          "cosines between gradients of samples need 2 samples and 1 layer");
    return norma_gradient_loss_check(&request->loss, spec->width, spec->batch);
}

static void set_sizes(norma_gradient *g)
{
    const int64_t depth = g->request.depth, window = g->request.jacobian;
    const double layer_bytes =
        2.0 * (double)sizeof(double) * (double)g->spec->width * (double)g->spec->batch;
    int64_t segment = g->request.segment;
    if (segment == 0)
        segment =
            layer_bytes * (double)depth <= KEPT_BYTES ? depth : (int64_t)ceil(sqrt((double)depth));
    segment = segment < depth ? segment : depth;
    segment = segment > 1 ? segment : 1;
    if (window > 0)
        segment = (segment + window - 1) / window * window;
    g->segment = segment;
    g->n_segments = depth > 0 ? (depth + segment - 1) / segment : 1;
    g->n_windows = window > 0 ? depth / window : 0;
    g->n_pairs = g->request.per_sample ? g->spec->batch * (g->spec->batch - 1) / 2 : 0;
    norma_gradient_share_init(g->spec->width, g->request.n_members, &g->share);
}

/* Is there place for W of a segment, beside H and Z? */
static bool keeps_weights(const norma_gradient *g)
{
    const double d = (double)g->spec->width, n = (double)g->spec->batch;
    return norma_chain_draws_rows(g->spec) && g->share.n_members == 1 &&
           sizeof(double) * d * (2 * n + d) * (double)g->segment <= KEPT_BYTES;
}

static norma_status place(norma_gradient *g, double *bytes)
{
    const int64_t d = g->spec->width, n = g->spec->batch;
    NORMA_TRY(NORMA_PLACE(g->state, norma_gradient_state_bytes(g), bytes));
    NORMA_TRY(NORMA_PLACE(g->h, g->segment * g->share.most * n, bytes));
    NORMA_TRY(NORMA_PLACE(g->z, g->segment * g->share.most * n, bytes));
    if (keeps_weights(g))
        NORMA_TRY(NORMA_PLACE(g->w, g->segment * d * d, bytes));
    for (int k = 0; k < 2 && g->share.n_members > 1; k++)
        NORMA_TRY(NORMA_PLACE(g->whole[k], d * n, bytes));
    NORMA_TRY(NORMA_PLACE(g->exponent, g->segment, bytes));
    NORMA_TRY(NORMA_PLACE(g->v, d * n, bytes));
    NORMA_TRY(NORMA_PLACE(g->spare, d * n, bytes));
    NORMA_TRY(norma_gradient_map_place(&g->map, g->spec, bytes));
    NORMA_TRY(norma_gradient_weights_place(&g->weights, g->spec, &g->share, bytes));
    NORMA_TRY(norma_gradient_loss_place(&g->loss, &g->request.loss, d, n, bytes));
    if (g->n_windows > 0) {
        NORMA_TRY(NORMA_PLACE(g->tangent[0], d * n, bytes));
        NORMA_TRY(NORMA_PLACE(g->tangent[1], d * n, bytes));
    }
    if (!g->request.per_sample)
        return NORMA_OK;
    NORMA_TRY(NORMA_PLACE(g->samples, n * n, bytes));
    NORMA_TRY(NORMA_PLACE(g->spread, n * d, bytes));
    return NORMA_PLACE(g->products, n * n, bytes);
}

static norma_observable_request observables(const norma_gradient_request *request)
{
    norma_observable_request wanted;
    norma_observable_request_init(&wanted);
    wanted.wanted = request->isometry_gap ? NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_ISOMETRY_GAP) : 0;
    return wanted;
}

norma_status norma_gradient_check(const norma_chain_spec *spec, const norma_chain_input *input,
                                  const norma_gradient_request *request,
                                  norma_gradient_needs *needs)
{
    norma_chain_spec finished = *spec;
    norma_gradient g = {.spec = &finished, .request = *request};
    norma_observable_request wanted = observables(request);
    norma_chain_needs chain;
    NORMA_TRY(norma_chain_spec_finish(&finished));
    NORMA_TRY(check(&finished, request));
    NORMA_TRY(norma_chain_check(&finished, input, &wanted, 1, &chain));
    set_sizes(&g);
    g.kept_bytes = chain.state_bytes;
    needs->bytes = chain.bytes;
    NORMA_TRY(place(&g, &needs->bytes));
    needs->state_bytes = norma_gradient_state_bytes(&g);
    needs->segment = g.segment;
    needs->not_shared = chain.not_shared;
    needs->most_members = chain.not_shared ? 1 : norma_gradient_share_most_members(finished.width);
    return NORMA_OK;
}

/* Can so many members share the chain? */
static norma_status check_members(const norma_chain_spec *spec, const norma_chain_input *input,
                                  const norma_gradient_request *request)
{
    norma_gradient_needs needs;
    if (request->n_members <= 1)
        return NORMA_OK;
    NORMA_TRY(norma_gradient_check(spec, input, request, &needs));
    if (request->n_members <= needs.most_members)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_LIMIT, "at most %lld processes can share this chain, not %lld",
                      (long long)needs.most_members, (long long)request->n_members);
}

norma_status norma_gradient_create(const norma_chain_spec *spec, const norma_chain_input *input,
                                   const norma_gradient_request *request, norma_gradient **out)
{
    norma_gradient *g = NULL;
    norma_status status = NORMA_OK;
    norma_observable_request wanted = observables(request);
    NORMA_TRY(check_members(spec, input, request));
    NORMA_GOTO(status, NORMA_CALLOC(g, 1));
    NORMA_GOTO(status, norma_chain_create(spec, input, &wanted, 1, &g->chain));
    g->spec = norma_chain_get_spec(g->chain);
    g->request = *request;
    g->kept_bytes = norma_chain_state_size(g->chain);
    NORMA_GOTO(status, check(g->spec, request));
    set_sizes(g);
    NORMA_GOTO(status, place(g, NULL));
    norma_gradient_state_divide(g);
    *out = g;
    return NORMA_OK;
done:
    norma_gradient_destroy(&g);
    return status;
}

void norma_gradient_destroy(norma_gradient **gradient)
{
    norma_gradient *g = *gradient;
    if (!g)
        return;
    double **const arrays[] = {&g->h,          &g->z,       &g->w,      &g->whole[0],
                               &g->whole[1],   &g->v,       &g->spare,  &g->tangent[0],
                               &g->tangent[1], &g->samples, &g->spread, &g->products};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        NORMA_FREE(*arrays[i]);
    NORMA_FREE(g->state);
    NORMA_FREE(g->exponent);
    norma_gradient_map_clear(&g->map);
    norma_gradient_weights_clear(&g->weights);
    norma_gradient_loss_clear(&g->loss);
    norma_chain_destroy(&g->chain);
    NORMA_FREE(*gradient);
}

void norma_gradient_join(norma_gradient *g, const norma_chain_team *team)
{
    norma_gradient_share_join(&g->share, team);
    norma_chain_join(g->chain, team);
}

/* --- the passes ------------------------------------------------------------------------------- */

/* The place of the current layer among those that are measured; n_layers when it is none. */
static int64_t find_layer(const norma_gradient_request *request, int64_t layer)
{
    int64_t low = 0, high = request->n_layers;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (request->layers[middle] < layer)
            low = middle + 1;
        else
            high = middle;
    }
    return low < request->n_layers && request->layers[low] == layer ? low : request->n_layers;
}

static norma_status measure(norma_gradient *g)
{
    if (!g->request.isometry_gap)
        return NORMA_OK;
    int64_t at = find_layer(&g->request, g->layer);
    if (at == g->request.n_layers)
        return NORMA_OK;
    return norma_chain_measure(g->chain, NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_ISOMETRY_GAP),
                               g->isometry_gap + at);
}

bool norma_gradient_rescale(int64_t count, double *v, int64_t *exponent)
{
    const double largest = norma_largest_magnitude(count, v);
    if (!isfinite(largest))
        return false;
    const int shift = largest > 0 ? ilogb(largest) : 0;
    const double factor = ldexp(1, -shift / 2), rest = ldexp(1, -shift - -shift / 2);
    for (int64_t k = 0; k < count && shift != 0; k++)
        v[k] = v[k] * factor * rest;
    *exponent += shift;
    return true;
}

/* From the forward pass to the backward one: the loss at H_L. */
static norma_status turn(norma_gradient *g)
{
    const int64_t count = g->spec->width * g->spec->batch;
    int64_t exponent = 0;
    norma_chain_get_matrix(g->chain, 0, g->spare, &exponent);
    NORMA_TRY(norma_gradient_share_agree(
        &g->share, norma_gradient_loss_back(&g->loss, g->spare, exponent, &g->value, g->v)));
    norma_gradient_share_first(&g->share, 1, &g->value);
    norma_gradient_share_first(&g->share, count, g->v);
    g->v_exponent = 0;
    if (!norma_gradient_rescale(count, g->v, &g->v_exponent))
        return NORMA_FAIL(NORMA_NUMERIC, "replica %lld: the gradient of the loss is not finite",
                          (long long)g->draw.replica);
    g->pass = NORMA_GRADIENT_BACKWARD;
    g->layer = g->request.depth - 1;
    return NORMA_OK;
}

norma_status norma_gradient_start(norma_gradient *g, uint64_t seed, int64_t cell, int64_t replica)
{
    g->draw = (norma_chain_draw){seed, cell, replica, 0};
    g->pass = NORMA_GRADIENT_FORWARD;
    g->layer = g->progress = 0;
    g->last = g->gathered = -1;
    g->value = NAN;
    for (int64_t l = 0; l < g->request.depth; l++)
        g->log_norm[l] = NAN;
    for (int64_t k = 0; g->isometry_gap && k < g->request.n_layers; k++)
        g->isometry_gap[k] = NAN;
    for (int64_t w = 0; w < g->n_windows; w++)
        g->log_jacobian[w] = NAN;
    for (int64_t p = 0; p < g->n_pairs; p++)
        g->cosine[p] = NAN;
    NORMA_TRY(norma_chain_start(g->chain, seed, cell, replica, 1));
    NORMA_TRY(norma_gradient_share_agree(&g->share,
                                         norma_gradient_loss_start(&g->loss, seed, cell, replica)));
    norma_chain_get_state(g->chain, norma_gradient_kept(g, 0));
    NORMA_TRY(measure(g));
    return g->request.depth == 0 ? turn(g) : NORMA_OK;
}

static norma_status step_forward(norma_gradient *g)
{
    const bool last = g->layer / g->segment == g->n_segments - 1;
    NORMA_TRY(norma_gradient_advance(g, last));
    if (g->layer % g->segment == 0 && g->layer < g->request.depth)
        norma_chain_get_state(g->chain, norma_gradient_kept(g, g->layer / g->segment));
    if (g->layer > g->progress)
        g->progress = g->layer;
    NORMA_TRY(measure(g));
    return g->layer == g->request.depth ? turn(g) : NORMA_OK;
}

int64_t norma_gradient_n_left(const norma_gradient *g)
{
    return 2 * g->request.depth - g->progress;
}

static norma_status step_again(norma_gradient *g)
{
    const int64_t left = norma_gradient_n_left(g);
    int64_t end = (left + g->segment - 1) / g->segment * g->segment;
    end = end < g->request.depth ? end : g->request.depth;
    NORMA_TRY(norma_gradient_advance(g, true));
    if (g->layer < (g->n_windows > 0 ? end : left)) /* a window needs all of its layers */
        return NORMA_OK;
    g->pass = NORMA_GRADIENT_BACKWARD;
    g->layer = left - 1;
    return NORMA_OK;
}

/* log || dL/dW ||_F from V_Z = spare 2^v_exponent. */
static norma_status weight_norm(norma_gradient *g, const double *h, int64_t h_exponent)
{
    const int64_t count = g->spec->width * g->spec->batch;
    const double largest = norma_largest_magnitude(count, h);
    double norm = 0;
    const int shift = largest > 0 ? -ilogb(largest) : 0;
    NORMA_TRY(norma_gradient_weights_norm(&g->weights, g->v, h, shift, &norm));
    g->log_norm[g->layer] = log(norm) + (double)(g->v_exponent + h_exponent - shift) * log_2;
    return NORMA_OK;
}

static norma_status fail_layer(const norma_gradient *g)
{
    return NORMA_FAIL(NORMA_NUMERIC,
                      "layer %lld, replica %lld: the gradient is not finite; the activation's "
                      "derivative grows too fast",
                      (long long)g->layer, (long long)g->draw.replica);
}

static norma_status step_backward(norma_gradient *g)
{
    const int64_t count = g->spec->width * g->spec->batch, layer = g->layer;
    const int64_t exponent = g->exponent[layer % g->segment];
    const double *h = NULL, *z = NULL;
    norma_gradient_loaded(g, layer, &h, &z);
    norma_gradient_take_weights(g, layer);
    norma_gradient_map_set(&g->map, layer, z);
    if (g->request.per_sample && layer == g->request.depth - 1)
        norma_gradient_cosine(g);
    norma_gradient_map_back(&g->map, g->v);
    if (g->spec->norm != NORMA_CHAIN_NORM_NONE)
        g->v_exponent -= exponent;
    if (!norma_gradient_rescale(count, g->v, &g->v_exponent))
        return fail_layer(g);
    NORMA_TRY(weight_norm(g, h, exponent));
    if (layer > 0)
        NORMA_TRY(norma_gradient_weights_back(&g->weights, h, g->v, g->spare));
    double *v = g->v;
    g->v = g->spare;
    g->spare = v;
    g->last = layer;
    g->last_h = h;
    if (g->n_windows > 0 && layer % g->request.jacobian == 0 &&
        layer / g->request.jacobian < g->n_windows)
        NORMA_TRY(norma_gradient_jacobian(g, layer / g->request.jacobian));
    g->progress++;
    g->layer = layer - 1;
    if (layer > 0 && layer % g->segment == 0)
        norma_gradient_load(g);
    return NORMA_OK;
}

norma_status norma_gradient_step(norma_gradient *g)
{
    if (norma_gradient_is_done(g))
        return NORMA_OK;
    switch (g->pass) {
    case NORMA_GRADIENT_FORWARD:
        return step_forward(g);
    case NORMA_GRADIENT_AGAIN:
        return step_again(g);
    default:
        return step_backward(g);
    }
}

bool norma_gradient_is_done(const norma_gradient *g)
{
    return g->progress == 2 * g->request.depth;
}

int64_t norma_gradient_progress(const norma_gradient *g)
{
    return g->progress;
}

void norma_gradient_get_result(const norma_gradient *g, norma_gradient_result *result)
{
    *result = (norma_gradient_result){.loss = g->value,
                                      .log_norm = g->log_norm,
                                      .isometry_gap = g->isometry_gap,
                                      .log_jacobian = g->log_jacobian,
                                      .cosine = g->cosine,
                                      .n_windows = g->n_windows,
                                      .n_pairs = g->n_pairs};
}

void norma_gradient_get_layer(const norma_gradient *g, const double **v, int64_t *v_exponent,
                              const double **h, int64_t *h_exponent)
{
    *v = g->spare;
    *v_exponent = g->v_exponent;
    *h = g->last_h;
    *h_exponent = g->exponent[g->last % g->segment];
}
