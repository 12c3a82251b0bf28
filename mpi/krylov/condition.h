#ifndef NORMA_MPI_KRYLOV_CONDITION_H
#define NORMA_MPI_KRYLOV_CONDITION_H
/*
 * Extreme singular values by Lanczos processes.
 *
 * The largest eigenvalue of a symmetric positive semidefinite operator on replicated vectors gives
 * sigma_max (operator M M') and, with factors, 1/sigma_min^2 (operator (M M')^-1); both are well
 * separated, so that a few tens of steps suffice. Without factors, the coefficients of a
 * Golub-Kahan process (mpi/krylov) form a bidiagonal matrix whose extreme singular values tend to
 * those of the operator.
 */
#include "src/base/status.h"

#include <mpi.h>
#include <stdint.h>

/* out = operator times in, both replicated; collective like its caller. */
typedef norma_status (*norma_condition_operator)(void *context, const double *in, double *out);

/* Tolerance for exact operators: eigenvalues to about 1e-9 where they are separated. */
#define NORMA_CONDITION_SHARP 1e-10

/* Tolerance of estimates: singular values, the square roots of eigenvalues, to 10% at most. Where
 * the spectrum is dense at its end an eigenvalue is off by up to twice the residual. */
#define NORMA_CONDITION_ROUGH 0.05

/* *largest = the largest eigenvalue of a symmetric positive semidefinite operator on n > 0
 * numbers, from a start vector that is random under `seed`: done when three steps running move it
 * by less than `tolerance`, relatively, which must not be below the operator's own errors; for
 * NORMA_CONDITION_ROUGH, when they move it by less than 2% and the residual of the eigenvector is
 * at most that part of the eigenvalue, or when one step does and the residual is at most 1% of the
 * eigenvalue. *error is that part, but at most `tolerance` for a precise
 * one. Infinite when the operator gives values that are not finite. Collective over comm. */
NORMA_MUST_USE norma_status norma_condition_largest(MPI_Comm comm, norma_condition_operator apply,
                                                    void *context, int64_t n, uint64_t seed,
                                                    double tolerance, double *largest,
                                                    double *error);

/* The largest and the smallest nonzero singular value, to 1e-12 of themselves, of the bidiagonal
 * matrix with diagonal a_1, a_2, … and off-diagonal b_2, b_3, …, given as links a_1, b_2, a_2, b_3,
 * …; an even number of links makes it rectangular, with one more row than columns. n_links > 0, no
 * link but the last may be zero. Local. */
double norma_condition_largest_link_local(const double *links, int64_t n_links);
double norma_condition_smallest_link_local(const double *links, int64_t n_links);

#endif
