/* Observables of H: the dispatcher, its workspace, and those that need H's columns only. */
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/chain/chain_state.h"

#include <cblas.h>
#include <math.h>

#define LN2 0.69314718055994530942

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)
#define OF_SMALL_GRAM (BIT(SOFT_RANK) | BIT(STABLE_RANK) | BIT(FRO2) | BIT(TR_M3) | BIT(TR_DIAG2))
#define OF_SAMPLE_GRAM (BIT(ORTHOGONALITY_GAP) | BIT(GRAM_DISTANCE))
#define OF_SPECTRUM                                                                                \
    (BIT(NUMERICAL_RANK) | BIT(SINGULAR_VALUE) | BIT(SIGMA_MIN) | BIT(ISOMETRY_GAP) |              \
     BIT(ISOMETRY_GAP_FEATURES) | BIT(W2_BURES))

bool norma_chain_is_small(const norma_chain *chain)
{
    return chain->kernels && chain->spec.width <= NORMA_LANES_MAX_SIZE &&
           chain->spec.batch <= NORMA_LANES_MAX_SIZE;
}

/* Numbers of scratch.factors. */
static int64_t factors_count(const norma_chain *chain)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, small = d < n ? d : n;
    return norma_chain_is_small(chain) && chain->request.wanted & BIT(SOFT_RANK)
               ? (2 * small + 1) * small * chain->lanes
               : 0;
}

norma_status norma_chain_scratch_create(norma_chain *chain)
{
    norma_chain_scratch *s = &chain->scratch;
    const norma_observable_set wanted = chain->request.wanted;
    const int64_t d = chain->spec.width, n = chain->spec.batch, lanes = chain->lanes;
    const int64_t small = d < n ? d : n, longest = d > n ? d : n;
    int64_t m = wanted & OF_SMALL_GRAM ? small : 0;
    m = wanted & OF_SAMPLE_GRAM && n > m ? n : m;
    NORMA_TRY(NORMA_CALLOC(s->matrix, d * n));
    NORMA_TRY(NORMA_CALLOC(s->gram, m * m * lanes));
    NORMA_TRY(NORMA_CALLOC(
        s->square, wanted & OF_SMALL_GRAM ? longest * (small + NORMA_CHAIN_PADDING) * lanes : 0));
    NORMA_TRY(NORMA_CALLOC(s->factors, factors_count(chain)));
    NORMA_TRY(NORMA_CALLOC(s->diagonal, small * lanes));
    NORMA_TRY(NORMA_CALLOC(s->off, small * lanes));
    NORMA_TRY(NORMA_CALLOC(s->pivots, small));
    NORMA_TRY(NORMA_CALLOC(s->singular, small));
    s->n_work = 70 * longest + 4 * small * lanes;
    NORMA_TRY(NORMA_CALLOC(s->work, s->n_work));
    bool single = chain->request.rank_single && wanted & BIT(NUMERICAL_RANK);
    NORMA_TRY(NORMA_CALLOC(s->matrix_single, single ? d * n : 0));
    NORMA_TRY(NORMA_CALLOC(s->singular_single, single ? small : 0));
    return NORMA_CALLOC(s->work_single, single ? s->n_work : 0);
}

double norma_chain_scratch_bytes(const norma_chain *chain)
{
    const norma_observable_set wanted = chain->request.wanted;
    const double d = (double)chain->spec.width, n = (double)chain->spec.batch;
    const double lanes = chain->lanes, small = fmin(d, n), longest = fmax(d, n);
    double m = wanted & OF_SMALL_GRAM ? small : 0;
    m = wanted & OF_SAMPLE_GRAM ? n : m;
    double work = 70 * longest + 4 * small * lanes;
    double numbers = d * n + m * m * lanes + 2 * small * lanes + 2 * small + work;
    numbers += (double)factors_count(chain);
    if (wanted & OF_SMALL_GRAM)
        numbers += longest * (small + NORMA_CHAIN_PADDING) * lanes;
    if (chain->request.rank_single && wanted & BIT(NUMERICAL_RANK))
        numbers += 0.5 * (d * n + small + work);
    return 8 * numbers;
}

void norma_chain_scratch_destroy(norma_chain *chain)
{
    norma_chain_scratch *s = &chain->scratch;
    NORMA_FREE(s->matrix);
    NORMA_FREE(s->gram);
    NORMA_FREE(s->square);
    NORMA_FREE(s->factors);
    NORMA_FREE(s->diagonal);
    NORMA_FREE(s->off);
    NORMA_FREE(s->pivots);
    NORMA_FREE(s->singular);
    NORMA_FREE(s->work);
    NORMA_FREE(s->matrix_single);
    NORMA_FREE(s->singular_single);
    NORMA_FREE(s->work_single);
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
    const int64_t lanes = chain->lanes, count = chain->spec.width * chain->spec.batch;
    norma_lanes_values square = {0};
    if (set & BIT(LOG_NORM)) {
        if (chain->kernels)
            chain->kernels->dot(count, chain->h, chain->h, square);
        else
            square[0] = cblas_ddot((int)count, chain->h, 1, chain->h, 1);
        for (int lane = 0; lane < chain->n_replicas; lane++)
            values[chain->offset[NORMA_OBSERVABLE_LOG_NORM] * lanes + lane] =
                0.5 * log(square[lane]) + (double)chain->exponent[lane] * LN2;
    }
    for (int lane = 0; lane < chain->n_replicas; lane++) {
        double a = 0, b = 0, ab = 0;
        if (set & (BIT(COSINE) | BIT(GRAM_12)))
            first_samples(chain, lane, &a, &b, &ab);
        if (set & BIT(COSINE))
            values[chain->offset[NORMA_OBSERVABLE_COSINE] * lanes + lane] = ab / sqrt(a) / sqrt(b);
        if (set & BIT(GRAM_12))
            values[chain->offset[NORMA_OBSERVABLE_GRAM_12] * lanes + lane] =
                norma_chain_scaled(chain->spec.gram_scale * ab, 2 * chain->exponent[lane]);
        if (set & BIT(ROW_BIAS))
            values[chain->offset[NORMA_OBSERVABLE_ROW_BIAS] * lanes + lane] = chain->row_bias[lane];
        if (set & BIT(COLUMN_BIAS))
            values[chain->offset[NORMA_OBSERVABLE_COLUMN_BIAS] * lanes + lane] =
                chain->column_bias[lane];
    }
}

double norma_chain_scaled(double x, int64_t exponent)
{
    if (exponent == 0)
        return x;
    const int64_t most = 100000; /* far beyond a double's range, well inside int's */
    return ldexp(x, (int)(exponent > most ? most : exponent < -most ? -most : exponent));
}

static norma_status measure_set(norma_chain *chain, norma_observable_set set, double *values)
{
    if (set & (OF_SMALL_GRAM | OF_SAMPLE_GRAM))
        NORMA_TRY(norma_chain_measure_gram(chain, set, values));
    if (set & OF_SPECTRUM)
        for (int lane = 0; lane < chain->n_replicas; lane++)
            NORMA_TRY(norma_chain_measure_spectrum(chain, set, lane, values));
    if (set & BIT(LOG_SIGMA_MIN))
        NORMA_TRY(norma_chain_frame_log_sigma_min(
            chain->frame, &values[chain->offset[NORMA_OBSERVABLE_LOG_SIGMA_MIN]]));
    return NORMA_OK;
}

/* Each part of the set is one member's; a Gram matrix is made again rather than sent. */
static norma_status measure_together(norma_chain *chain, norma_observable_set set, double *values)
{
    /* with kernels tr_m3 leaves k^2 to the others of its Gram matrix */
    const norma_observable_set apart = chain->kernels ? 0 : BIT(TR_M3);
    const norma_observable_set parts[] = {OF_SPECTRUM, apart, OF_SMALL_GRAM & ~apart,
                                          OF_SAMPLE_GRAM};
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
    NORMA_TRY(team->agree(team->context, measure_set(chain, mine, values)));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        for (int p = 0; p < N_PARTS; p++)
            if (set & parts[p] & NORMA_OBSERVABLE_BIT(o))
                team->broadcast(team->context, member[p], chain->offset[o + 1] - chain->offset[o],
                                values + chain->offset[o]);
    return NORMA_OK;
}

norma_status norma_chain_measure(norma_chain *chain, norma_observable_set set, double *values)
{
    set &= chain->request.wanted;
    measure_columns(chain, set, values);
    return chain->team ? measure_together(chain, set, values) : measure_set(chain, set, values);
}
