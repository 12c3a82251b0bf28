#include "src/chain/weights.h"

#include "src/chain/kernels/lanes.h"

#include <math.h>
#include <string.h>

norma_rng_stream norma_chain_weights_stream(const norma_chain_draw *draw, norma_chain_tensor tensor)
{
    norma_rng_stream stream = {NORMA_RNG_CHAIN_WEIGHTS, tensor, draw->layer, draw->replica,
                               draw->cell};
    return stream;
}

double norma_chain_weights_factor(const norma_chain_spec *spec)
{
    double d = (double)spec->width;
    switch (spec->weights) {
    case NORMA_DISTRIBUTION_NORMAL:
    case NORMA_DISTRIBUTION_UNIFORM:
    case NORMA_DISTRIBUTION_ER_NORMAL:
    case NORMA_DISTRIBUTION_ER_SIGN:
        return spec->weight_scale;
    case NORMA_DISTRIBUTION_HE_NORMAL:
    case NORMA_DISTRIBUTION_HE_UNIFORM:
    case NORMA_DISTRIBUTION_SPARSE_HE_NORMAL:
        return sqrt(2 / d);
    case NORMA_DISTRIBUTION_XAVIER:
        return sqrt(1 / d);
    case NORMA_DISTRIBUTION_UNIFORM_POSITIVE:
        return 2 / sqrt(d);
    default:
        return 1; /* orthogonal, given */
    }
}

/* Uniforms on (0, 1) to the unit-variance symmetric law. */
static void centre_uniforms(int64_t n, double *x)
{
    const double root = 3.4641016151377545871; /* 2 sqrt(3) */
    for (int64_t i = 0; i < n; i++)
        x[i] = root * (x[i] - 0.5);
}

static void apply_mask(const norma_chain_spec *spec, int64_t n, const double *mask, double *x)
{
    double keep = spec->keep_probability > 0 ? spec->keep_probability : 0.5;
    for (int64_t i = 0; i < n; i++) {
        if (spec->weights == NORMA_DISTRIBUTION_ER_SIGN)
            x[i] = x[i] < 0.5 ? -1 : 1;
        x[i] = mask[i] < keep ? x[i] : 0;
    }
}

void norma_chain_weights_rows(const norma_chain_spec *spec, const norma_chain_draw *draw,
                              int64_t first, int64_t n_rows, double *out, double *mask)
{
    const int64_t d = spec->width, at = first * d, n = n_rows * d;
    norma_rng_stream stream = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_WEIGHTS);
    norma_rng_stream masks = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_MASK);
    switch (spec->weights) {
    case NORMA_DISTRIBUTION_GIVEN:
        memcpy(out, spec->given + draw->layer * d * d + at, (size_t)n * sizeof *out);
        return;
    case NORMA_DISTRIBUTION_UNIFORM:
    case NORMA_DISTRIBUTION_HE_UNIFORM:
        norma_rng_fill_uniform(draw->seed, &stream, at, n, out);
        centre_uniforms(n, out);
        return;
    case NORMA_DISTRIBUTION_UNIFORM_POSITIVE:
        norma_rng_fill_uniform(draw->seed, &stream, at, n, out);
        return;
    case NORMA_DISTRIBUTION_ER_SIGN:
        norma_rng_fill_uniform(draw->seed, &stream, at, n, out);
        break;
    case NORMA_DISTRIBUTION_ER_NORMAL:
    case NORMA_DISTRIBUTION_SPARSE_HE_NORMAL:
        norma_rng_fill_normal(draw->seed, &stream, at, n, out);
        break;
    default:
        norma_rng_fill_normal(draw->seed, &stream, at, n, out);
        return;
    }
    norma_rng_fill_uniform(draw->seed, &masks, at, n, mask);
    apply_mask(spec, n, mask, out);
}

void norma_chain_weights_lanes(const norma_chain_spec *spec, const norma_chain_draw *draw,
                               int64_t first, int64_t n_rows, double *out)
{
    const int64_t d = spec->width, at = first * d, n = n_rows * d;
    norma_rng_stream stream = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_WEIGHTS);
    switch (spec->weights) {
    case NORMA_DISTRIBUTION_UNIFORM:
    case NORMA_DISTRIBUTION_HE_UNIFORM:
        norma_rng_fill_uniform_lanes(draw->seed, &stream, at, n, NORMA_LANES, out);
        centre_uniforms(n * NORMA_LANES, out);
        return;
    case NORMA_DISTRIBUTION_UNIFORM_POSITIVE:
        norma_rng_fill_uniform_lanes(draw->seed, &stream, at, n, NORMA_LANES, out);
        return;
    default:
        norma_rng_fill_normal_lanes(draw->seed, &stream, at, n, NORMA_LANES, out);
    }
}

void norma_chain_weights_exact(const norma_chain_draw *draw, int64_t d, int64_t n, double *out)
{
    norma_rng_stream stream = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_EXACT);
    norma_rng_fill_normal(draw->seed, &stream, 0, d * n, out);
}

void norma_chain_weights_reflectors(const norma_chain_draw *draw, norma_chain_tensor tensor,
                                    int64_t d, int64_t k, double *reflectors, double *tau,
                                    double *sign)
{
    norma_rng_stream stream = norma_chain_weights_stream(draw, tensor);
    for (int64_t j = 0; j < k; j++) {
        double *v = reflectors + j * d + j;
        double tail = 0;
        norma_rng_fill_normal(draw->seed, &stream, j * d + j, d - j, v);
        for (int64_t i = 1; i < d - j; i++)
            tail += v[i] * v[i];
        /* x becomes -sgn(x_0) |x| e_0; the sign makes R's diagonal positive and W Haar. */
        double head = v[0];
        double image = -copysign(sqrt(head * head + tail), head);
        sign[j] = j + 1 < d ? copysign(1, image) : copysign(1, head);
        tau[j] = j + 1 < d ? (image - head) / image : 0;
        for (int64_t i = 1; i < d - j; i++)
            v[i] /= head - image;
        v[0] = 1;
    }
}
