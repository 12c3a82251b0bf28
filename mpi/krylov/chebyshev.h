#ifndef NORMA_MPI_KRYLOV_CHEBYSHEV_H
#define NORMA_MPI_KRYLOV_CHEBYSHEV_H
/*
 * Chebyshev semi-iteration for A x = b, A an operator of mpi/krylov/product whose singular values
 * lie in [low, high] (Golub and Varga, Numer. Math. 3, 1961; Saad, Iterative Methods for Sparse
 * Linear Systems, algorithm 12.1).
 *
 * At least as many features as equations: for A A' y = b, x = A' y, which gives the solution of
 * minimum norm. Fewer: for A' A x = A' b. With t the Chebyshev polynomial of degree k, center c and
 * half width h of [low^2, high^2],
 *
 *     ||b - A x_k|| <= ||b|| / t(c / h)         (fewer features: of the gradient A' (b - A x)),
 *
 * so that the number of steps is known before the first one. A step is one pass over the features
 * and one sum over the ranks, that of the product. No step length is taken from the vectors: there
 * is no inner product, nothing is learnt, and a restart loses nothing. A singular value below `low`
 * makes it slow, one above `high` makes it diverge; it does not notice either.
 */
#include "mpi/krylov/product.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_chebyshev {
    norma_product *product; /* borrowed */
    norma_product_form form;
    bool wide;                 /* at least as many features as equations */
    int64_t n_rows, n_share;   /* equations; features of this rank */
    double center, half_width; /* of the interval of squares */

    double *x;         /* [n_share], owned: the sum of the steps; wide: after finish */
    double *direction; /* [n_share], owned */
    double *gradient;  /* [n_share], owned; least squares only */
    double *residual;  /* [n_rows], owned: as recurred; wide only */
    double *dual;      /* [n_rows], owned: x = A' dual; wide only */
    double *change;    /* [n_rows], owned */
    double *image;     /* [n_rows], owned: A direction */
    double step, rho;  /* of the last step; rho = t_(k-1)(c / h) / t_k(c / h) */
} norma_chebyshev;

/* Local: the caller agrees. Caller owns *out; product must outlive it. */
NORMA_MUST_USE norma_status norma_chebyshev_create_local(norma_product *product,
                                                         norma_product_form form,
                                                         norma_chebyshev **out);

/* The interval of the singular values, 0 < low < high. Local. */
void norma_chebyshev_set_interval_local(norma_chebyshev *c, double low, double high);

/* Steps that make the error `part` of itself, 0 < part < 1, infinity never: at most 1e15. Local. */
double norma_chebyshev_steps_local(const norma_chebyshev *c, double part);

/* Starts from x = 0 for b[n_rows]; gradient[n_share] = A' b is read in least squares only.
 * Collective. */
void norma_chebyshev_start(norma_chebyshev *c, const double *b, const double *gradient);

/* One step, in the precision of the product. Collective: one sum over the ranks. */
void norma_chebyshev_step(norma_chebyshev *c);

/* Completes x, in the precision of the product. Local. */
void norma_chebyshev_finish_local(norma_chebyshev *c);

/* Frees and nulls; NULL is allowed. Local. */
void norma_chebyshev_destroy_local(norma_chebyshev **c);

#endif
