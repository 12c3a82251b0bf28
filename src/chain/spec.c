#include "src/chain/spec.h"

#include "src/base/index.h"
#include "src/base/rng.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>

static const char *const preset_names[NORMA_N_CHAIN_PRESETS] = {
    "rank20",          "thesis2",          "thesis3",        "thesis5",
    "thesis5-pre-rms", "thesis5-post-rms", "thesis5-pre-ln", "thesis5-post-ln",
    "thesis6",         "thesis6-shaped",   "vanilla",        "vanilla-residual"};
static const char *const norm_names[NORMA_N_CHAIN_NORMS] = {"none", "bn", "bn-centered", "ln",
                                                            "rms"};
static const char *const order_names[NORMA_N_CHAIN_ORDERS] = {"norm-act", "act-norm"};
static const char *const law_names[NORMA_N_CHAIN_LAWS] = {"auto", "pathwise", "exact"};

static norma_status parse(const char *what, const char *text, const char *const *names, int n,
                          int *out)
{
    for (int k = 0; k < n; k++)
        if (strcmp(text, names[k]) == 0) {
            *out = k;
            return NORMA_OK;
        }
    const char *nearest = norma_text_nearest(text, names, n);
    return NORMA_FAIL(NORMA_CONFIG, "unknown %s '%.60s'%s%s%s", what, text,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
}

norma_status norma_chain_preset_parse(const char *text, norma_chain_preset *out)
{
    int k = 0;
    NORMA_TRY(parse("chain preset", text, preset_names, NORMA_N_CHAIN_PRESETS, &k));
    *out = (norma_chain_preset)k;
    return NORMA_OK;
}

norma_status norma_chain_norm_parse(const char *text, norma_chain_norm *out)
{
    int k = 0;
    NORMA_TRY(parse("normalization", text, norm_names, NORMA_N_CHAIN_NORMS, &k));
    *out = (norma_chain_norm)k;
    return NORMA_OK;
}

norma_status norma_chain_order_parse(const char *text, norma_chain_order *out)
{
    int k = 0;
    NORMA_TRY(parse("order", text, order_names, NORMA_N_CHAIN_ORDERS, &k));
    *out = (norma_chain_order)k;
    return NORMA_OK;
}

norma_status norma_chain_law_parse(const char *text, norma_chain_law *out)
{
    int k = 0;
    NORMA_TRY(parse("law", text, law_names, NORMA_N_CHAIN_LAWS, &k));
    *out = (norma_chain_law)k;
    return NORMA_OK;
}

const char *norma_chain_preset_name(norma_chain_preset preset)
{
    return preset_names[preset];
}

const char *norma_chain_norm_name(norma_chain_norm norm)
{
    return norm_names[norm];
}

const char *norma_chain_order_name(norma_chain_order order)
{
    return order_names[order];
}

const char *norma_chain_law_name(norma_chain_law law)
{
    return law_names[law];
}

static void init_thesis5(norma_chain_preset preset, norma_chain_spec *spec)
{
    spec->activation.kind = NORMA_NONLINEARITY_RELU;
    spec->weight_scale = 1 / sqrt((double)spec->width);
    if (preset == NORMA_CHAIN_THESIS5)
        spec->act_scale = 0;
    if (preset == NORMA_CHAIN_THESIS5_PRE_RMS || preset == NORMA_CHAIN_THESIS5_POST_RMS)
        spec->norm = NORMA_CHAIN_NORM_RMS;
    if (preset == NORMA_CHAIN_THESIS5_PRE_LN || preset == NORMA_CHAIN_THESIS5_POST_LN)
        spec->norm = NORMA_CHAIN_NORM_LN;
    if (preset == NORMA_CHAIN_THESIS5_POST_RMS || preset == NORMA_CHAIN_THESIS5_POST_LN)
        spec->order = NORMA_CHAIN_ACT_NORM;
}

static void init_thesis6(norma_chain_preset preset, norma_chain_spec *spec)
{
    spec->weights = NORMA_DISTRIBUTION_ORTHOGONAL;
    spec->norm = NORMA_CHAIN_NORM_BN;
    spec->unit_norm = preset == NORMA_CHAIN_THESIS6;
    if (preset == NORMA_CHAIN_THESIS6_SHAPED)
        spec->activation.kind = NORMA_NONLINEARITY_TANH;
}

void norma_chain_spec_init(norma_chain_preset preset, int64_t width, int64_t batch,
                           norma_chain_spec *out)
{
    norma_chain_spec spec = {.preset = preset,
                             .width = width,
                             .batch = batch > 0 ? batch : width,
                             .residual = INFINITY,
                             .weights = NORMA_DISTRIBUTION_NORMAL,
                             .weight_scale = 1,
                             .act_scale = 1,
                             .scale = 1,
                             .gram_scale = 1};
    switch (preset) {
    case NORMA_CHAIN_RANK20:
        spec.norm = NORMA_CHAIN_NORM_BN;
        break;
    case NORMA_CHAIN_THESIS2:
        spec.norm = NORMA_CHAIN_NORM_BN;
        spec.unit_norm = true;
        spec.scale = 0;
        spec.weight_scale = 1 / sqrt((double)width);
        spec.start = NORMA_CHAIN_START_UNIT_FROBENIUS;
        break;
    case NORMA_CHAIN_THESIS3:
        spec.norm = NORMA_CHAIN_NORM_BN_CENTERED;
        spec.weight_scale = 1 / sqrt((double)width);
        spec.gram_scale = 0;
        spec.start = NORMA_CHAIN_START_THROUGH_LAYER;
        break;
    case NORMA_CHAIN_THESIS6:
    case NORMA_CHAIN_THESIS6_SHAPED:
        init_thesis6(preset, &spec);
        break;
    case NORMA_CHAIN_VANILLA:
        spec.weight_scale = 1 / sqrt((double)width);
        spec.carry_norm = true;
        break;
    case NORMA_CHAIN_VANILLA_RESIDUAL:
        spec.residual = 1;
        spec.carry_norm = true;
        break;
    default:
        init_thesis5(preset, &spec);
        break;
    }
    *out = spec;
}

bool norma_chain_spec_is_linear(const norma_chain_spec *spec)
{
    return spec->activation.kind == NORMA_NONLINEARITY_IDENTITY;
}

static norma_status check_sizes(const norma_chain_spec *spec)
{
    int ignored = 0;
    int64_t elements = 0;
    if (spec->width < 1 || spec->batch < 1)
        return NORMA_FAIL(NORMA_CONFIG, "width and batch must be at least 1, not %lld and %lld",
                          (long long)spec->width, (long long)spec->batch);
    NORMA_TRY(norma_index_to_int(spec->width, "chain width", &ignored));
    NORMA_TRY(norma_index_to_int(spec->batch, "chain batch", &ignored));
    NORMA_TRY(norma_index_multiply(spec->width, spec->width, "entries of W", &elements));
    if (elements > NORMA_RNG_N_ELEMENTS)
        return NORMA_FAIL(NORMA_LIMIT, "width %lld: W has more entries than a layer's counters",
                          (long long)spec->width);
    NORMA_TRY(norma_index_multiply(spec->width, spec->batch, "entries of H", &elements));
    return norma_index_to_int(elements, "entries of H", &ignored);
}

static norma_status check_numbers(const norma_chain_spec *spec)
{
    const char *preset = preset_names[spec->preset];
    if (!(spec->residual > 0))
        return NORMA_FAIL(NORMA_CONFIG, "%s: the residual strength must be positive or inf, not %g",
                          preset, spec->residual);
    if (spec->keep_probability < 0 || !(spec->keep_probability <= 1))
        return NORMA_FAIL(NORMA_CONFIG, "%s: the keep probability must be in (0, 1], not %g",
                          preset, spec->keep_probability);
    if (!(spec->bn_eps >= 0) || isinf(spec->bn_eps))
        return NORMA_FAIL(NORMA_CONFIG, "%s: bn-eps must be 0 or positive, not %g", preset,
                          spec->bn_eps);
    if (!isfinite(spec->gain_exponent) || !isfinite(spec->weight_scale) ||
        spec->weight_scale <= 0 || !isfinite(spec->act_scale) || spec->act_scale < 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: gain exponent %g, weight scale %g and act scale %g must be finite, "
                          "the scales positive",
                          preset, spec->gain_exponent, spec->weight_scale, spec->act_scale);
    if (!isfinite(spec->scale) || spec->scale < 0 || !isfinite(spec->gram_scale) ||
        spec->gram_scale < 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: scales must be positive", preset);
    if (norma_law_get(spec->weights)->source == NORMA_LAW_PAIRS)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s is a law of the two layers of a source pair; a chain needs a law "
                          "of one matrix",
                          preset, norma_distribution_name(spec->weights));
    if (spec->weights == NORMA_DISTRIBUTION_GIVEN && (!spec->given || spec->n_given < 1))
        return NORMA_FAIL(NORMA_CONFIG, "%s: weights from a file were asked for, but none given",
                          preset);
    return NORMA_OK;
}

static norma_status check_combination(const norma_chain_spec *spec)
{
    const char *preset = preset_names[spec->preset];
    if (spec->carry_norm && !norma_nonlinearity_is_homogeneous(&spec->activation))
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s carries the norm in its logarithm, which needs identity, relu or "
                          "leaky-relu; thesis5 is the unnormalized chain for other activations",
                          preset);
    if (spec->carry_norm && spec->norm != NORMA_CHAIN_NORM_NONE)
        return NORMA_FAIL(NORMA_CONFIG, "%s has no normalization; %s was asked for", preset,
                          norm_names[spec->norm]);
    if (spec->norm == NORMA_CHAIN_NORM_BN_CENTERED && spec->batch < 2)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: centring over a batch of 1 leaves no variance; use a larger batch",
                          preset);
    if (spec->norm == NORMA_CHAIN_NORM_LN && spec->width < 2)
        return NORMA_FAIL(NORMA_CONFIG, "%s: layer normalization needs a width of at least 2",
                          preset);
    return NORMA_OK;
}

/* Only W's action on span(H) is drawn: possible for laws invariant under rotations of the input. */
static norma_status finish_law(norma_chain_spec *spec)
{
    char laws[NORMA_LAW_LIST];
    bool possible = norma_law_has(spec->weights, NORMA_LAW_ROTATES) && spec->batch < spec->width;
    if (spec->law == NORMA_CHAIN_LAW_AUTO)
        spec->law = possible ? NORMA_CHAIN_LAW_EXACT : NORMA_CHAIN_LAW_PATHWISE;
    if (spec->law == NORMA_CHAIN_LAW_EXACT && !possible)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: law exact needs a batch (%lld) below the width (%lld) and %s "
                          "weights; use law pathwise",
                          preset_names[spec->preset], (long long)spec->batch,
                          (long long)spec->width, norma_law_list(NORMA_LAW_ROTATES, laws));
    return NORMA_OK;
}

/* What has no single-precision product. */
static norma_status check_single(const norma_chain_spec *spec)
{
    const char *preset = preset_names[spec->preset];
    if (spec->single && spec->law == NORMA_CHAIN_LAW_EXACT)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: single precision is for chains that draw W itself; law exact (batch "
                          "%lld below width %lld) is faster in double: leave precision double, or "
                          "use law pathwise",
                          preset, (long long)spec->batch, (long long)spec->width);
    if (spec->single && norma_law_get(spec->weights)->source == NORMA_LAW_HAAR)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: orthogonal weights are applied as reflections in double precision; "
                          "use precision double",
                          preset);
    return NORMA_OK;
}

norma_status norma_chain_spec_finish(norma_chain_spec *spec)
{
    double moment = 1;
    NORMA_TRY(check_sizes(spec));
    NORMA_TRY(check_numbers(spec));
    NORMA_TRY(check_combination(spec));
    if (spec->act_scale == 0) {
        NORMA_TRY(norma_nonlinearity_second_moment(&spec->activation, &moment));
        spec->act_scale = 1 / sqrt(moment);
    }
    if (spec->scale == 0)
        spec->scale = 1 / sqrt((double)spec->width);
    if (spec->gram_scale == 0)
        spec->gram_scale = 1 / (double)spec->width;
    NORMA_TRY(finish_law(spec));
    return check_single(spec);
}
