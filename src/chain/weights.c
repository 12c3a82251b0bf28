#include "src/chain/weights.h"

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
    const norma_law *law = norma_law_get(spec->weights);
    double d = (double)spec->width;
    if (law->source == NORMA_LAW_HAAR || law->source == NORMA_LAW_GIVEN)
        return 1;
    return law->fan == NORMA_LAW_FAN_ONE ? spec->weight_scale * sqrt(law->gain)
                                         : norma_law_factor(spec->weights, d, d);
}

/* Uniforms on (0, 1) to the unit-variance symmetric law. */
static void centre_uniforms(int64_t n, double *x)
{
    const double root = 3.4641016151377545871; /* 2 sqrt(3) */
    for (int64_t i = 0; i < n; i++)
        x[i] = root * (x[i] - 0.5);
}

/* Of an entry to be kept, by masked laws. */
static double probability(const norma_chain_spec *spec)
{
    return spec->keep_probability > 0 ? spec->keep_probability : 0.5;
}

/* out[n] = elements at .. at + n - 1 of W, row-major. */
static void fill(const norma_chain_spec *spec, const norma_chain_draw *draw, int64_t at, int64_t n,
                 double *out)
{
    const int64_t d = spec->width;
    norma_rng_stream stream = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_WEIGHTS);
    norma_rng_stream masks = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_MASK);
    switch (norma_law_get(spec->weights)->source) { /* no default: the compiler asks for new ones */
    case NORMA_LAW_NORMALS:
        norma_rng_fill_normal(draw->seed, &stream, at, n, out);
        break;
    case NORMA_LAW_UNIFORMS:
        norma_rng_fill_uniform(draw->seed, &stream, at, n, out);
        centre_uniforms(n, out);
        break;
    case NORMA_LAW_POSITIVE:
        norma_rng_fill_uniform(draw->seed, &stream, at, n, out);
        break;
    case NORMA_LAW_SIGNS:
        norma_rng_fill_sign(draw->seed, &stream, at, n, out);
        break;
    case NORMA_LAW_GIVEN:
        memcpy(out, spec->given + draw->layer * d * d + at, (size_t)n * sizeof *out);
        break;
    case NORMA_LAW_HAAR:
    case NORMA_LAW_PAIRS:
        break;
    }
    if (norma_law_has(spec->weights, NORMA_LAW_MASKED))
        norma_rng_mask(draw->seed, &masks, at, n, probability(spec), out);
}

void norma_chain_weights_rows(const norma_chain_spec *spec, const norma_chain_draw *draw,
                              int64_t first, int64_t n_rows, double *out)
{
    fill(spec, draw, first * spec->width, n_rows * spec->width, out);
}

void norma_chain_weights_block(const norma_chain_spec *spec, const norma_chain_draw *draw,
                               const norma_chain_block_of_weights *block, double *out)
{
    if (block->n_columns == spec->width) {
        norma_chain_weights_rows(spec, draw, block->row, block->n_rows, out);
        return;
    }
    for (int64_t i = 0; i < block->n_rows; i++)
        fill(spec, draw, (block->row + i) * spec->width + block->column, block->n_columns,
             out + i * block->n_columns);
}

void norma_chain_weights_lanes(const norma_chain_spec *spec, const norma_chain_draw *draw,
                               int64_t first, int64_t n_rows, int lanes, double *out)
{
    const int64_t d = spec->width, at = first * d, n = n_rows * d;
    norma_rng_stream stream = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_WEIGHTS);
    norma_rng_stream masks = norma_chain_weights_stream(draw, NORMA_CHAIN_TENSOR_MASK);
    switch (norma_law_get(spec->weights)->source) {
    case NORMA_LAW_NORMALS:
        norma_rng_fill_normal_lanes(draw->seed, &stream, at, n, lanes, out);
        break;
    case NORMA_LAW_UNIFORMS:
        norma_rng_fill_uniform_lanes(draw->seed, &stream, at, n, lanes, out);
        centre_uniforms(n * lanes, out);
        break;
    case NORMA_LAW_POSITIVE:
        norma_rng_fill_uniform_lanes(draw->seed, &stream, at, n, lanes, out);
        break;
    case NORMA_LAW_SIGNS:
        norma_rng_fill_sign_lanes(draw->seed, &stream, at, n, lanes, out);
        break;
    case NORMA_LAW_HAAR:
    case NORMA_LAW_PAIRS:
    case NORMA_LAW_GIVEN:
        break;
    }
    if (norma_law_has(spec->weights, NORMA_LAW_MASKED))
        norma_rng_mask_lanes(draw->seed, &masks, at, n, lanes, probability(spec), out);
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
