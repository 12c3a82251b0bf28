/* Observables from the singular values of one lane. */
#include "src/chain/chain_state.h"
#include "src/chain/lapack.h"

#include <float.h>
#include <gsl/gsl_sf_log.h>
#include <math.h>

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)

/* scratch.singular = singular values of h, largest first. */
static norma_status find_singular_values(norma_chain *chain, int lane)
{
    norma_chain_scratch *s = &chain->scratch;
    int rows = (int)chain->spec.batch, columns = (int)chain->spec.width;
    int info = 0, one = 1, lwork = (int)s->n_work;
    double unused = 0;
    norma_chain_extract(chain, chain->h, chain->spec.width * chain->spec.batch, lane, s->matrix);
    dgesvd_("N", "N", &rows, &columns, s->matrix, &rows, s->singular, &unused, &one, &unused, &one,
            s->work, &lwork, &info);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "DGESVD returned %d", info);
}

static norma_status rank_in_single(norma_chain *chain, int lane, double tolerance, double *rank)
{
    norma_chain_scratch *s = &chain->scratch;
    const int64_t count = chain->spec.width * chain->spec.batch;
    int rows = (int)chain->spec.batch, columns = (int)chain->spec.width;
    int info = 0, one = 1, lwork = (int)s->n_work, small = rows < columns ? rows : columns;
    float unused = 0;
    for (int64_t i = 0; i < count; i++)
        s->matrix_single[i] = (float)chain->h[i * chain->lanes + lane];
    sgesvd_("N", "N", &rows, &columns, s->matrix_single, &rows, s->singular_single, &unused, &one,
            &unused, &one, s->work_single, &lwork, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_LIBRARY, "SGESVD returned %d", info);
    *rank = 0;
    for (int i = 0; i < small; i++)
        *rank += s->singular_single[i] > (float)tolerance * s->singular_single[0];
    return NORMA_OK;
}

/* -log( (prod s_i^2)^(1/n) / (sum s_i^2 / n) ) over all n = count values, with x_i = s_i^2 over
 * their mean: the mean of x_i - 1 - log x_i, whose terms are not negative and lose no digits near
 * isometry. +inf when the smallest value is rounding: at most `floor` of the largest. */
static double isometry_gap(int64_t count, double floor, const double *s)
{
    double mean = 0, gap = 0;
    if (s[0] == 0)
        return NAN;
    if (s[count - 1] <= floor * s[0])
        return INFINITY;
    for (int64_t i = 0; i < count; i++)
        mean += (s[i] / s[0]) * (s[i] / s[0]) / (double)count;
    double root = sqrt(mean) * s[0];
    for (int64_t i = 0; i < count; i++) {
        double ratio = s[i] / root, x = (ratio - 1) * (ratio + 1);
        gap -= x > -0.5 && x < 1 ? gsl_sf_log_1plusx_mx(x) : 2 * log(ratio) - x;
    }
    return gap / (double)count;
}

/* Distance of G^(1/2) / sqrt(tr G) from I / sqrt(n), n - small eigenvalues of G being 0. */
static double bures(int64_t small, int64_t n, const double *s)
{
    double square = 0, sum = 0, root = 1 / sqrt((double)n);
    for (int64_t i = 0; i < small; i++)
        square += (s[i] / s[0]) * (s[i] / s[0]);
    double norm = s[0] * sqrt(square);
    for (int64_t i = 0; i < n; i++) {
        double x = (i < small ? s[i] / norm : 0) - root;
        sum += x * x;
    }
    return sqrt(sum);
}

static norma_status measure_rank(norma_chain *chain, int lane, double *out)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, small = d < n ? d : n;
    const norma_observable_request *request = &chain->request;
    const double *s = chain->scratch.singular;
    double tolerance = request->rank_tolerance;
    if (tolerance == 0)
        tolerance = (double)(d > n ? d : n) * (request->rank_single ? FLT_EPSILON : DBL_EPSILON);
    if (request->rank_single)
        return rank_in_single(chain, lane, tolerance, out);
    *out = 0;
    for (int64_t i = 0; i < small; i++)
        *out += s[i] > tolerance * s[0];
    return NORMA_OK;
}

/* Singular values up to this part of the largest are rounding. */
static double rounding_of(const norma_chain *chain)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch;
    return (double)(d > n ? d : n) * (chain->spec.single ? FLT_EPSILON : DBL_EPSILON);
}

norma_status norma_chain_count_singular(norma_chain *chain, int lane, double least, double *count)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, small = d < n ? d : n;
    const double *s = chain->scratch.singular;
    NORMA_TRY(find_singular_values(chain, lane));
    *count = 0;
    for (int64_t i = 0; i < small; i++)
        *count += s[i] >= least && s[i] > rounding_of(chain) * s[0];
    return NORMA_OK;
}

norma_status norma_chain_measure_spectrum(norma_chain *chain, norma_observable_set set, int lane,
                                          double *values)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, small = d < n ? d : n;
    const int64_t *offset = chain->offset, lanes = chain->lanes;
    const double floor = rounding_of(chain);
    const double *s = chain->scratch.singular;
    double *out = values + lane;
    NORMA_TRY(find_singular_values(chain, lane));
    if (set & BIT(NUMERICAL_RANK))
        NORMA_TRY(measure_rank(chain, lane, &out[offset[NORMA_OBSERVABLE_NUMERICAL_RANK] * lanes]));
    for (int k = 0; set & BIT(SINGULAR_VALUE) && k < chain->request.n_singular; k++)
        out[(offset[NORMA_OBSERVABLE_SINGULAR_VALUE] + k) * lanes] =
            norma_chain_scaled(s[k], chain->exponent[lane]);
    if (set & BIT(SIGMA_MIN))
        out[offset[NORMA_OBSERVABLE_SIGMA_MIN] * lanes] =
            norma_chain_scaled(s[small - 1], chain->exponent[lane]);
    if (set & BIT(ISOMETRY_GAP))
        out[offset[NORMA_OBSERVABLE_ISOMETRY_GAP] * lanes] =
            n > d ? INFINITY : isometry_gap(n, floor, s);
    if (set & BIT(ISOMETRY_GAP_FEATURES))
        out[offset[NORMA_OBSERVABLE_ISOMETRY_GAP_FEATURES] * lanes] =
            d > n ? INFINITY : isometry_gap(d, floor, s);
    if (set & BIT(W2_BURES))
        out[offset[NORMA_OBSERVABLE_W2_BURES] * lanes] = s[0] > 0 ? bures(small, n, s) : NAN;
    return NORMA_OK;
}
