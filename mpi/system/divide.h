#ifndef NORMA_MPI_SYSTEM_DIVIDE_H
#define NORMA_MPI_SYSTEM_DIVIDE_H
/*
 * The singular value decomposition of a matrix on one process by divide and conquer (LAPACK's
 * DBDSDC on the bidiagonal form), about twelve times as fast as QR iteration with vectors.
 *
 * Divide and conquer has failed or been wrong on some processors and thread counts. So its values
 * are compared with those that the QR algorithm (DLASQ1) finds of the same bidiagonal form, which
 * takes a time proportional to n^2; the caller decomposes by QR iteration where they disagree.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* True for sizes that DBDSDC counts in 32 bits. Local, pure. */
bool norma_divide_fits_local(int64_t n_rows, int64_t n_columns);

/* Numbers of workspace, and besides them integers, for a matrix of m x n. Local, pure. */
int64_t norma_divide_workspace_local(int64_t n_rows, int64_t n_columns);
int64_t norma_divide_integers_local(int64_t n_rows, int64_t n_columns);

/* True when values[n], largest first, agree with expected[n] to max(1e-12, n 2^-52) of the largest.
 * Local, pure. */
bool norma_divide_agrees_local(int64_t n, const double *values, const double *expected);

typedef struct norma_divide_matrices {
    int m, n;      /* k is the smaller one */
    double *a;     /* [n][lda >= m], overwritten */
    double *left;  /* [k][ld_left >= m]: U */
    double *right; /* [n][ld_right >= k]: V' */
    int lda, ld_left, ld_right;
} norma_divide_matrices;

/* A = U diag(sigma[k]) V'; workspace and integers have at least the sizes above. *good is false,
 * and the results are undefined, where divide and conquer failed, its values disagree, or A has
 * entries whose squares leave the range of doubles (or no entry but zeros). All is borrowed. Local.
 * NORMA_LIBRARY when LAPACK refuses an argument. */
NORMA_MUST_USE norma_status norma_divide_decompose_local(const norma_divide_matrices *matrices,
                                                         double *sigma, double *workspace,
                                                         int *integers, bool *good);

#endif
