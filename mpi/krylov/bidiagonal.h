#ifndef NORMA_MPI_KRYLOV_BIDIAGONAL_H
#define NORMA_MPI_KRYLOV_BIDIAGONAL_H
/*
 * The Golub-Kahan process on an operator A of mpi/krylov/product: orthonormal u_k over equations
 * and v_k over features with
 *
 *     beta_1 u_1 = b,   alpha_k v_k = A' u_k - beta_k v_(k-1),
 *     beta_(k+1) u_(k+1) = A v_k - alpha_k u_k.
 *
 * One step is one pass over the features and one all-reduce. Craig's method and LSQR read off its
 * vectors, singular values of A off its coefficients.
 */
#include "mpi/krylov/product.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* When the smallest singular value counts as settled: a fifth of the steps fewer changed it by less
 * than `settled`, relatively, and the directions of the start vector are known to the part
 * `resolved`: a value that rests on the second smallest would be overtaken. */
typedef struct norma_bidiagonal_accuracy {
    double settled, resolved;
} norma_bidiagonal_accuracy;

extern const norma_bidiagonal_accuracy norma_bidiagonal_full;  /* to about 1e-3 */
extern const norma_bidiagonal_accuracy norma_bidiagonal_rough; /* to about 10% */

typedef struct norma_bidiagonal {
    norma_product *product; /* borrowed */
    norma_product_form form;
    int64_t n_rows, n_share; /* of u, of v on this rank */
    double *u;               /* [n_rows]: u_(k+1), owned */
    double *v;               /* [n_share]: v_k, owned */
    double *image;           /* [n_rows], owned */
    double alpha;            /* alpha_k */
    double beta;             /* beta_(k+1) */
    double *links;           /* alpha_1, beta_2, alpha_2, beta_3, …; owned */
    int64_t n_links, max_links;
} norma_bidiagonal;

/* Room for max_steps steps. Local: the caller agrees. Caller owns *out; product must outlive it. */
NORMA_MUST_USE norma_status norma_bidiagonal_create_local(norma_product *product,
                                                          norma_product_form form,
                                                          int64_t max_steps,
                                                          norma_bidiagonal **out);

/* Starts (again) from b[n_rows]; beta is ||b||, and u is undefined where that is 0. Local. */
void norma_bidiagonal_start_local(norma_bidiagonal *process, const double *b);

/* One step; beta must not be 0. alpha = 0 says that no further v exists. Collective. */
void norma_bidiagonal_step(norma_bidiagonal *process);

/* Steps on until the coefficients are those of n_steps steps, for which there must be room, or the
 * vectors are exhausted: true. A step that found nothing but rounding does not count. Collective.
 */
bool norma_bidiagonal_run(norma_bidiagonal *process, int64_t n_steps);

/* Steps on until the smallest nonzero singular value of A has settled in the coefficients, the
 * vectors are exhausted or the room is full; *largest and *smallest are what they show then, *error
 * is by how much fewer steps had changed the latter, relatively; unchanged after no step. False
 * when that is not to be trusted. Collective. */
bool norma_bidiagonal_settle(norma_bidiagonal *process, norma_bidiagonal_accuracy accuracy,
                             double *largest, double *smallest, double *error);

/* The same by a process of its own from a start that is random under `seed`, in at most max_steps
 * steps. Collective over comm. */
NORMA_MUST_USE norma_status norma_bidiagonal_measure(MPI_Comm comm, norma_product *product,
                                                     norma_product_form form, int64_t max_steps,
                                                     uint64_t seed,
                                                     norma_bidiagonal_accuracy accuracy,
                                                     double *largest, double *smallest,
                                                     double *error);

/* Frees and nulls; NULL is allowed. Local. */
void norma_bidiagonal_destroy_local(norma_bidiagonal **process);

#endif
