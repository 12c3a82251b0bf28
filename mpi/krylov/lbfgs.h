#ifndef NORMA_MPI_KRYLOV_LBFGS_H
#define NORMA_MPI_KRYLOV_LBFGS_H
/*
 * L-BFGS for weighted linear least squares: the x that minimizes
 *
 *     f(x) = ||D (b - A x)||^2 / 2,        D diagonal,
 *
 * (Nocedal, Math. Comp. 35, 1980), the method with which the papers reconstruct layers (CNN24
 * section 4, RF Fig. 2). f is quadratic, so the line search is exact: the best step along a
 * direction d is (D r)'(D A d) / ||D A d||^2, r = b - A x, at the price of the one product that
 * moves r along as well. It satisfies the strong Wolfe conditions, and no trial step is thrown
 * away.
 *
 * The two-loop recursion works on the inner products of the directions that it keeps, and yields
 * the coefficients of d among them (Chen, Wang and Zhou, NIPS 2014): one all-reduce of those
 * products an iteration, however long the history, beside the two of A d and A' r.
 *
 * Vectors over unknowns are distributed, each rank having a share; those over equations are
 * replicated.
 */
#include "mpi/krylov/stopping.h"
#include "src/base/status.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* The most steps that may be kept. */
#define NORMA_LBFGS_MOST_HISTORY 1000

typedef struct norma_lbfgs_problem {
    MPI_Comm comm;
    int64_t n_rows, n_share; /* equations; unknowns of this rank */
    void *context;           /* of the two products; borrowed */
    /* y[n_rows] = A x[n_share]; x = A' y. Collective. */
    void (*apply)(void *context, const double *x, double *y);
    void (*apply_transpose)(void *context, const double *y, double *x);
    const double *rhs;     /* [n_rows]: b; borrowed */
    const double *weights; /* [n_rows]: the diagonal of D; borrowed; NULL: ones */
    bool solvable;         /* an x with A x = b is expected: progress is that of the residual, not
                            * of the gradient */
    double norm;           /* a lower bound of ||A||, or 0 */
    double rhs_error;      /* ||.|| of what b carried before rounding, where b is made; else 0 */
    bool single;           /* x, gradient, residual and steps are rounded to FP32 */
    int64_t history;       /* steps that are kept, 1 to NORMA_LBFGS_MOST_HISTORY */
    int64_t max_iterations;
    const char *name; /* for progress and messages; borrowed */
} norma_lbfgs_problem;

typedef struct norma_lbfgs_result {
    norma_stopping stopping; /* never NONE */
    int64_t iterations;
    double residual; /* ||b - A x||, as recurred */
} norma_lbfgs_result;

/* Iterates from x[n_share], which is overwritten. It stops
 *   by tolerance    where the residual is what rounding x leaves, or the gradient what rounding the
 *                   residual leaves (u = 2^-53, single: 2^-24); at once if it is so at the start;
 *   for no progress where a step changes no entry of x, or hundreds of steps hardly anything;
 *   at its limit    after max_iterations.
 * Collective over comm. NORMA_NUMERIC when a number is not finite. */
NORMA_MUST_USE norma_status norma_lbfgs_minimize(const norma_lbfgs_problem *problem, double *x,
                                                 norma_lbfgs_result *result);

/* Bytes that it allocates on a rank. Local, pure. */
double norma_lbfgs_bytes_local(int64_t n_rows, int64_t n_share, int64_t history);

#endif
