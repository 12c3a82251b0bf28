#include "experiments/gradient/record.h"

#include "src/gradient/rates.h"

#include <math.h>
#include <string.h>

int64_t norma_gradient_record_count(const norma_gradient_cell *cell)
{
    int64_t rows = cell->request.isometry_gap ? 3 : 2;
    return NORMA_N_GRADIENT_SCALARS + rows * cell->n_recorded + cell->n_windows + cell->n_pairs;
}

norma_gradient_record norma_gradient_record_view(const norma_gradient_cell *cell, double *numbers)
{
    norma_gradient_record record = {.scalars = numbers};
    record.log_norm = numbers + NORMA_N_GRADIENT_SCALARS;
    record.rate = record.log_norm + cell->n_recorded;
    numbers = record.rate + cell->n_recorded;
    if (cell->request.isometry_gap) {
        record.isometry_gap = numbers;
        numbers += cell->n_recorded;
    }
    record.log_jacobian = numbers;
    record.cosine = numbers + cell->n_windows;
    return record;
}

/* NaN for what has no finite value: the logarithm of a gradient of 0. */
static double finite_or_missing(double x)
{
    return isfinite(x) ? x : NAN;
}

void norma_gradient_record_fill(const norma_gradient_cell *cell, const norma_gradient *gradient,
                                double seconds, norma_gradient_record *record)
{
    norma_gradient_result result;
    norma_gradient_get_result(gradient, &result);
    int64_t n_zero = 0;
    for (int64_t l = 0; l < cell->depth; l++)
        n_zero += isinf(result.log_norm[l]) ? 1 : 0;
    record->scalars[NORMA_GRADIENT_LOSS] = result.loss;
    record->scalars[NORMA_GRADIENT_N_ZERO] = (double)n_zero;
    record->scalars[NORMA_GRADIENT_FIT] = -norma_gradient_slope(cell->depth, NULL, result.log_norm);
    record->scalars[NORMA_GRADIENT_SECONDS] = seconds;
    for (int64_t k = 0; k < cell->n_recorded; k++) {
        int64_t layer = cell->request.layers[k];
        record->log_norm[k] = layer < cell->depth ? finite_or_missing(result.log_norm[layer]) : NAN;
        record->rate[k] = norma_gradient_local_rate(result.log_norm, cell->depth, layer);
    }
    if (record->isometry_gap)
        memcpy(record->isometry_gap, result.isometry_gap,
               (size_t)cell->n_recorded * sizeof(double));
    for (int64_t w = 0; w < cell->n_windows; w++)
        record->log_jacobian[w] = finite_or_missing(result.log_jacobian[w]);
    for (int64_t p = 0; p < cell->n_pairs; p++)
        record->cosine[p] = result.cosine[p];
}
