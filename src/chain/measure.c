/* Observables of H: the dispatcher, and those that need no Gram matrix or decomposition. */
#include "src/chain/chain_state.h"

#include <cblas.h>
#include <math.h>

#define LN2 0.69314718055994530942

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)

/* Samples 0 and 1 of a lane: their squared norms and inner product. */
static void first_samples(const norma_chain *chain, int lane, double *a, double *b, double *ab)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, lanes = chain->lanes;
    *a = *b = *ab = 0;
    for (int64_t i = 0; i < d; i++) {
        double x = chain->h[i * n * lanes + lane], y = chain->h[(i * n + 1) * lanes + lane];
        *a += x * x;
        *b += y * y;
        *ab += x * y;
    }
}

static void measure_columns(norma_chain *chain, norma_observable_set set, double *values)
{
    const int64_t count = chain->spec.width * chain->spec.batch;
    norma_lanes_values square = {0};
    if (set & BIT(LOG_NORM)) {
        if (chain->kernels)
            chain->kernels->dot(count, chain->h, chain->h, square);
        else
            square[0] = cblas_ddot((int)count, chain->h, 1, chain->h, 1);
        for (int lane = 0; lane < chain->n_replicas; lane++)
            norma_chain_values_of(chain, NORMA_OBSERVABLE_LOG_NORM, values)[lane] =
                0.5 * log(square[lane]) + (double)chain->exponent[lane] * LN2;
    }
    for (int lane = 0; lane < chain->n_replicas; lane++) {
        double a = 0, b = 0, ab = 0;
        if (set & (BIT(COSINE) | BIT(GRAM_12)))
            first_samples(chain, lane, &a, &b, &ab);
        if (set & BIT(COSINE))
            norma_chain_values_of(chain, NORMA_OBSERVABLE_COSINE, values)[lane] =
                ab / sqrt(a) / sqrt(b);
        if (set & BIT(GRAM_12))
            norma_chain_values_of(chain, NORMA_OBSERVABLE_GRAM_12, values)[lane] =
                norma_chain_scaled(chain->spec.gram_scale * ab, 2 * chain->exponent[lane]);
    }
}

/* Found when the layer was made. */
static void store_bias(norma_chain *chain, norma_observable_set set, double *values)
{
    for (int lane = 0; lane < chain->n_replicas; lane++) {
        if (set & BIT(ROW_BIAS))
            norma_chain_values_of(chain, NORMA_OBSERVABLE_ROW_BIAS, values)[lane] =
                chain->row_bias[lane];
        if (set & BIT(COLUMN_BIAS))
            norma_chain_values_of(chain, NORMA_OBSERVABLE_COLUMN_BIAS, values)[lane] =
                chain->column_bias[lane];
    }
}

static norma_status measure_alone(norma_chain *chain, norma_observable_set set, double *values)
{
    const norma_observable_set *of = chain->family;
    if (set & (of[NORMA_OBSERVABLE_FAMILY_SMALL_GRAM] | of[NORMA_OBSERVABLE_FAMILY_SAMPLE_GRAM]))
        NORMA_TRY(norma_chain_measure_gram(chain, set, values));
    if (set & of[NORMA_OBSERVABLE_FAMILY_SPECTRUM])
        for (int lane = 0; lane < chain->n_replicas; lane++)
            NORMA_TRY(norma_chain_measure_spectrum(chain, set, lane, values));
    if (set & BIT(LOG_SIGMA_MIN))
        NORMA_TRY(norma_chain_frame_log_sigma_min(
            chain->frame, norma_chain_values_of(chain, NORMA_OBSERVABLE_LOG_SIGMA_MIN, values)));
    return NORMA_OK;
}

/* Each part of the set is one member's; a Gram matrix is made again rather than sent. */
static norma_status measure_together(norma_chain *chain, norma_observable_set set, double *values)
{
    /* with kernels tr_m3 leaves k^2 to the others of its Gram matrix */
    const norma_observable_set apart = chain->kernels ? 0 : BIT(TR_M3);
    const norma_observable_set *of = chain->family;
    const norma_observable_set parts[] = {of[NORMA_OBSERVABLE_FAMILY_SPECTRUM], apart,
                                          of[NORMA_OBSERVABLE_FAMILY_SMALL_GRAM] & ~apart,
                                          of[NORMA_OBSERVABLE_FAMILY_SAMPLE_GRAM]};
    enum { N_PARTS = sizeof parts / sizeof parts[0] };
    const norma_chain_team *team = chain->team;
    norma_observable_set mine = 0;
    int member[N_PARTS] = {0};
    int next = 0;
    for (int p = 0; p < N_PARTS; p++) {
        member[p] = next % team->size;
        next += (set & parts[p]) != 0;
        mine |= member[p] == team->rank ? set & parts[p] : 0;
    }
    NORMA_TRY(team->agree(team->context, measure_alone(chain, mine, values)));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        for (int p = 0; p < N_PARTS; p++)
            if (set & parts[p] & NORMA_OBSERVABLE_BIT(o))
                team->broadcast(team->context, member[p], chain->offset[o + 1] - chain->offset[o],
                                values + chain->offset[o]);
    return NORMA_OK;
}

norma_status norma_chain_measure_set(norma_chain *chain, norma_observable_set set, double *values)
{
    measure_columns(chain, set, values);
    store_bias(chain, set, values);
    return chain->team ? measure_together(chain, set, values) : measure_alone(chain, set, values);
}
