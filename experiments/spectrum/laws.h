#ifndef NORMA_EXPERIMENTS_SPECTRUM_LAWS_H
#define NORMA_EXPERIMENTS_SPECTRUM_LAWS_H
/*
 * The limit law that the singular values of a cell are compared with, where there is one, in the
 * units that results are written in (src/theory/limit_law.h has the laws).
 *
 *     rows        max rule, one of both source kernels of a single tap: all rows alike
 *     population  max rule, both kernels of several taps: rows of different variances
 *     pivots      min rule, one kernel of a single tap: rows alike, and outliers
 *
 * There is none for weights with a mean (an outlier of order sqrt(n)) or from a file, for the
 * well-conditioned features, and for the min rule with several taps in both kernels.
 */
#include "experiments/spectrum/setup.h"
#include "src/theory/limit_law.h"

typedef enum norma_spectrum_law {
    NORMA_SPECTRUM_LAW_NONE,
    NORMA_SPECTRUM_LAW_ROWS,
    NORMA_SPECTRUM_LAW_POPULATION,
    NORMA_SPECTRUM_LAW_PIVOTS,
    NORMA_N_SPECTRUM_LAWS
} norma_spectrum_law;

/* "none", "rows", "population", "pivots"; NULL-terminated. */
extern const char *const norma_spectrum_law_names[];

typedef struct norma_spectrum_laws {
    norma_spectrum_law kind;
    norma_limit_law *law; /* owned; NULL without one */
    bool hard_edge;       /* c1 = n: the smallest value is of order 1 / n */
    double low;           /* predicted edges: of a hard edge the median */
    double high;          /* of the bulk */
    int64_t n_outliers;   /* predicted */
    double *outliers;     /* [c2]: predicted, largest first, then NaN; owned */
} norma_spectrum_laws;

/* For the current replica of a cell whose M has n_rows rows. Local; *laws is to be cleared whatever
 * is returned. */
NORMA_MUST_USE norma_status norma_spectrum_laws_init(const norma_spectrum_cell *cell,
                                                     int64_t n_rows, norma_spectrum_laws *laws);

/* Kolmogorov-Smirnov distance of n values, largest first, to the law, without the predicted
 * outliers; NaN without a law. values are not changed. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_spectrum_laws_distance(const norma_spectrum_laws *laws,
                                                         const double *values, int64_t n,
                                                         double *distance);

/* The largest difference of cdf[n] on grid[n] to the law; NaN without one. */
double norma_spectrum_laws_difference(const norma_spectrum_laws *laws, const double *grid,
                                      const double *cdf, int64_t n);

void norma_spectrum_laws_clear(norma_spectrum_laws *laws);

#endif
