#ifndef NORMA_CHAIN_INPUT_H
#define NORMA_CHAIN_INPUT_H
/* Inputs of chains: the d x N matrix that H_0 is made from. Samples are columns. */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_chain_input_kind {
    NORMA_CHAIN_INPUT_GAUSSIAN,       /* independent standard normals */
    NORMA_CHAIN_INPUT_NEAR_COLLINEAR, /* one Gaussian sample, plus epsilon times another for each */
    NORMA_CHAIN_INPUT_NEAR_BASIS,     /* e_0, (1 - epsilon) e_0 + epsilon e_j (THESIS Fig. 2.1) */
    NORMA_CHAIN_INPUT_DIAGONAL,       /* 1, epsilon, epsilon, .. on the diagonal (Fig. 2.2) */
    NORMA_CHAIN_INPUT_DEGENERATE,     /* n_distinct Gaussian samples, repeated in turn */
    NORMA_CHAIN_INPUT_RANK_ONE,       /* (1 - epsilon) I + epsilon u v^T, u, v uniform on [0, 1]
                                         (Fig. 6.1) */
    NORMA_CHAIN_INPUT_GIVEN,          /* values handed in, from a file or a data set */
    NORMA_N_CHAIN_INPUTS
} norma_chain_input_kind;

typedef struct norma_chain_input {
    norma_chain_input_kind kind;
    double epsilon;        /* NAN means the kind's default: 1e-5, 1e-3, 1e-6, -, 5e-3 */
    int64_t n_distinct;    /* of degenerate; 0 means max(1, N / 2) */
    const double *values;  /* GIVEN: [d][N], borrowed, equal for all replicas */
    int64_t rows, columns; /* GIVEN: the extents of values */
    int64_t row_length;    /* GIVEN: numbers from one row of values to the next; 0: columns */
} norma_chain_input;

/* "gaussian", "near-collinear", "near-basis", "diagonal", "degenerate", "rank-one", "given";
 * NORMA_CONFIG with the nearest known name. */
NORMA_MUST_USE norma_status norma_chain_input_parse(const char *text, norma_chain_input_kind *out);

/* Does the kind have an epsilon? */
bool norma_chain_input_has_epsilon(norma_chain_input_kind kind);

/* Replaces the defaults named in the struct and checks it for a d x n chain. NORMA_CONFIG for
 * extents that differ, values that are not finite (with their index), epsilon or n_distinct out of
 * range. */
NORMA_MUST_USE norma_status norma_chain_input_finish(norma_chain_input *input, int64_t d,
                                                     int64_t n);

/* out[d][n] = the input of one replica; `input` is finished. Numbers come from purpose CHAIN_INPUT,
 * tensors 0 and 1, layer 0. */
void norma_chain_input_fill(const norma_chain_input *input, uint64_t seed, int64_t cell,
                            int64_t replica, int64_t d, int64_t n, double *out);

#endif
