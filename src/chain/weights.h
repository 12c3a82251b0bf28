#ifndef NORMA_CHAIN_WEIGHTS_H
#define NORMA_CHAIN_WEIGHTS_H
/*
 * The random matrix W of one layer, for one replica or for several of them.
 *
 * Counters: purpose CHAIN_WEIGHTS, layer, replica and cell as named, tensor 0 for the entries of W
 * (element i * d + j of W[i][j]) and for the Householder vectors of Haar weights, tensor 1 for
 * masks, tensor 2 for the entries drawn in place of W Q under law exact.
 */
#include "src/base/rng.h"
#include "src/chain/spec.h"

/* Which numbers: a seed, a sweep cell, a replica (the first one where several are in lanes) and a
 * layer. */
typedef struct norma_chain_draw {
    uint64_t seed;
    int64_t cell;
    int64_t replica;
    int64_t layer;
} norma_chain_draw;

typedef enum norma_chain_tensor {
    NORMA_CHAIN_TENSOR_WEIGHTS = 0,
    NORMA_CHAIN_TENSOR_MASK = 1,
    NORMA_CHAIN_TENSOR_EXACT = 2
} norma_chain_tensor;

/* The stream of `draw` and `tensor`. */
norma_rng_stream norma_chain_weights_stream(const norma_chain_draw *draw,
                                            norma_chain_tensor tensor);

/* The standard deviation by which the entries of norma_chain_weights_rows are still to be
 * multiplied: products take it as their factor. */
double norma_chain_weights_factor(const norma_chain_spec *spec);

/* out[n_rows][d] = rows first .. first + n_rows - 1 of W, short of the factor above; laws with
 * independent entries, and GIVEN, whose layer is draw->layer. */
void norma_chain_weights_rows(const norma_chain_spec *spec, const norma_chain_draw *draw,
                              int64_t first, int64_t n_rows, double *out);

/* Rows row .. row + n_rows - 1 and columns column .. column + n_columns - 1 of W. */
typedef struct norma_chain_block_of_weights {
    int64_t row, n_rows, column, n_columns;
} norma_chain_block_of_weights;

/* out[n_rows][n_columns] = a block of W, with the bits of its rows; the same laws. */
void norma_chain_weights_block(const norma_chain_spec *spec, const norma_chain_draw *draw,
                               const norma_chain_block_of_weights *block, double *out);

/* The same for replicas draw->replica + 0 .. lanes - 1: out[n_rows][d][lanes]. Only laws with the
 * flag NORMA_LAW_LANES. */
void norma_chain_weights_lanes(const norma_chain_spec *spec, const norma_chain_draw *draw,
                               int64_t first, int64_t n_rows, int lanes, double *out);

/* out[d][n] = independent normals, times nothing: W Q of law exact short of the factor. */
void norma_chain_weights_exact(const norma_chain_draw *draw, int64_t d, int64_t n, double *out);

/* Haar weights as reflectors (Stewart 1980): W = H_0 .. H_{k-1} diag(sign), H_j = I - tau_j v_j
 * v_j^T with v_j zero above j and 1 at j, in LAPACK's storage: column j of the column-major
 * reflectors [d, k] holds v_j below its diagonal. k = d gives W; k < d its first k columns, a
 * uniform frame, when applied to [I_k; 0]. sign[k] is +-1. */
void norma_chain_weights_reflectors(const norma_chain_draw *draw, norma_chain_tensor tensor,
                                    int64_t d, int64_t k, double *reflectors, double *tau,
                                    double *sign);

#endif
