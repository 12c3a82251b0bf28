#ifndef NORMA_EXPERIMENTS_SPECTRUM_RECORD_H
#define NORMA_EXPERIMENTS_SPECTRUM_RECORD_H
/*
 * The results of one replica of one cell: a row of scalars and a few arrays, all of them in one
 * array of numbers, which is also what a checkpoint keeps. The scalars are one table.
 */
#include "experiments/spectrum/laws.h"
#include "io/result/schema.h"

/* Indices of the table norma_spectrum_scalars. */
typedef enum norma_spectrum_scalar {
    NORMA_SPECTRUM_METHOD_USED,
    NORMA_SPECTRUM_LAW_USED,
    NORMA_SPECTRUM_N_ROWS,
    NORMA_SPECTRUM_N_FEATURES,
    NORMA_SPECTRUM_N_VALUES,
    NORMA_SPECTRUM_N_ZERO,
    NORMA_SPECTRUM_SCALE,
    NORMA_SPECTRUM_SIGMA_MAX,
    NORMA_SPECTRUM_SIGMA_MIN,
    NORMA_SPECTRUM_CONDITION,
    NORMA_SPECTRUM_KS,
    NORMA_SPECTRUM_EDGE_LOW,
    NORMA_SPECTRUM_EDGE_LOW_PREDICTED,
    NORMA_SPECTRUM_EDGE_HIGH,
    NORMA_SPECTRUM_EDGE_HIGH_PREDICTED,
    NORMA_SPECTRUM_N_OUTLIERS,
    NORMA_SPECTRUM_TRACE2,
    NORMA_SPECTRUM_TRACE2_MEASURED,
    NORMA_SPECTRUM_TRACE2_STDERR,
    NORMA_SPECTRUM_TRACE4,
    NORMA_SPECTRUM_TRACE4_MEASURED,
    NORMA_SPECTRUM_TRACE4_STDERR,
    NORMA_SPECTRUM_DENSITY_WIDTH,
    NORMA_SPECTRUM_SECONDS,
    NORMA_SPECTRUM_SECONDS_ASSEMBLY,
    NORMA_SPECTRUM_SECONDS_SUMS,
    NORMA_N_SPECTRUM_SCALARS
} norma_spectrum_scalar;

/* Name, type, units, description of each; dimensions are the output's. */
extern const norma_variable norma_spectrum_scalars[NORMA_N_SPECTRUM_SCALARS];

/* Arrays over the bins. */
typedef enum norma_spectrum_curve {
    NORMA_SPECTRUM_GRID,
    NORMA_SPECTRUM_DENSITY,
    NORMA_SPECTRUM_CDF,
    NORMA_SPECTRUM_CDF_LOW,
    NORMA_SPECTRUM_CDF_HIGH,
    NORMA_SPECTRUM_LIMIT_DENSITY,
    NORMA_SPECTRUM_LIMIT_CDF,
    NORMA_N_SPECTRUM_CURVES
} norma_spectrum_curve;

extern const norma_variable norma_spectrum_curves[NORMA_N_SPECTRUM_CURVES];

typedef struct norma_spectrum_record {
    int64_t n_bins, n_outliers, n_saved; /* n_outliers: places, c2 */
    int64_t n_numbers;
    double *numbers;   /* [n_numbers], owned: */
    double *scalars;   /*   [NORMA_N_SPECTRUM_SCALARS] */
    double *curves;    /*   [NORMA_N_SPECTRUM_CURVES][n_bins] */
    double *outlier;   /*   [n_outliers]: the largest values, as many as are predicted */
    double *predicted; /*   [n_outliers] */
    double *values;    /*   [n_saved] */
} norma_spectrum_record;

/* Places for all of it, NaN. Local; caller clears. */
NORMA_MUST_USE norma_status norma_spectrum_record_init(int64_t n_bins, int64_t n_outliers,
                                                       int64_t n_saved,
                                                       norma_spectrum_record *record);

/* Fills the record of a measured replica: values in units of the cell's scale, density and
 * distribution function, the limit law beside them. Local. */
NORMA_MUST_USE norma_status norma_spectrum_record_fill(const norma_spectrum_cell *cell,
                                                       const norma_spectrum_result *result,
                                                       norma_spectrum_record *record);

void norma_spectrum_record_clear(norma_spectrum_record *record);

#endif
