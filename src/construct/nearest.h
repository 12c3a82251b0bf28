#ifndef NORMA_CONSTRUCT_NEAREST_H
#define NORMA_CONSTRUCT_NEAREST_H
/*
 * The solution g of K g = t that is nearest to a constant vector c: g = c + K^+ (t - K c). With
 * fewer unknowns than equations it is the least squares solution. K is given transposed.
 */
#include "src/base/status.h"

#include <stdint.h>

typedef struct norma_nearest {
    double sigma_max, sigma_min; /* of K, sigma_min within a few tens of percent; 0: singular */
    double distance;             /* ||t - K c|| */
    double target;               /* ||t|| */
} norma_nearest;

/* Solves for g[n_unknowns] with K' in transposed[n_equations][n_unknowns], which is overwritten, as
 * t[n_equations] is not. A singular K leaves g undefined, with sigma_min = 0. NORMA_LIMIT beyond
 * LAPACK's 32 bits, NORMA_MEMORY. Local. */
NORMA_MUST_USE norma_status norma_nearest_solve(int64_t n_equations, int64_t n_unknowns,
                                                double *transposed, const double *t, double centre,
                                                double *g, norma_nearest *about);

/* sigma[2]: the largest and the smallest singular value of matrix[n_rows][n_columns], n_rows <=
 * n_columns, which is overwritten; as exact as those above. Errors as above. Local. */
NORMA_MUST_USE norma_status norma_nearest_edges(int64_t n_rows, int64_t n_columns, double *matrix,
                                                double sigma[2]);

#endif
