#include "src/random/tensor.h"

#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/random/conditioned.h"
#include "src/random/haar.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Masks are drawn from the second half of the elements. */
static const int64_t mask_offset = NORMA_RNG_N_ELEMENTS / 2;

struct norma_tensor {
    norma_tensor_spec spec;
    int64_t row; /* entries of a feature */
    double scale;
    norma_haar *haar;         /* HAAR only; owned */
    norma_conditioned *law;   /* PAIRS only; owned */
    const norma_tensor *base; /* of a selection; borrowed */
    int64_t *rows;            /* of a selection: [n_features], owned */
    norma_tensor **parts;     /* of a joined one: [n_parts] of equally many features, owned */
    int64_t n_parts;
};

static bool is_masked(const norma_tensor_spec *spec)
{
    return norma_law_has(spec->distribution, NORMA_LAW_MASKED);
}

static norma_law_source source_of(const norma_tensor_spec *spec)
{
    return norma_law_get(spec->distribution)->source;
}

/* The factor on a normal, on a sign, or on a uniform in (-1, 1) or (0, 1). */
static double scale_of(const norma_tensor_spec *spec)
{
    bool first = spec->role == NORMA_TENSOR_FIRST;
    double n_taps = (double)spec->n_taps;
    double fan_in = (double)(first ? spec->n_channels : spec->n_features) * n_taps;
    double fan_out = (double)(first ? spec->n_features : spec->n_channels) * n_taps;
    return source_of(spec) == NORMA_LAW_UNIFORMS
               ? norma_law_half_range(spec->distribution, fan_in, fan_out)
               : norma_law_factor(spec->distribution, fan_in, fan_out);
}

double norma_tensor_variance(const norma_tensor_spec *spec)
{
    bool first = spec->role == NORMA_TENSOR_FIRST;
    double n_taps = (double)spec->n_taps;
    double fan_in = (double)(first ? spec->n_channels : spec->n_features) * n_taps;
    double fan_out = (double)(first ? spec->n_features : spec->n_channels) * n_taps;
    double rows = (double)(first ? spec->n_features : spec->n_channels);
    double keep = spec->keep_probability > 0 ? spec->keep_probability : 0.5;
    double factor = norma_law_factor(spec->distribution, fan_in, fan_out);
    switch (source_of(spec)) {
    case NORMA_LAW_NORMALS:
    case NORMA_LAW_UNIFORMS:
    case NORMA_LAW_SIGNS:
        return factor * factor * (is_masked(spec) ? keep : 1);
    case NORMA_LAW_POSITIVE:
        return factor * factor / 12;
    case NORMA_LAW_HAAR:
        return 1 / fmax(rows, fan_in);
    default:
        return NAN;
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
    if (source_of(spec) == NORMA_LAW_GIVEN) {
        if (!spec->values)
            return NORMA_FAIL(NORMA_CONFIG, "given weights without values");
        return NORMA_OK;
    }
    if (source_of(spec) == NORMA_LAW_PAIRS)
        NORMA_TRY(norma_conditioned_check(spec));
    NORMA_TRY(norma_rng_check(&spec->stream, n));
    if (!is_masked(spec))
        return NORMA_OK;
    if (n > mask_offset)
        return NORMA_FAIL(NORMA_LIMIT, "%s weights: %lld entries in one tensor; at most %lld",
                          norma_distribution_name(spec->distribution), (long long)n,
                          (long long)mask_offset);
    if (!(spec->keep_probability >= 0 && spec->keep_probability <= 1))
        return NORMA_FAIL(NORMA_CONFIG, "%s weights: the probability %g is outside (0, 1]",
                          norma_distribution_name(spec->distribution), spec->keep_probability);
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
    if (is_masked(spec) && spec->keep_probability == 0)
        tensor->spec.keep_probability = 0.5;
    if (source_of(spec) == NORMA_LAW_HAAR) {
        bool first = spec->role == NORMA_TENSOR_FIRST;
        NORMA_GOTO(status,
                   norma_haar_create(spec->seed, &spec->stream, spec->n_features,
                                     first ? 1 : spec->n_taps,
                                     first ? tensor->row : spec->n_channels, &tensor->haar));
    }
    if (source_of(spec) == NORMA_LAW_PAIRS)
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

norma_status norma_tensor_create_joined(const norma_tensor_spec *specs, int64_t n,
                                        norma_tensor **out)
{
    norma_status status = NORMA_OK;
    norma_tensor *tensor = NULL;
    if (n == 1)
        return norma_tensor_create(specs, out);
    NORMA_GOTO(status, NORMA_CALLOC(tensor, 1));
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    NORMA_GOTO(status, NORMA_CALLOC(tensor->parts, n));
    tensor->n_parts = n;
    for (int64_t k = 0; k < n; k++)
        NORMA_GOTO(status, norma_tensor_create(&specs[k], &tensor->parts[k]));
    tensor->spec = tensor->parts[0]->spec;
    tensor->spec.n_features *= n;
    tensor->row = tensor->parts[0]->row;
    *out = tensor;
    tensor = NULL;
done:
    norma_tensor_destroy(&tensor);
    return status;
}

const norma_tensor *norma_tensor_part(const norma_tensor *tensor, int64_t part)
{
    return tensor->parts ? tensor->parts[part] : tensor;
}

bool norma_tensor_may_vanish(const norma_tensor *tensor)
{
    return is_masked(&tensor->spec) || source_of(&tensor->spec) == NORMA_LAW_GIVEN;
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

/* As many rows of a part at a time as it has. */
static void fill_joined(const norma_tensor *tensor, int64_t first, int64_t count, double *out)
{
    int64_t of_part = tensor->spec.n_features / tensor->n_parts;
    for (int64_t done = 0; done < count;) {
        int64_t at = first + done;
        int64_t left = of_part - at % of_part;
        int64_t n = count - done < left ? count - done : left;
        norma_tensor_fill(tensor->parts[at / of_part], at % of_part, n, out + done * tensor->row);
        done += n;
    }
}

static void scale(int64_t n, double factor, double *out)
{
    for (int64_t e = 0; e < n && factor != 1.0; e++)
        out[e] *= factor;
}

/* The entries before any mask, of laws with independent entries. */
static void draw(const norma_tensor *tensor, int64_t element, int64_t n, double *out)
{
    const norma_tensor_spec *spec = &tensor->spec;
    norma_law_source source = source_of(spec);
    if (source == NORMA_LAW_NORMALS)
        norma_rng_fill_normal(spec->seed, &spec->stream, element, n, out);
    else if (source == NORMA_LAW_SIGNS)
        norma_rng_fill_sign(spec->seed, &spec->stream, element, n, out);
    else
        norma_rng_fill_uniform(spec->seed, &spec->stream, element, n, out);
    if (source == NORMA_LAW_UNIFORMS)
        for (int64_t e = 0; e < n; e++)
            out[e] = (2.0 * out[e] - 1.0) * tensor->scale;
    else
        scale(n, tensor->scale, out);
}

/* Zeroes the entries first .. first + n - 1 that the mask does not keep. */
static void apply_mask(const norma_tensor *tensor, int64_t first, int64_t n, double *out)
{
    const norma_tensor_spec *spec = &tensor->spec;
    norma_rng_mask(spec->seed, &spec->stream, mask_offset + first, n, spec->keep_probability, out);
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
    if (tensor->parts) {
        fill_joined(tensor, first, count, out);
        return;
    }
    switch (source_of(spec)) {
    case NORMA_LAW_GIVEN:
        memcpy(out, spec->values + element, (size_t)n * sizeof *out);
        break;
    case NORMA_LAW_HAAR:
        norma_haar_fill(tensor->haar, first, count, out);
        break;
    case NORMA_LAW_PAIRS:
        norma_conditioned_fill(tensor->law, first, count, out);
        break;
    default:
        draw(tensor, element, n, out);
    }
    if (is_masked(spec))
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
    for (int64_t k = 0; k < (*tensor)->n_parts; k++)
        norma_tensor_destroy(&(*tensor)->parts[k]);
    NORMA_FREE((*tensor)->parts);
    norma_haar_destroy(&(*tensor)->haar);
    norma_conditioned_destroy(&(*tensor)->law);
    NORMA_FREE((*tensor)->rows);
    NORMA_FREE(*tensor);
}
