#include "src/chain/single.h"

#include <cblas.h>
#include <float.h>
#include <math.h>

/* Matrices whose largest element is between these keep their digits, and so do their products. */
#define LARGEST 0x1p80F
#define SMALLEST 0x1p-80F

/* out = x rounded. */
static void round_all(int64_t count, const double *x, float *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)x[i];
}

/* The largest magnitude; NaN where there is one. */
static float find_largest(int64_t count, const float *x)
{
    enum { WAYS = 16 }; /* independent maxima, for vector registers */
    float largest[WAYS] = {0}, sum[WAYS] = {0};
    int64_t i = 0;
    for (; i + WAYS <= count; i += WAYS)
        for (int w = 0; w < WAYS; w++) {
            float size = fabsf(x[i + w]);
            largest[w] = size > largest[w] ? size : largest[w];
            sum[w] += x[i + w] * 0.0F; /* NaN from what is not finite */
        }
    for (; i < count; i++) {
        largest[0] = fabsf(x[i]) > largest[0] ? fabsf(x[i]) : largest[0];
        sum[0] += x[i] * 0.0F;
    }
    for (int w = 1; w < WAYS; w++) {
        largest[0] = largest[w] > largest[0] ? largest[w] : largest[0];
        sum[0] += sum[w];
    }
    return isnan(sum[0]) ? NAN : largest[0];
}

static bool is_in_range(float largest)
{
    return largest == 0 || (largest >= SMALLEST && largest <= LARGEST);
}

void norma_chain_single_multiply(norma_chain *chain, int64_t first, int64_t count, double alpha,
                                 double beta)
{
    const norma_chain_spec *spec = &chain->spec;
    const int d = (int)spec->width, n = (int)spec->batch;
    for (int64_t end = first + count; first < end; first += chain->panel_rows) {
        int rows = (int)(end - first < chain->panel_rows ? end - first : chain->panel_rows);
        double *z = chain->z + first * n;
        const float *product = chain->z_single;
        norma_chain_weights_rows(spec, &chain->draw, first, rows, chain->panel);
        round_all((int64_t)rows * d, chain->panel, chain->panel_single);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, n, d, 1, chain->panel_single,
                    d, chain->h_single, n, 0, chain->z_single, n);
        if (beta == 0)
            for (int64_t i = 0; i < (int64_t)rows * n; i++)
                z[i] = alpha * (double)product[i];
        else
            for (int64_t i = 0; i < (int64_t)rows * n; i++)
                z[i] = alpha * (double)product[i] + beta * z[i];
    }
}

norma_status norma_chain_single_round(norma_chain *chain, double *x)
{
    const int64_t count = chain->spec.width * chain->spec.batch;
    if (!chain->spec.single)
        return NORMA_OK;
    round_all(count, x, chain->h_single);
    for (int64_t i = 0; i < count; i++)
        x[i] = (double)chain->h_single[i];
    float largest = find_largest(count, chain->h_single);
    if (is_in_range(largest))
        return NORMA_OK;
    return NORMA_FAIL(
        NORMA_NUMERIC,
        "layer %lld, replica %lld: the largest element of the representation is %.3g, "
        "beyond what single precision holds with all digits; use --precision double",
        (long long)chain->making, (long long)chain->draw.replica, (double)largest);
}

void norma_chain_single_copy(norma_chain *chain)
{
    if (chain->spec.single)
        round_all(chain->spec.width * chain->spec.batch, chain->h, chain->h_single);
}

norma_status norma_chain_single_check_given(const norma_chain *chain)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t count = spec->width * spec->width;
    if (!spec->single || spec->weights != NORMA_DISTRIBUTION_GIVEN)
        return NORMA_OK;
    for (int64_t layer = 0; layer < spec->n_given; layer++) {
        double largest = 0;
        for (int64_t i = 0; i < count; i++)
            largest = fmax(largest, fabs(spec->given[layer * count + i]));
        if (!is_in_range((float)largest))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "the given weights of layer %lld are up to %.3g, beyond what single "
                              "precision holds with all digits; use --precision double",
                              (long long)layer, largest);
    }
    return NORMA_OK;
}

double norma_chain_single_rounding(const norma_chain_spec *spec)
{
    return 8 * sqrt((double)spec->width) * FLT_EPSILON;
}

double norma_chain_single_rank_tolerance(const norma_chain_spec *spec)
{
    return (double)(spec->width > spec->batch ? spec->width : spec->batch) * FLT_EPSILON;
}
