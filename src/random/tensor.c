#include "src/random/tensor.h"

#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/random/conditioned.h"
#include "src/random/haar.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const names[NORMA_N_DISTRIBUTIONS] = {
    [NORMA_DISTRIBUTION_NORMAL] = "normal",
    [NORMA_DISTRIBUTION_UNIFORM] = "uniform",
    [NORMA_DISTRIBUTION_HE_NORMAL] = "he-normal",
    [NORMA_DISTRIBUTION_HE_UNIFORM] = "he-uniform",
    [NORMA_DISTRIBUTION_XAVIER] = "xavier",
    [NORMA_DISTRIBUTION_ORTHOGONAL] = "orthogonal",
    [NORMA_DISTRIBUTION_SPARSE_HE_NORMAL] = "sparse-he-normal",
    [NORMA_DISTRIBUTION_ER_NORMAL] = "er-normal",
    [NORMA_DISTRIBUTION_ER_SIGN] = "er-sign",
    [NORMA_DISTRIBUTION_UNIFORM_POSITIVE] = "uniform-positive",
    [NORMA_DISTRIBUTION_ID_COND] = "id-cond",
    [NORMA_DISTRIBUTION_ID_COND_MIN] = "id-cond-min",
    [NORMA_DISTRIBUTION_ORTHO_COND] = "ortho-cond",
    [NORMA_DISTRIBUTION_GIVEN] = "given",
};

/* Masks are drawn from the second half of the elements. */
static const int64_t mask_offset = NORMA_RNG_N_ELEMENTS / 2;

struct norma_tensor {
    norma_tensor_spec spec;
    int64_t row; /* entries of a feature */
    double scale;
    norma_haar *haar;         /* ORTHOGONAL only; owned */
    norma_conditioned *law;   /* of the laws of pairs; owned */
    const norma_tensor *base; /* of a selection; borrowed */
    int64_t *rows;            /* of a selection: [n_features], owned */
};

norma_status norma_distribution_from_name(const char *name, norma_distribution *out)
{
    /* "given" is no name that a user may ask for: such values come with their file. */
    for (int d = 0; d < NORMA_DISTRIBUTION_GIVEN; d++)
        if (strcmp(name, names[d]) == 0) {
            *out = (norma_distribution)d;
            return NORMA_OK;
        }
    char quoted[NORMA_TEXT_QUOTED];
    const char *nearest = norma_text_nearest(name, names, NORMA_DISTRIBUTION_GIVEN);
    norma_text_quote(name, strlen(name), quoted);
    if (nearest)
        return NORMA_FAIL(NORMA_CONFIG, "unknown distribution %s: did you mean '%s'?", quoted,
                          nearest);
    char known[256] = "";
    for (int d = 0; d < NORMA_DISTRIBUTION_GIVEN; d++) {
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", d > 0 ? ", " : "", names[d]);
    }
    return NORMA_FAIL(NORMA_CONFIG, "unknown distribution %s; known: %s", quoted, known);
}

const char *norma_distribution_name(norma_distribution distribution)
{
    return names[distribution];
}

bool norma_distribution_drops_entries(norma_distribution distribution)
{
    return distribution == NORMA_DISTRIBUTION_SPARSE_HE_NORMAL ||
           distribution == NORMA_DISTRIBUTION_ER_NORMAL ||
           distribution == NORMA_DISTRIBUTION_ER_SIGN;
}

/* The factor on a normal, or on a uniform in (-1, 1) or (0, 1). */
static double scale_of(const norma_tensor_spec *spec)
{
    bool first = spec->role == NORMA_TENSOR_FIRST;
    double n_taps = (double)spec->n_taps;
    double fan_in = (double)(first ? spec->n_channels : spec->n_features) * n_taps;
    double fan_out = (double)(first ? spec->n_features : spec->n_channels) * n_taps;
    switch (spec->distribution) {
    case NORMA_DISTRIBUTION_UNIFORM:
        return sqrt(3.0);
    case NORMA_DISTRIBUTION_HE_NORMAL:
    case NORMA_DISTRIBUTION_SPARSE_HE_NORMAL:
        return sqrt(2.0 / fan_in);
    case NORMA_DISTRIBUTION_HE_UNIFORM:
        return sqrt(6.0 / fan_in);
    case NORMA_DISTRIBUTION_XAVIER:
        return sqrt(2.0 / (fan_in + fan_out));
    case NORMA_DISTRIBUTION_UNIFORM_POSITIVE:
        return 2.0 / sqrt(fan_in);
    default:
        return 1.0;
    }
}

static norma_status check_spec(const norma_tensor_spec *spec)
{
    int64_t n = 0;
    if ((int)spec->distribution < 0 || spec->distribution >= NORMA_N_DISTRIBUTIONS)
        return NORMA_FAIL(NORMA_CONFIG, "random weights: distribution number %d is unknown",
                          (int)spec->distribution);
    if (spec->n_features < 1 || spec->n_channels < 1 || spec->n_taps < 1)
        return NORMA_FAIL(NORMA_CONFIG,
                          "random weights: %lld features, %lld channels, %lld kernel positions; "
                          "each must be at least 1",
                          (long long)spec->n_features, (long long)spec->n_channels,
                          (long long)spec->n_taps);
    NORMA_TRY(norma_index_multiply(spec->n_channels, spec->n_taps, "entries of a feature", &n));
    NORMA_TRY(norma_index_multiply(n, spec->n_features, "entries of a weight tensor", &n));
    if (spec->distribution == NORMA_DISTRIBUTION_GIVEN) {
        if (!spec->values)
            return NORMA_FAIL(NORMA_CONFIG, "given weights without values");
        return NORMA_OK;
    }
    if (norma_conditioned_is(spec->distribution))
        NORMA_TRY(norma_conditioned_check(spec));
    NORMA_TRY(norma_rng_check(&spec->stream, n));
    if (!norma_distribution_drops_entries(spec->distribution))
        return NORMA_OK;
    if (n > mask_offset)
        return NORMA_FAIL(NORMA_LIMIT, "%s weights: %lld entries in one tensor; at most %lld",
                          names[spec->distribution], (long long)n, (long long)mask_offset);
    if (!(spec->keep_probability >= 0 && spec->keep_probability <= 1))
        return NORMA_FAIL(NORMA_CONFIG, "%s weights: the probability %g is outside (0, 1]",
                          names[spec->distribution], spec->keep_probability);
    return NORMA_OK;
}

norma_status norma_tensor_create(const norma_tensor_spec *spec, norma_tensor **out)
{
    norma_status status = NORMA_OK;
    norma_tensor *tensor = NULL;
    NORMA_GOTO(status, check_spec(spec));
    NORMA_GOTO(status, NORMA_CALLOC(tensor, 1));
    tensor->spec = *spec;
    tensor->row = spec->n_channels * spec->n_taps;
    tensor->scale = scale_of(spec);
    if (norma_distribution_drops_entries(spec->distribution) && spec->keep_probability == 0)
        tensor->spec.keep_probability = 0.5;
    if (spec->distribution == NORMA_DISTRIBUTION_ORTHOGONAL) {
        bool first = spec->role == NORMA_TENSOR_FIRST;
        NORMA_GOTO(status,
                   norma_haar_create(spec->seed, &spec->stream, spec->n_features,
                                     first ? 1 : spec->n_taps,
                                     first ? tensor->row : spec->n_channels, &tensor->haar));
    }
    if (norma_conditioned_is(spec->distribution))
        NORMA_GOTO(status, norma_conditioned_create(&tensor->spec, &tensor->law));
    *out = tensor;
    tensor = NULL;
done:
    norma_tensor_destroy(&tensor);
    return status;
}

norma_status norma_tensor_create_selected(const norma_tensor *base, const int64_t *rows, int64_t n,
                                          norma_tensor **out)
{
    norma_status status = NORMA_OK;
    norma_tensor *tensor = NULL;
    for (int64_t i = 0; i < n; i++)
        if (rows[i] < 0 || rows[i] >= base->spec.n_features)
            return NORMA_FAIL(NORMA_CONFIG, "no feature %lld in a tensor of %lld",
                              (long long)rows[i], (long long)base->spec.n_features);
    NORMA_GOTO(status, NORMA_CALLOC(tensor, 1));
    NORMA_GOTO(status, NORMA_ALLOC(tensor->rows, n));
    memcpy(tensor->rows, rows, (size_t)n * sizeof *rows);
    tensor->spec = base->spec;
    tensor->spec.n_features = n;
    tensor->row = base->row;
    tensor->base = base;
    *out = tensor;
    tensor = NULL;
done:
    norma_tensor_destroy(&tensor);
    return status;
}

bool norma_tensor_may_vanish(const norma_tensor *tensor)
{
    return norma_distribution_drops_entries(tensor->spec.distribution) ||
           tensor->spec.distribution == NORMA_DISTRIBUTION_GIVEN;
}

/* Consecutive rows of the base at a time. */
static void fill_selected(const norma_tensor *tensor, int64_t first, int64_t count, double *out)
{
    for (int64_t done = 0; done < count;) {
        const int64_t *rows = tensor->rows + first + done;
        int64_t n = 1;
        while (done + n < count && rows[n] == rows[0] + n)
            n++;
        norma_tensor_fill(tensor->base, rows[0], n, out + done * tensor->row);
        done += n;
    }
}

static void scale_normals(const norma_tensor *tensor, int64_t n, double *out)
{
    if (tensor->scale == 1.0)
        return;
    for (int64_t e = 0; e < n; e++)
        out[e] *= tensor->scale;
}

/* The value before any mask, from uniforms where the law is made of them. */
static void shape_uniforms(const norma_tensor *tensor, int64_t n, double *out)
{
    double scale = tensor->scale;
    switch (tensor->spec.distribution) {
    case NORMA_DISTRIBUTION_UNIFORM_POSITIVE:
        for (int64_t e = 0; e < n; e++)
            out[e] *= scale;
        break;
    case NORMA_DISTRIBUTION_ER_SIGN:
        for (int64_t e = 0; e < n; e++)
            out[e] = out[e] < 0.5 ? -1.0 : 1.0;
        break;
    default:
        for (int64_t e = 0; e < n; e++)
            out[e] = (2.0 * out[e] - 1.0) * scale;
    }
}

/* Zeroes the entries first .. first + n - 1 that the mask does not keep. */
static void apply_mask(const norma_tensor *tensor, int64_t first, int64_t n, double *out)
{
    double uniforms[256];
    const norma_tensor_spec *spec = &tensor->spec;
    for (int64_t start = 0; start < n; start += 256) {
        int64_t count = n - start < 256 ? n - start : 256;
        norma_rng_fill_uniform(spec->seed, &spec->stream, mask_offset + first + start, count,
                               uniforms);
        for (int64_t e = 0; e < count; e++)
            if (!(uniforms[e] < spec->keep_probability))
                out[start + e] = 0;
    }
}

void norma_tensor_fill(const norma_tensor *tensor, int64_t first, int64_t count, double *out)
{
    const norma_tensor_spec *spec = &tensor->spec;
    int64_t element = first * tensor->row;
    int64_t n = count * tensor->row;
    if (tensor->base) {
        fill_selected(tensor, first, count, out);
        return;
    }
    switch (spec->distribution) {
    case NORMA_DISTRIBUTION_GIVEN:
        memcpy(out, spec->values + element, (size_t)n * sizeof *out);
        break;
    case NORMA_DISTRIBUTION_ORTHOGONAL:
        norma_haar_fill(tensor->haar, first, count, out);
        break;
    case NORMA_DISTRIBUTION_ID_COND:
    case NORMA_DISTRIBUTION_ID_COND_MIN:
    case NORMA_DISTRIBUTION_ORTHO_COND:
        norma_conditioned_fill(tensor->law, first, count, out);
        break;
    case NORMA_DISTRIBUTION_UNIFORM:
    case NORMA_DISTRIBUTION_HE_UNIFORM:
    case NORMA_DISTRIBUTION_UNIFORM_POSITIVE:
    case NORMA_DISTRIBUTION_ER_SIGN:
        norma_rng_fill_uniform(spec->seed, &spec->stream, element, n, out);
        shape_uniforms(tensor, n, out);
        break;
    default:
        norma_rng_fill_normal(spec->seed, &spec->stream, element, n, out);
        scale_normals(tensor, n, out);
    }
    if (norma_distribution_drops_entries(spec->distribution))
        apply_mask(tensor, element, n, out);
}

const norma_tensor_spec *norma_tensor_get_spec(const norma_tensor *tensor)
{
    return &tensor->spec;
}

void norma_tensor_destroy(norma_tensor **tensor)
{
    if (!*tensor)
        return;
    norma_haar_destroy(&(*tensor)->haar);
    norma_conditioned_destroy(&(*tensor)->law);
    NORMA_FREE((*tensor)->rows);
    NORMA_FREE(*tensor);
}
