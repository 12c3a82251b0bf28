#ifndef NORMA_MPI_SYSTEM_ANSWER_H
#define NORMA_MPI_SYSTEM_ANSWER_H
/*
 * The current iterate x of an iterative solver, its true residual in double precision, and the
 * residual that rounding x alone would leave.
 *
 * With at least as many features as equations it is the residual rhs - S x that has to become
 * small, with fewer its gradient S' (rhs - S x); here either is called the error of x.
 */
#include "mpi/system/system.h"

typedef struct norma_answer {
    const norma_system *system; /* borrowed */
    bool wide;                  /* at least as many features as equations: an exact answer */
    int64_t n, n_share;         /* equations; features of this rank */
    double *x;                  /* [n_share], owned: the answer so far */
    double *trial;              /* [n_share], owned: what may replace it */
    double *step;               /* [n_share], owned: workspace; the gradient after measuring */
    double *residual;           /* [n], owned: of what was measured last */
    double x_squares;           /* ||x||^2 */
    double size;                /* ||residual|| */
    double gradient;            /* ||S' residual||; least squares only, else 0 */
    double sigma_max;           /* ||S||, or a lower bound; set by the solver */
    double sigma_min;           /* the smallest singular value, where the solver knows it */
    double sigma_error;         /* relative error of that */
} norma_answer;

/* x = 0, its residual not measured. Local: the caller agrees. The caller clears *answer, after a
 * failure too; system must outlive it. */
NORMA_MUST_USE norma_status norma_answer_init_local(const norma_system *system,
                                                    norma_answer *answer);

/* Residual, its norm, and the gradient, of x[n_share], which may be the answer's x or trial.
 * Collective over system->comm. */
void norma_answer_measure(norma_answer *answer, const double *x);

/* x = trial, or `from`; what was measured is not touched. Collective. */
void norma_answer_accept(norma_answer *answer, const double *from);

/* The error of what was measured last, and what rounding x leaves of it: half of the floor. Local.
 */
double norma_answer_error_local(const norma_answer *answer);
double norma_answer_wanted_local(const norma_answer *answer);

/* True when the error is as small as wanted, or within `factor` of it; in least squares an exact
 * answer is accepted too. Local. */
bool norma_answer_is_good_local(const norma_answer *answer, double factor);

/* NORMA_NUMERIC: how `name` ended ("stagnated", "reached --max-iterations"), with which error;
 * `exact` and `least_squares` advise. Local. */
NORMA_MUST_USE norma_status norma_answer_missed_local(const norma_answer *answer, const char *name,
                                                      const char *ended, int64_t iterations,
                                                      const char *exact, const char *least_squares);

/* The condition numbers (measured anew unless `settled` says that sigma_max and sigma_min are
 * good), their time, and the relative gradient into *solution. Collective. */
NORMA_MUST_USE norma_status norma_answer_describe(norma_answer *answer, bool settled,
                                                  norma_layer_solution *solution);

/* The end of a solve that all ranks shared alike: gamma[n_features] = x unless `status` is a
 * failure, and the grid, 1 x ranks. Collective. */
void norma_answer_deliver(const norma_answer *answer, norma_status status, double *gamma,
                          norma_layer_solution *solution);

/* Frees and zeroes. Local. */
void norma_answer_clear_local(norma_answer *answer);

#endif
