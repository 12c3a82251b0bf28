#ifndef NORMA_MPI_KRYLOV_CONJUGATE_H
#define NORMA_MPI_KRYLOV_CONJUGATE_H
/*
 * Conjugate gradients in single precision for A x = b, A an operator of mpi/krylov/product, to the
 * accuracy of double precision.
 *
 * At least as many features as equations: Craig's method, which is conjugate gradients for A A' y =
 * b with x = A' y, tends to the solution of minimum norm. Fewer: conjugate gradients for A' A x =
 * A' b, with the gradient A' (b - A x) in the place of the residual. One iteration is one pass over
 * the features and one all-reduce.
 *
 * The error that single precision adds to the recurred residual is estimated; before it matters,
 * the residual is replaced by the true one of x, in double precision, and the search directions are
 * kept (van der Vorst and Ye, SIAM J. Sci. Comput. 22, 2000): few iterations are lost, where a
 * restart would lose all that the method has learnt. Nothing is promised for systems whose
 * condition number, or in least squares its square, comes near 2^24: `done` tells.
 */
#include "mpi/krylov/product.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_conjugate {
    norma_product *product; /* borrowed */
    norma_product_form form;
    bool wide;               /* at least as many features as equations */
    int64_t n_rows, n_share; /* equations; features of this rank */
    int64_t max_iterations;
    double aim; /* done at this multiple of the residual, or gradient, that rounding x leaves */

    double *x;         /* [n_share], owned: the answer at the last replacement */
    double *residual;  /* [n_rows], owned: b - A x, recurred since a replacement */
    double *direction; /* [n_share], owned */
    double *image;     /* [n_rows], owned: A direction */
    double *gradient;  /* [n_share], owned; least squares only */
    double *spare;     /* [n_share], owned */
    double *change;    /* [n_rows], owned */
    double *dual;      /* [n_rows], owned; wide only: x grew by A' dual since a replacement */
    double squares;    /* of the residual, in least squares of the gradient, as recurred */
    double true_size;  /* its norm at the last replacement */
    double x_squares;  /* ||x||^2 at the last replacement, recurred since (wide) */
    double group;      /* ||x||^2, in least squares ||A x||^2, of what was added since then */
    double r_squares;  /* ||b - A x||^2 */
    double norm;       /* a lower bound of ||A|| */
    int64_t iterations, n_replacements;
    /* The recurrence where the coefficients end, so that they can be continued from there though x
     * has all its digits; wide only. */
    double *kept_residual;  /* [n_rows], owned */
    double *kept_direction; /* [n_share], owned */
    double kept_squares, kept_ratio;
    bool blurred; /* a replacement found next to nothing of the recurred residual true */
    bool done;    /* the residual, or gradient, is what rounding x leaves, times aim */

    /* The triangular factor of the tridiagonal matrix that the process makes of A: diagonal a_1,
     * a_2, …, off-diagonal b_2, b_3, …, as a_1, b_2, a_2, …; see mpi/krylov/condition.h. */
    double *links;
    int64_t n_links;
} norma_conjugate;

/* Room for max_iterations; aim above 2; 10 is the floor. Local: the caller
 * agrees. Caller owns *out; product must outlive it. */
NORMA_MUST_USE norma_status norma_conjugate_create_local(norma_product *product,
                                                         norma_product_form form,
                                                         int64_t max_iterations, double aim,
                                                         norma_conjugate **out);

/* Iterates from x = 0 for b[n_rows] until done, stagnated or out of iterations; progress is shown
 * on the way. Leaves the product in double precision. Collective. */
void norma_conjugate_run(norma_conjugate *c, const double *b);

/* Extreme singular values of A as the links show them; *error is by how much a fifth of the
 * iterations fewer changed the smallest one, relatively. False when they are not to be trusted:
 * that is more than `settled`, or they are so far apart that single precision blurs the small one.
 * Local. */
bool norma_conjugate_condition_local(const norma_conjugate *c, double settled, double *largest,
                                     double *smallest, double *error);

/* The same after as many further iterations as that takes, but no more than there were: of the
 * recurred residual, which knows no floor; x and the count of iterations stay. (Least squares:
 * none.) Collective. */
bool norma_conjugate_settle(norma_conjugate *c, double settled, double *largest, double *smallest,
                            double *error);

/* Frees and nulls; NULL is allowed. Local. */
void norma_conjugate_destroy_local(norma_conjugate **c);

#endif
