#ifndef NORMA_ALIGN_PROBLEM_H
#define NORMA_ALIGN_PROBLEM_H
/*
 * Which target row should each output channel of the features take (RF Theorem 4.1)?
 *
 * With fewer features than weights, least squares leaves of a target w the part in the complement
 * of M's range. U2[i] [c0 |K|][n - r] are the rows of an orthonormal basis of it that belong to
 * output channel i, and T[i][p] = U2[i]' w[p] is what target row p leaves when channel i takes it.
 * A permutation pi gives channel i the row pi(i) and leaves
 *     criterion(pi) = || sum over i of T[i][pi(i)] ||^2,
 * whose root over sqrt(n) is the root mean square error of the solved weights.
 */
#include "src/align/complement.h"

#include <stdbool.h>

typedef struct norma_align_problem {
    int64_t n_channels; /* c2 */
    int64_t n_parts;    /* n - r; 0: every target is reached exactly */
    double *parts;      /* T [c2][c2][n - r]; owned */
    double *weights;    /* [c2]: squared Frobenius norms of U2[i]; owned */
    double *misses;     /* [c2][c2]: nonzero entries of target row p at places that channel i lacks;
                         * owned; NULL where features are not single weights */
    double target2;     /* sum of squares of the target */
} norma_align_problem;

/* From a complement of n = c2 * row rows and a target [c2][row]. misses are computed where every
 * unit vector lies within 1e-9 of M's range or of its complement. Local. NORMA_CONFIG for rows that
 * do not fit; NORMA_MEMORY; NORMA_LIMIT. *out is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_align_problem_init(const norma_align_complement *complement,
                                                     int64_t n_channels, const double *target,
                                                     norma_align_problem *out);

/* Every row of the target, less[i] [row] subtracted where channel i takes it: parts of target rows
 * beside a fixed layer less[c2][row]. misses count the target's entries still. Local. NORMA_MEMORY.
 */
NORMA_MUST_USE norma_status norma_align_problem_subtract(const norma_align_complement *complement,
                                                         const double *less,
                                                         norma_align_problem *problem);

/* Bytes that norma_align_problem_init takes for a complement of n_rows rows, where features are
 * single weights: the most. Pure. */
double norma_align_problem_bytes(int64_t n_rows, int64_t n_channels, int64_t n_parts);

void norma_align_problem_clear(norma_align_problem *problem);

/* T[i][p]; borrowed. */
const double *norma_align_part(const norma_align_problem *problem, int64_t i, int64_t p);

/* sum[n - r] = the sum over i of T[i][permutation[i]]. */
void norma_align_sum(const norma_align_problem *problem, const int64_t *permutation, double *sum);

/* Its squared norm; work[n - r]. */
double norma_align_criterion(const norma_align_problem *problem, const int64_t *permutation,
                             double *work);

/* The criterion after channels i and k exchange their rows; sum[n - r] is that of the permutation
 * before. n - r operations. */
double norma_align_swapped(const norma_align_problem *problem, const int64_t *permutation,
                           const double *sum, int64_t i, int64_t k);

/* Exchanges the rows of channels i and k, in the permutation and in its sum. */
void norma_align_swap(const norma_align_problem *problem, int64_t *permutation, double *sum,
                      int64_t i, int64_t k);

/* Is `after` lower than `before` by more than rounding? */
bool norma_align_improves(const norma_align_problem *problem, double before, double after);

#endif
