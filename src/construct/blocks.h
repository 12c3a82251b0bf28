#ifndef NORMA_CONSTRUCT_BLOCKS_H
#define NORMA_CONSTRUCT_BLOCKS_H
/*
 * Deep sources with skip connections (EXP23 Theorem 2). A linear target T [c2][c0] has its inputs
 * in m = c0 / k blocks x_0 ... x_(m-1) of k. A layer of width D takes one block each:
 *     z_i = phi(gamma_i o (W_i (z_(i-1) + A_i x_i)) + beta_i),  z_(-1) = 0,  y = R z_(m-1) + beta,
 * with frozen W_i [D][D], A_i [D][k], R [c2][D]. The shifts keep phi where it is linear. Backwards,
 * with left_(m-1) = R and left_(i-1) = left_i diag(gamma_i) W_i, each block is a linear system:
 *     sum over J of left_i[o, J] (W_i A_i)[J, e] gamma_i[J] = T[o, i k + e],
 * of c2 k equations, so that D >= c2 k is asked for. left is a product of random matrices whose
 * condition grows with every block, by less the more D exceeds c2 k: digits are lost.
 *
 * Everything is local and dimensionless; arrays are row-major.
 */
#include "src/network/activation.h"
#include "src/random/tensor_spec.h"

#include <stdbool.h>

typedef struct norma_blocks_shape {
    int64_t n_out, n_in; /* c2, c0 */
    int64_t n_inner;     /* k, which divides n_in */
    int64_t width;       /* D */
} norma_blocks_shape;

/* The constant vector that gamma is near to. GAIN is 1 / sqrt(D v), v the variance of W's entries:
 * with it a layer keeps the size of its inputs. */
typedef enum norma_blocks_centre {
    NORMA_BLOCKS_ZERO,
    NORMA_BLOCKS_ONE,
    NORMA_BLOCKS_GAIN
} norma_blocks_centre;

/* A block's solution. */
typedef struct norma_block_report {
    double condition_left; /* of left_i */
    double condition;      /* of the block's system */
    double
        digits_predicted;  /* decimal digits that its solution loses at most, before it is known */
    double digits_lost;    /* those lost: the relative error over 2^-53 */
    double relative_error; /* ||solution's block - target's block|| over the norm of the latter */
    double max_abs_gamma;
} norma_block_report;

typedef struct norma_blocks {
    norma_blocks_shape shape;
    double gain;                 /* 1 / sqrt(D v) of the drawn weights */
    int64_t n_blocks;            /* m */
    double *storage;             /* owned: */
    double *readout;             /*   R [c2][D] */
    double *inner;               /*   W [m][D][D] */
    double *entry;               /*   A [m][D][k] */
    double *left;                /*   [m][c2][D] */
    double *gamma;               /*   [m][D] */
    double *beta;                /*   [m][D] */
    double *beta_out;            /*   [c2] */
    norma_block_report *reports; /* [m], owned */
} norma_blocks;

/* Decimal digits of FP64: log10 2^53. */
extern const double norma_blocks_digits;

/* Memory for it, bytes. */
double norma_blocks_bytes(const norma_blocks_shape *shape);

/* Operations of the solution. */
double norma_blocks_flops(const norma_blocks_shape *shape);

/* Allocates a source of the shape. NORMA_MEMORY. Caller owns *out. */
NORMA_MUST_USE norma_status norma_blocks_create(const norma_blocks_shape *shape,
                                                norma_blocks **out);
void norma_blocks_destroy(norma_blocks **blocks);

/* The layer field of the counters of block i of target layer `layer`; tensors 2, 3, 4 are A, W, R,
 * the last with block 0. */
enum { NORMA_BLOCKS_MOST = 4096 };

/* Draws W, A and R from spec's distribution, seed, replica and cell, for target layer `layer`.
 * NORMA_LIMIT from NORMA_BLOCKS_MOST blocks or layers on. */
NORMA_MUST_USE norma_status norma_blocks_draw(norma_blocks *blocks, const norma_tensor_spec *spec,
                                              int64_t layer);

/* Solves for gamma, each nearest to the centre, from the last block to
 * the first. *lost is the block at which no digit is left (its report is filled, those before it
 * are not), or -1. Blocks of D < c2 k are solved in least squares. NORMA_CONFIG for a block of the
 * target that is zero and would end all earlier ones. */
NORMA_MUST_USE norma_status norma_blocks_solve(norma_blocks *blocks, const double *target,
                                               norma_blocks_centre centre, int64_t *lost);

/* A shape that would do: the least k' > k that divides c0, with D' / (c2 k') among D / (c2 k), 1.5,
 * 2 and 3, which is solved with at least six digits left. False in *found where there is none among
 * those that take fewer than most_flops operations. */
NORMA_MUST_USE norma_status norma_blocks_suggest(const norma_blocks_shape *shape,
                                                 const norma_tensor_spec *spec, int64_t layer,
                                                 const double *target, norma_blocks_centre centre,
                                                 double most_flops, norma_blocks_shape *out,
                                                 double *digits_left, bool *found);

/* map[c2][c0]: what the source computes without shifts. */
NORMA_MUST_USE norma_status norma_blocks_compose(const norma_blocks *blocks, double *map);

/* The shifts for inputs in [lo[c0], hi[c0]] and the target's bias[c2]; identity needs none.
 * *magnitude: the largest sum of absolute values in an output; *rounding: root mean square error
 * that the arithmetic of FP64 gives an output, estimated for independent rounding errors.
 * NORMA_CONFIG for activations other than identity, relu and leaky-relu. */
NORMA_MUST_USE norma_status norma_blocks_open(norma_blocks *blocks,
                                              const norma_activation *activation, const double *lo,
                                              const double *hi, const double *bias,
                                              double *magnitude, double *rounding);

/* y[n][c2] of x[n][c0]; adds pre-activations below 0, of relu and leaky-relu, to *n_clipped. */
NORMA_MUST_USE norma_status norma_blocks_run(const norma_blocks *blocks,
                                             const norma_activation *activation, int64_t n,
                                             const double *x, double *y, int64_t *n_clipped);

#endif
