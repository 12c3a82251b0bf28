#ifndef NORMA_EXPERIMENTS_ALIGN_RECORD_H
#define NORMA_EXPERIMENTS_ALIGN_RECORD_H
/*
 * The results of one replica of one cell, all in one array of numbers, which is also what a
 * checkpoint keeps: a row of scalars, a row for each search, the permutations. The rows are tables.
 */
#include "experiments/align/cell.h"
#include "io/result/schema.h"

/* Indices of the table norma_align_scalars. */
typedef enum norma_align_scalar {
    NORMA_ALIGN_N_ROWS,
    NORMA_ALIGN_N_FEATURES,
    NORMA_ALIGN_RANK,
    NORMA_ALIGN_TARGET_RMS,
    NORMA_ALIGN_ROUNDING,
    NORMA_ALIGN_MATCH_FOUND,
    NORMA_ALIGN_MATCH_PROBABILITY,
    NORMA_ALIGN_MATCH_LOW,
    NORMA_ALIGN_MATCH_HIGH,
    NORMA_ALIGN_MATCH_BOUND,
    NORMA_ALIGN_MATCH_CLAIMED,
    NORMA_ALIGN_SECONDS_FACTOR,
    NORMA_ALIGN_SECONDS_MATCH,
    NORMA_N_ALIGN_SCALARS
} norma_align_scalar;

/* Indices of the table norma_align_results: numbers of a search. */
typedef enum norma_align_result {
    NORMA_ALIGN_RMSE,
    NORMA_ALIGN_RELATIVE_ERROR,
    NORMA_ALIGN_CRITERION,
    NORMA_ALIGN_N_EVALUATIONS,
    NORMA_ALIGN_SECONDS_SEARCH,
    NORMA_N_ALIGN_RESULTS
} norma_align_result;

/* Name, type, units, description of each; dimensions are the output's. */
extern const norma_variable norma_align_scalars[NORMA_N_ALIGN_SCALARS];
extern const norma_variable norma_align_results[NORMA_N_ALIGN_RESULTS];

typedef struct norma_align_record {
    int64_t n_searches, n_channels; /* n_channels: places, the largest c2 of the run */
    int64_t n_numbers;
    double *numbers;      /* [n_numbers], owned: */
    double *scalars;      /*   [NORMA_N_ALIGN_SCALARS] */
    double *results;      /*   [NORMA_N_ALIGN_RESULTS][n_searches] */
    double *permutations; /*   [n_searches][n_channels] */
} norma_align_record;

/* Places for all of it, NaN. Local; caller clears. */
NORMA_MUST_USE norma_status norma_align_record_init(int64_t n_searches, int64_t n_channels,
                                                    norma_align_record *record);

/* Measures the replica that the cell has drawn: factors, searches, matchings. Local. */
NORMA_MUST_USE norma_status norma_align_record_measure(const norma_align_cell *cell,
                                                       norma_align_record *record);

void norma_align_record_clear(norma_align_record *record);

#endif
