#include "src/chain/chain_state.h"

#include <math.h>
#include <string.h>

bool norma_chain_is_small(const norma_chain *chain)
{
    return chain->kernels && chain->spec.width <= NORMA_LANES_MAX_SIZE &&
           chain->spec.batch <= NORMA_LANES_MAX_SIZE;
}

bool norma_chain_wants(const norma_chain *chain, norma_observable observable)
{
    return (chain->request.wanted & NORMA_OBSERVABLE_BIT(observable)) != 0;
}

bool norma_chain_wants_frame(const norma_chain *chain)
{
    return chain->request.lyapunov || chain->family[NORMA_OBSERVABLE_FAMILY_FRAME];
}

bool norma_chain_is_centered(const norma_chain *chain)
{
    return chain->spec.norm == NORMA_CHAIN_NORM_BN_CENTERED;
}

bool norma_chain_has_fixed_point(const norma_chain_spec *spec)
{
    return (spec->norm == NORMA_CHAIN_NORM_BN || spec->norm == NORMA_CHAIN_NORM_BN_CENTERED) &&
           spec->order == NORMA_CHAIN_NORM_ACT && isinf(spec->residual) && spec->gain == 1 &&
           spec->gain_exponent == 0 && spec->bn_eps == 0;
}

double *norma_chain_values_of(const norma_chain *chain, norma_observable observable, double *values)
{
    return values + chain->offset[observable] * chain->lanes;
}

void norma_chain_extract(const norma_chain *chain, const double *x, int64_t count, int lane,
                         double *out)
{
    if (chain->lanes == 1) {
        memcpy(out, x, (size_t)count * sizeof *out);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = x[i * chain->lanes + lane];
}

double norma_chain_scaled(double x, int64_t exponent)
{
    if (exponent == 0)
        return x;
    const int64_t most = 100000; /* far beyond a double's range, well inside int's */
    return ldexp(x, (int)(exponent > most ? most : exponent < -most ? -most : exponent));
}

void norma_chain_gram(const norma_chain *chain, int lane, double *out)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, lanes = chain->lanes;
    const double scale = ldexp(chain->spec.gram_scale, (int)(2 * chain->exponent[lane]));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t r = 0; r < d; r++)
                sum += chain->h[(r * n + i) * lanes + lane] * chain->h[(r * n + j) * lanes + lane];
            out[i * n + j] = scale * sum;
        }
}
