#ifndef NORMA_ALIGN_COMPLEMENT_H
#define NORMA_ALIGN_COMPLEMENT_H
/*
 * The complement of a matrix's range: its orthonormal basis is the last n - r columns of Q in a
 * complete QR factorization M = Q R. Columns are exchanged (dgeqp3)
 * where the plain factor R is too badly conditioned to show that the rank is full.
 */
#include "src/base/status.h"

#include <stdint.h>

typedef struct norma_align_complement {
    int64_t n_rows;  /* n */
    int64_t rank;    /* r: diagonal entries of R above max(n, c1) 2^-50 of the largest */
    int64_t n_parts; /* n - r */
    double *basis;   /* [n - r][n]: orthonormal vectors; owned */
} norma_align_complement;

/* Fills matrix[n_columns][n_rows], column after column; the same whenever asked. */
typedef void (*norma_align_fill)(const void *context, double *matrix);

/* The complement of the range of a matrix with n_rows rows and n_columns columns. Local; runs on
 * the threads of BLAS. NORMA_MEMORY; NORMA_LIMIT beyond LAPACK's 32-bit extents; NORMA_LIBRARY.
 * *out is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_align_complement_init(int64_t n_rows, int64_t n_columns,
                                                        norma_align_fill fill, const void *context,
                                                        norma_align_complement *out);

/* Bytes at the peak of that, for a matrix of full rank. */
double norma_align_complement_bytes(int64_t n_rows, int64_t n_columns);

void norma_align_complement_clear(norma_align_complement *complement);

#endif
