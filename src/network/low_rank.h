#ifndef NORMA_NETWORK_LOW_RANK_H
#define NORMA_NETWORK_LOW_RANK_H
/*
 * Targets of low rank (EXP23 Corollary 1): a layer W of rank r, as a matrix [c2][c0 |K|], is two
 * layers, W = A B, with r channels between them: B [r][c0][K] and a 1 x 1 layer A [c2][r]. Two
 * source pairs of r c0 |K| and c2 r features then do what one of c2 c0 |K| does, so that they pay
 * while r <= c2 c0 |K| / (c0 |K| + c2).
 *
 * Singular values are shared evenly between A and B. An orthogonal matrix drawn between them
 * leaves A B as it is and gives the rows of B and the columns of A alike sizes.
 *
 * The channels between follow the layer's own activation: where that is relu or leaky-relu, biases
 * shift B's outputs to where it is linear, and A's bias takes the shift back.
 */
#include "src/base/rng.h"
#include "src/network/network.h"

/* One layer's factors. */
typedef struct norma_low_rank {
    int64_t rank;       /* r, of A B */
    int64_t full_rank;  /* min(c2, c0 |K|) */
    int64_t break_even; /* the largest r that pays */
    double truncation;  /* ||W - A B||_F / ||W||_F, from the singular values left out */
    double *a;          /* [c2][r], owned */
    double *b;          /* [r][c0][K], owned */
} norma_low_rank;

/* Factors a layer: with `rank` > 0 to that rank, otherwise to the number of singular values above
 * tolerance times the largest. The orthogonal matrix is drawn from (seed, stream). NORMA_CONFIG
 * for a rank above full_rank and for weights that are all zero; NORMA_LIMIT beyond 32-bit extents;
 * NORMA_NUMERIC where the singular value decomposition fails. *out is to be cleared whatever is
 * returned. */
NORMA_MUST_USE norma_status norma_low_rank_factor(const norma_layer *layer, int64_t rank,
                                                  double tolerance, uint64_t seed,
                                                  const norma_rng_stream *stream,
                                                  norma_low_rank *out);

/* The network in which layer l is layers 2 l (B) and 2 l + 1 (A), from factors[n_layers] of which
 * those without a and b leave their weights 0. The channels between have no activation yet.
 * NORMA_CONFIG as norma_network_infer_shapes. Caller owns *out. */
NORMA_MUST_USE norma_status norma_low_rank_network(const norma_network *network,
                                                   const norma_low_rank *factors,
                                                   norma_network **out);

/* Gives the channels between the activation of their layer and the biases that keep them where it
 * is linear, by interval arithmetic from the declared input range. NORMA_CONFIG where no range is
 * declared, and for activations other than identity, relu and leaky-relu. */
NORMA_MUST_USE norma_status norma_low_rank_open(norma_network *factored);

/* Frees what it owns; zeroes it. */
void norma_low_rank_clear(norma_low_rank *factors);

#endif
