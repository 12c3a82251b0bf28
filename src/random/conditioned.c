#include "src/random/conditioned.h"

#include "src/base/mem.h"
#include "src/random/haar.h"

#include <string.h>

struct norma_conditioned {
    const norma_tensor_spec *spec; /* borrowed */
    int64_t n_taps;                /* of the composite kernel */
    int64_t length;                /* c0 |K|: weights of an output */
    int64_t width;                 /* of the composite kernel */
    double *orthogonal;            /* ORTHO_COND: [n_channels][n_channels]; owned */
};

static int64_t composite(const norma_tensor_pair *pair, int axis)
{
    return pair->first[axis] + pair->second[axis] - 1;
}

norma_status norma_conditioned_check(const norma_tensor_spec *spec)
{
    const norma_tensor_pair *pair = &spec->pair;
    const char *name = norma_distribution_name(spec->distribution);
    if (pair->n_outputs < 1 || pair->n_inputs < 1)
        return NORMA_FAIL(NORMA_CONFIG, "%s is a law of the two layers of a source pair together",
                          name);
    int64_t most = pair->n_outputs * pair->n_inputs * composite(pair, 0) * composite(pair, 1);
    if (spec->distribution == NORMA_DISTRIBUTION_ID_COND_MIN)
        most -= pair->n_outputs - 1;
    if (spec->n_features > most)
        return NORMA_FAIL(NORMA_CONFIG, "%s has %lld features here, of which %lld are asked for%s",
                          name, (long long)most, (long long)spec->n_features,
                          spec->distribution == NORMA_DISTRIBUTION_ID_COND_MIN
                              ? ": use --width-rule min, and no excess"
                              : ": leave out the excess");
    return NORMA_OK;
}

/* A Haar matrix of the order of the tensor's channels. */
static norma_status draw_orthogonal(norma_conditioned *law)
{
    const norma_tensor_spec *spec = law->spec;
    norma_haar *haar = NULL;
    int64_t n = spec->n_channels;
    NORMA_TRY(NORMA_ALLOC(law->orthogonal, n * n));
    NORMA_TRY(norma_haar_create(spec->seed, &spec->stream, n, 1, n, &haar));
    norma_haar_fill(haar, 0, n, law->orthogonal);
    norma_haar_destroy(&haar);
    return NORMA_OK;
}

norma_status norma_conditioned_create(const norma_tensor_spec *spec, norma_conditioned **out)
{
    norma_conditioned *law = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, NORMA_CALLOC(law, 1));
    law->spec = spec;
    law->width = composite(&spec->pair, 1);
    law->n_taps = composite(&spec->pair, 0) * law->width;
    law->length = spec->pair.n_inputs * law->n_taps;
    if (spec->distribution == NORMA_DISTRIBUTION_ORTHO_COND)
        NORMA_GOTO(status, draw_orthogonal(law));
    *out = law;
    law = NULL;
done:
    norma_conditioned_destroy(&law);
    return status;
}

/* The weight of a feature: output i and place within it, input channel and position. */
static void place_of(const norma_conditioned *law, int64_t feature, int64_t *i, int64_t *at)
{
    int64_t length = law->length;
    if (law->spec->distribution != NORMA_DISTRIBUTION_ID_COND_MIN || feature < length) {
        *i = feature / length;
        *at = feature % length;
        return;
    }
    feature -= length; /* the other outputs lack their first weight */
    *i = 1 + feature / (length - 1);
    *at = 1 + feature % (length - 1);
}

/* The tap of this tensor's kernel for a position k of the composite one. */
static int64_t tap_of(const norma_conditioned *law, int64_t k)
{
    const norma_tensor_pair *pair = &law->spec->pair;
    const int64_t at[2] = {k / law->width, k % law->width};
    bool first = law->spec->role == NORMA_TENSOR_FIRST;
    int64_t tap[2];
    for (int axis = 0; axis < 2; axis++) {
        int64_t last = pair->second[axis] - 1;
        int64_t p = at[axis] < last ? at[axis] : last;
        tap[axis] = first ? at[axis] - p : p;
    }
    return tap[0] * (first ? pair->first[1] : pair->second[1]) + tap[1];
}

static void fill_row(const norma_conditioned *law, int64_t feature, double *row)
{
    const norma_tensor_spec *spec = law->spec;
    int64_t i = 0;
    int64_t at = 0;
    place_of(law, feature, &i, &at);
    bool first = spec->role == NORMA_TENSOR_FIRST;
    int64_t channel = first ? at / law->n_taps : i;
    int64_t tap = tap_of(law, at % law->n_taps);
    bool shared = spec->distribution == NORMA_DISTRIBUTION_ID_COND_MIN && feature == 0 && !first;
    memset(row, 0, (size_t)(spec->n_channels * spec->n_taps) * sizeof *row);
    for (int64_t c = 0; c < spec->n_channels; c++) {
        double value = c == channel || shared ? 1 : 0;
        if (law->orthogonal)
            value = law->orthogonal[first ? channel * spec->n_channels + c
                                          : c * spec->n_channels + channel];
        row[c * spec->n_taps + tap] = value;
    }
}

void norma_conditioned_fill(const norma_conditioned *law, int64_t first, int64_t count, double *out)
{
    int64_t size = law->spec->n_channels * law->spec->n_taps;
    for (int64_t k = 0; k < count; k++)
        fill_row(law, first + k, out + k * size);
}

void norma_conditioned_destroy(norma_conditioned **law)
{
    if (!*law)
        return;
    NORMA_FREE((*law)->orthogonal);
    NORMA_FREE(*law);
}
