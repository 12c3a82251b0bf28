/* Everything about a chain that takes no memory: checks, kernels, sizes. */
#include "src/chain/chain_state.h"
#include "src/chain/single.h"

#include "src/base/cpu.h"

#include <math.h>
#include <stddef.h>

/* Bytes of a panel of W: it stays in the second-level cache until it is multiplied. BLAS packs H
 * for each panel, which costs too much where panels have fewer rows. */
#define PANEL_BYTES ((int64_t)1 << 18)
#define PANEL_LEAST_ROWS 128

/* The property that an observable needs of its chain. */
static norma_status check_requirement(const norma_chain *chain, norma_observable observable)
{
    const norma_chain_spec *spec = &chain->spec;
    const norma_observable_request *request = &chain->request;
    const norma_observable_descriptor *o = norma_observable_get(observable);
    const double least = norma_chain_single_rank_tolerance(spec);
    switch (o->requirement) {
    case NORMA_OBSERVABLE_NEEDS_TWO_SAMPLES:
        if (spec->batch < 2)
            return NORMA_FAIL(NORMA_CONFIG, "%s compares two samples; the batch is 1", o->name);
        return NORMA_OK;
    case NORMA_OBSERVABLE_NEEDS_REFERENCE:
        if (!request->gram_reference && !norma_chain_has_fixed_point(spec) &&
            !(spec->norm == NORMA_CHAIN_NORM_NONE && norma_chain_spec_is_linear(spec)))
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s has no fixed point to compare with here (it needs bn or "
                              "bn-centered before the activation, no residual, gain or eps)",
                              o->name);
        return NORMA_OK;
    case NORMA_OBSERVABLE_NEEDS_RANK_TOLERANCE:
        if (spec->single && !request->rank_single && request->rank_tolerance < least)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s of a chain in single precision counts rounding errors below "
                              "%.2g of the largest singular value: use rank precision single, or "
                              "a rank tolerance from there on",
                              o->name, least);
        return NORMA_OK;
    default:
        return NORMA_OK;
    }
}

/* Lengths of the axes, and everything that an observable needs. */
static norma_status check_request(const norma_chain *chain)
{
    const norma_chain_spec *spec = &chain->spec;
    const norma_observable_request *request = &chain->request;
    int64_t smaller = spec->width < spec->batch ? spec->width : spec->batch;
    bool columns = spec->norm == NORMA_CHAIN_NORM_LN || spec->norm == NORMA_CHAIN_NORM_RMS;
    if (request->n_tau < 0 || request->n_tau > NORMA_OBSERVABLE_MAX_TAU)
        return NORMA_FAIL(NORMA_CONFIG, "at most %d thresholds tau, not %d",
                          NORMA_OBSERVABLE_MAX_TAU, request->n_tau);
    if (norma_chain_wants_frame(chain) && (!norma_chain_spec_is_linear(spec) || columns ||
                                           spec->batch > spec->width || spec->bn_eps > 0))
        return NORMA_FAIL(
            NORMA_CONFIG,
            "log_sigma_min and Lyapunov exponents need a linear chain without a norm of "
            "columns (ln, rms), no bn-eps, and a batch of at most the width");
    for (int k = 0; k < NORMA_N_OBSERVABLES; k++) {
        const norma_observable_descriptor *o = norma_observable_get((norma_observable)k);
        if (!norma_chain_wants(chain, (norma_observable)k))
            continue;
        if (o->axis == NORMA_OBSERVABLE_AXIS_K &&
            (request->n_singular < 1 || request->n_singular > smaller))
            return NORMA_FAIL(NORMA_CONFIG, "%s: k must be 1 to %lld, not %d", o->name,
                              (long long)smaller, request->n_singular);
        NORMA_TRY(check_requirement(chain, (norma_observable)k));
    }
    return NORMA_OK;
}

/* Has it a product with W itself by kernels, of matrices up to this size? */
static bool has_product(const norma_chain *chain, int64_t most)
{
    const norma_chain_spec *spec = &chain->spec;
    return spec->law == NORMA_CHAIN_LAW_PATHWISE && spec->width <= most && spec->batch <= most &&
           norma_law_get(spec->weights)->source != NORMA_LAW_HAAR &&
           !norma_chain_wants_frame(chain);
}

/* Small, and of a law that is drawn in lanes. */
static bool use_lanes(const norma_chain *chain)
{
    return has_product(chain, NORMA_LANES_MAX_SIZE) &&
           norma_law_has(chain->spec.weights, NORMA_LAW_LANES);
}

/* So small that single precision and several ranks gain nothing; masked laws keep both all the
 * same. */
static bool is_too_small(const norma_chain *chain)
{
    return use_lanes(chain) && !norma_law_has(chain->spec.weights, NORMA_LAW_MASKED);
}

/* Kernels of one replica; without vectors BLAS is faster. */
static bool use_solo(const norma_chain *chain)
{
    return has_product(chain, norma_cpu_isa() == NORMA_ISA_SCALAR ? NORMA_LANES_MAX_SIZE
                                                                  : NORMA_SOLO_MAX_SIZE);
}

/* The map H -> H' is homogeneous of degree 0 or 1, so a power of two can be kept aside. */
static bool is_scale_free(const norma_chain_spec *spec)
{
    bool homogeneous = norma_activation_is_homogeneous(&spec->activation);
    if (spec->norm == NORMA_CHAIN_NORM_NONE)
        return homogeneous;
    return spec->bn_eps == 0 && (homogeneous || spec->order == NORMA_CHAIN_NORM_ACT);
}

/* Refuses what a chain in single precision cannot carry. */
static norma_status check_single(const norma_chain *chain)
{
    if (!chain->spec.single)
        return NORMA_OK;
    if (norma_chain_wants_frame(chain))
        return NORMA_FAIL(NORMA_CONFIG,
                          "log_sigma_min and Lyapunov exponents are followed in double precision "
                          "only: leave them out, or use precision double");
    if (is_too_small(chain))
        return NORMA_FAIL(NORMA_CONFIG,
                          "width %lld and batch %lld: chains of at most %d by %d are computed in "
                          "vector registers, in double precision only: use precision double",
                          (long long)chain->spec.width, (long long)chain->spec.batch,
                          NORMA_LANES_MAX_SIZE, NORMA_LANES_MAX_SIZE);
    return NORMA_OK;
}

static void set_offsets(norma_chain *chain)
{
    int64_t at = 0;
    for (int k = 0; k < NORMA_N_OBSERVABLES; k++) {
        chain->offset[k] = at;
        if (norma_chain_wants(chain, (norma_observable)k))
            at += norma_observable_n_values((norma_observable)k, &chain->request);
    }
    chain->offset[NORMA_N_OBSERVABLES] = at;
}

static void set_panel(norma_chain *chain)
{
    const int64_t d = chain->spec.width;
    int64_t rows = PANEL_BYTES / (d * chain->lanes * (int64_t)sizeof(double)) / 4 * 4;
    chain->panel_rows = rows < PANEL_LEAST_ROWS ? PANEL_LEAST_ROWS : rows;
    if (chain->panel_rows > d)
        chain->panel_rows = d;
}

norma_status norma_chain_prepare(norma_chain *chain, const norma_chain_spec *spec,
                                 const norma_chain_input *input,
                                 const norma_observable_request *request, int64_t block)
{
    chain->spec = *spec;
    chain->input = *input;
    chain->request = *request;
    for (int f = 0; f < NORMA_N_OBSERVABLE_FAMILIES; f++)
        chain->family[f] = request->wanted & norma_observable_of_family((norma_observable_family)f);
    NORMA_TRY(norma_chain_spec_finish(&chain->spec));
    NORMA_TRY(norma_chain_input_finish(&chain->input, spec->width, chain->spec.batch));
    NORMA_TRY(check_request(chain));
    NORMA_TRY(check_single(chain));
    if (use_lanes(chain) && !chain->spec.single)
        chain->kernels = norma_lanes_get_block(block);
    else if (use_solo(chain))
        chain->kernels = norma_lanes_get_solo();
    chain->lanes = chain->kernels ? chain->kernels->lanes : 1;
    chain->scale_free = is_scale_free(&chain->spec);
    chain->gram_from_input = norma_chain_wants(chain, NORMA_OBSERVABLE_GRAM_DISTANCE) &&
                             !request->gram_reference && !norma_chain_has_fixed_point(&chain->spec);
    int64_t longest = chain->spec.width > chain->spec.batch ? chain->spec.width : chain->spec.batch;
    chain->n_lapack = 128 * longest + 4160;
    set_offsets(chain);
    set_panel(chain);
    double ignored = 0;
    return norma_chain_wants_frame(chain)
               ? norma_chain_frame_measure(chain->spec.width, chain->spec.batch,
                                           norma_chain_is_centered(chain), &ignored,
                                           &chain->n_frame_state)
               : NORMA_OK;
}

const char *norma_chain_why_not_shared(const norma_chain *chain)
{
    if (chain->spec.law == NORMA_CHAIN_LAW_EXACT)
        return "law exact draws no W whose rows could be dealt out (--law pathwise does)";
    if (norma_law_get(chain->spec.weights)->source == NORMA_LAW_HAAR)
        return "orthogonal weights are applied as reflections, one after the other";
    if (norma_chain_wants_frame(chain))
        return "log_sigma_min and Lyapunov exponents are followed by one rank";
    return is_too_small(chain) ? "a chain with width and batch up to 64 is too small" : NULL;
}
