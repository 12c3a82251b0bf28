#ifndef NORMA_CHAIN_KERNELS_LANES_H
#define NORMA_CHAIN_KERNELS_LANES_H
/*
 * Internal to src/chain and its tests: kernels for small matrices, in sets for 8, 4, 2 and 1
 * replicas.
 *
 * Lanes: 8, 4 or 2 replicas at once, one replica a vector lane; a matrix is
 * [rows][columns][lanes]. Solo: one replica, [rows][columns], vectors along columns. Strides
 * below count matrix elements, that is units of `lanes` doubles. Every element is computed by the
 * same operations in the same order (with fused multiply-add) in both sets and for every
 * instruction set (src/base/cpu.h), so a replica's bits depend neither on them nor on the other
 * lanes.
 */
#include <stdint.h>

/* Most replicas of a block. */
#define NORMA_LANES 8

/* Most columns and rows of a matrix, lanes and solo. */
#define NORMA_LANES_MAX_SIZE 64
#define NORMA_SOLO_MAX_SIZE 256

/* One number a lane, aligned as the kernels want every array of theirs. */
typedef double norma_lanes_values[NORMA_LANES] __attribute__((aligned(64)));

/* A matrix operand: element (i, j) is at data + lanes * (i * row + j * column). */
typedef struct norma_lanes_operand {
    const double *data;
    int64_t row, column;
} norma_lanes_operand;

typedef struct norma_lanes_kernels {
    int lanes; /* 8, 4, 2 or 1 */
    /* c[m][n] = add + alpha * a b, a m x k, b k x n; `add` [m][n] or NULL for none. With `lower`
     * only elements with j <= i are sure to be set. c must not overlap the operands. */
    void (*product)(int64_t m, int64_t n, int64_t k, norma_lanes_operand a, norma_lanes_operand b,
                    double alpha, const double *add, double *c, int lower);
    /* Sums over the columns of every row of z[d][n]: mean[d] (only if centered, else 0),
     * square[d] = sum of squared deviations from mean, raw[d] = sum of squares. */
    void (*row_sums)(int64_t d, int64_t n, const double *z, int centered, double *mean,
                     double *square, double *raw);
    /* z[i][j] = factor[i] * (z[i][j] - mean[i]); mean NULL for 0. */
    void (*row_apply)(int64_t d, int64_t n, double *z, const double *mean, const double *factor);
    /* The same along columns: sums over the rows, and their application. */
    void (*column_sums)(int64_t d, int64_t n, const double *z, int centered, double *mean,
                        double *square, double *raw);
    void (*column_apply)(int64_t d, int64_t n, double *z, const double *mean, const double *factor);
    /* out[1] = sum over count elements of x^2; of x y. */
    void (*dot)(int64_t count, const double *x, const double *y, double *out);
    /* x[count] = factor * x, factor per lane. */
    void (*scale)(int64_t count, const double *factor, double *x);
    /* Tridiagonal form of the symmetric k[m][m] (both triangles given, destroyed): diagonal[m],
     * off[m - 1]. work[4][m]. */
    void (*tridiagonalize)(int64_t m, double *k, double *diagonal, double *off, double *work);
    /* count[1] = number of eigenvalues >= threshold[1] of the tridiagonal matrix (Sturm). */
    void (*count_above)(int64_t m, const double *diagonal, const double *off,
                        const double *threshold, double *count);
    /* The same of the symmetric k[m][m] (both triangles given) by Sylvester's law: the pivots >= 0
     * of k - threshold = L D L^T without interchanges. growth[1] = tr(|L| |D| |L|^T), which bounds
     * what rounding has moved; not finite where a pivot was 0. work[2 m + 1][m]. */
    void (*count_pivots)(int64_t m, const double *k, const double *threshold, double *work,
                         double *count, double *growth);
} norma_lanes_kernels;

/* The kernels of the instruction set in use, NORMA_LANES lanes or solo. */
const norma_lanes_kernels *norma_lanes_get(void);
const norma_lanes_kernels *norma_lanes_get_solo(void);

/* Those of the largest block of at most n replicas that the instruction set has kernels for: 8, 4,
 * 2 or 1; without vectors 8 or 1. */
const norma_lanes_kernels *norma_lanes_get_block(int64_t n);

/* The time of a layer of `lanes` replicas (8, 4, 2, 1) over that of one replica alone, with the
 * instruction set in use: which blocks a run takes follows from it, and no bit. */
double norma_lanes_cost(int lanes, int64_t width);

extern const norma_lanes_kernels norma_lanes_kernels_scalar, norma_solo_kernels_scalar;
#ifdef NORMA_X86_KERNELS
extern const norma_lanes_kernels norma_lanes_kernels_avx2, norma_solo_kernels_avx2;
extern const norma_lanes_kernels norma_lanes_kernels_avx512, norma_solo_kernels_avx512;
extern const norma_lanes_kernels norma_lanes_kernels_four, norma_lanes_kernels_two;
#endif

#endif
