#ifndef NORMA_MPI_VALUES_CHASE_KERNELS_H
#define NORMA_MPI_VALUES_CHASE_KERNELS_H
/*
 * Internal to mpi/values/chase: the two operations on small blocks that reduce a band to a
 * bidiagonal matrix, one set an instruction set.
 *
 * Blocks are column-major. A reflector is I - tau v v' with v[0] = 1.
 */
#include <stdint.h>

typedef struct norma_chase_reflector {
    double tau;
    double *v;
} norma_chase_reflector;

typedef struct norma_chase_kernels {
    /* The block a, m x n, changed from the left by `left`; then `right` is made to annihilate its
     * first row but one entry, and changes it from the right. work [m + 2 n]. */
    void (*above)(int m, int n, double *a, int64_t lda, const norma_chase_reflector *left,
                  norma_chase_reflector *right, double *work);
    /* The square block a changed from the right by `right`; then `left` is made to annihilate its
     * first column but one entry, and changes it from the left. work [3 n]. */
    void (*diagonal)(int n, double *a, int64_t lda, const norma_chase_reflector *right,
                     norma_chase_reflector *left, double *work);
    /* The reflector that takes x[n] to a multiple of the first unit vector, which is returned. */
    double (*reflector)(int n, const double *x, norma_chase_reflector *out);
} norma_chase_kernels;

extern const norma_chase_kernels norma_chase_kernels_scalar;
#ifdef NORMA_X86_KERNELS
extern const norma_chase_kernels norma_chase_kernels_avx2;
extern const norma_chase_kernels norma_chase_kernels_avx512;
#endif

#endif
