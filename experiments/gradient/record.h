#ifndef NORMA_EXPERIMENTS_GRADIENT_RECORD_H
#define NORMA_EXPERIMENTS_GRADIENT_RECORD_H
/*
 * The results of one replica of one cell as numbers in one piece, which is also what a journal
 * keeps: scalars, then rows over the recorded layers, over windows, over pairs. Missing: NaN.
 */
#include "experiments/gradient/setup.h"

typedef enum norma_gradient_scalar {
    NORMA_GRADIENT_LOSS,
    NORMA_GRADIENT_N_ZERO, /* layers whose gradient is exactly 0 */
    NORMA_GRADIENT_FIT,    /* rate over all layers */
    NORMA_GRADIENT_SECONDS,
    NORMA_N_GRADIENT_SCALARS
} norma_gradient_scalar;

/* The parts of a record, of [n_recorded] layers each but the last two. */
typedef struct norma_gradient_record {
    double *scalars;
    double *log_norm, *rate;
    double *isometry_gap; /* NULL where it is not wanted */
    double *log_jacobian; /* [n_windows] */
    double *cosine;       /* [n_pairs] */
} norma_gradient_record;

/* Numbers of a record. */
int64_t norma_gradient_record_count(const norma_gradient_cell *cell);

/* The parts of `numbers`, borrowed. */
norma_gradient_record norma_gradient_record_view(const norma_gradient_cell *cell, double *numbers);

/* Fills a record from a gradient that is done; seconds: the time spent on it. */
void norma_gradient_record_fill(const norma_gradient_cell *cell, const norma_gradient *gradient,
                                double seconds, norma_gradient_record *record);

#endif
