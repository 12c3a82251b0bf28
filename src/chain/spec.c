#include "src/chain/spec.h"

#include "src/base/index.h"
#include "src/base/rng.h"
#include "src/theory/second_moment.h"

#include <math.h>

typedef struct preset_line {
    const char *name, *summary;
    norma_chain_spec spec;
} preset_line;

#define PRESET(number, name, weights_, weight_scale_, residual_, norm_, unit_norm_, order_,        \
               activation_, act_scale_, scale_, gram_scale_, start_, carry_norm_, summary)         \
    [NORMA_CHAIN_##number] = {name,                                                                \
                              summary,                                                             \
                              {.preset = NORMA_CHAIN_##number,                                     \
                               .weights = NORMA_DISTRIBUTION_##weights_,                           \
                               .weight_scale = (weight_scale_),                                    \
                               .residual = (residual_),                                            \
                               .norm = NORMA_CHAIN_NORM_##norm_,                                   \
                               .unit_norm = (unit_norm_),                                          \
                               .order = NORMA_CHAIN_##order_,                                      \
                               .activation.kind = NORMA_ACTIVATION_##activation_,                  \
                               .act_scale = (act_scale_),                                          \
                               .scale = (scale_),                                                  \
                               .gram_scale = (gram_scale_),                                        \
                               .start = NORMA_CHAIN_START_##start_,                                \
                               .carry_norm = (carry_norm_)}},
static const preset_line presets[NORMA_N_CHAIN_PRESETS] = {NORMA_CHAIN_PRESETS(PRESET)};

typedef struct choice {
    const char *name, *summary;
} choice;

static const choice norms[NORMA_N_CHAIN_NORMS] = {
    [NORMA_CHAIN_NORM_NONE] = {"none", "no normalization"},
    [NORMA_CHAIN_NORM_BN] = {"bn", "every row scaled to a fixed norm"},
    [NORMA_CHAIN_NORM_BN_CENTERED] = {"bn-centered", "as bn, the row's mean subtracted before"},
    [NORMA_CHAIN_NORM_LN] = {"ln", "as rms, the column's mean subtracted before"},
    [NORMA_CHAIN_NORM_RMS] = {"rms", "every column scaled to a fixed norm"},
};

static const choice orders[NORMA_N_CHAIN_ORDERS] = {
    [NORMA_CHAIN_NORM_ACT] = {"norm-act", "normalization before the activation"},
    [NORMA_CHAIN_ACT_NORM] = {"act-norm", "activation before the normalization"},
};

static const choice laws[NORMA_N_CHAIN_LAWS] = {
    [NORMA_CHAIN_LAW_AUTO] = {"auto", "exact where it is possible, else pathwise"},
    [NORMA_CHAIN_LAW_PATHWISE] = {"pathwise", "W itself is drawn"},
    [NORMA_CHAIN_LAW_EXACT] = {"exact", "only the action of W on the span of the batch is drawn, "
                                        "equal in law"},
};

static bool is_not_auto(int64_t law)
{
    return law != NORMA_CHAIN_LAW_AUTO;
}

const norma_names norma_chain_preset_names = NORMA_NAMES("chain preset", "presets", presets);
const norma_names norma_chain_norm_names = NORMA_NAMES("normalization", "normalizations", norms);
const norma_names norma_chain_order_names = NORMA_NAMES("order", "orders", orders);
const norma_names norma_chain_law_names =
    NORMA_NAMES_OF("law of a chain", "laws of chains", laws, is_not_auto);

norma_status norma_chain_preset_parse(const char *text, norma_chain_preset *out)
{
    int64_t k = 0;
    NORMA_TRY(norma_names_find(&norma_chain_preset_names, text, &k));
    *out = (norma_chain_preset)k;
    return NORMA_OK;
}

norma_status norma_chain_norm_parse(const char *text, norma_chain_norm *out)
{
    int64_t k = 0;
    NORMA_TRY(norma_names_find(&norma_chain_norm_names, text, &k));
    *out = (norma_chain_norm)k;
    return NORMA_OK;
}

norma_status norma_chain_order_parse(const char *text, norma_chain_order *out)
{
    int64_t k = 0;
    NORMA_TRY(norma_names_find(&norma_chain_order_names, text, &k));
    *out = (norma_chain_order)k;
    return NORMA_OK;
}

norma_status norma_chain_law_parse(const char *text, norma_chain_law *out)
{
    int64_t k = 0;
    NORMA_TRY(norma_names_find(&norma_chain_law_names, text, &k));
    *out = (norma_chain_law)k;
    return NORMA_OK;
}

const char *norma_chain_norm_name(norma_chain_norm norm)
{
    return norms[norm].name;
}

const char *norma_chain_law_name(norma_chain_law law)
{
    return laws[law].name;
}

void norma_chain_spec_init(norma_chain_preset preset, int64_t width, int64_t batch,
                           norma_chain_spec *out)
{
    *out = presets[preset].spec;
    out->width = width;
    out->batch = batch > 0 ? batch : width;
    if (out->weight_scale == 0)
        out->weight_scale = 1 / sqrt((double)width);
}

double norma_chain_spec_gain(const norma_chain_spec *spec, int64_t layer)
{
    if (spec->gain_exponent == 0)
        return spec->gain;
    return spec->gain * pow((double)layer + 1, -spec->gain_exponent);
}

bool norma_chain_spec_is_linear(const norma_chain_spec *spec)
{
    return spec->activation.kind == NORMA_ACTIVATION_IDENTITY;
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
    const char *preset = presets[spec->preset].name;
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
    if (!isfinite(spec->gain) || spec->gain < 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: the gain must be positive, not %g", preset,
                          spec->gain);
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
    const char *preset = presets[spec->preset].name;
    char known[NORMA_ACTIVATION_LIST];
    if (spec->carry_norm && !norma_activation_is_homogeneous(&spec->activation))
        return NORMA_FAIL(
            NORMA_CONFIG,
            "%s carries the norm in its logarithm, which only %s allow; thesis5 is "
            "the unnormalized chain for other activations",
            preset, norma_names_join(&norma_activation_homogeneous_names, known, sizeof known));
    if (spec->carry_norm && spec->norm != NORMA_CHAIN_NORM_NONE)
        return NORMA_FAIL(NORMA_CONFIG, "%s has no normalization; %s was asked for", preset,
                          norms[spec->norm].name);
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
    char rotating[NORMA_LAW_LIST];
    bool possible = norma_law_has(spec->weights, NORMA_LAW_ROTATES) && spec->batch < spec->width;
    if (spec->law == NORMA_CHAIN_LAW_AUTO)
        spec->law = possible ? NORMA_CHAIN_LAW_EXACT : NORMA_CHAIN_LAW_PATHWISE;
    if (spec->law == NORMA_CHAIN_LAW_EXACT && !possible)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: law exact needs a batch (%lld) below the width (%lld) and %s "
                          "weights; use law pathwise",
                          presets[spec->preset].name, (long long)spec->batch,
                          (long long)spec->width, norma_law_list(NORMA_LAW_ROTATES, rotating));
    return NORMA_OK;
}

/* Refuses layers that have no single-precision product. */
static norma_status check_single(const norma_chain_spec *spec)
{
    const char *preset = presets[spec->preset].name;
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
        NORMA_TRY(norma_second_moment(&spec->activation, &moment));
        spec->act_scale = 1 / sqrt(moment);
    }
    if (spec->gain == 0)
        spec->gain = 1;
    if (spec->scale == 0)
        spec->scale = 1 / sqrt((double)spec->width);
    if (spec->gram_scale == 0)
        spec->gram_scale = 1 / (double)spec->width;
    NORMA_TRY(finish_law(spec));
    return check_single(spec);
}
