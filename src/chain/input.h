#ifndef NORMA_CHAIN_INPUT_H
#define NORMA_CHAIN_INPUT_H
/* Inputs of chains: the d x N matrix that H_0 is made from. Samples are columns. */
#include "src/base/names.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The table in input.c says what each kind is. */
typedef enum norma_chain_input_kind {
    NORMA_CHAIN_INPUT_GAUSSIAN,
    NORMA_CHAIN_INPUT_NEAR_COLLINEAR,
    NORMA_CHAIN_INPUT_NEAR_BASIS,
    NORMA_CHAIN_INPUT_DIAGONAL,
    NORMA_CHAIN_INPUT_DEGENERATE,
    NORMA_CHAIN_INPUT_RANK_ONE,
    NORMA_CHAIN_INPUT_GIVEN, /* values handed in, from a file or a data set */
    NORMA_N_CHAIN_INPUTS
} norma_chain_input_kind;

typedef struct norma_chain_input {
    norma_chain_input_kind kind;
    double epsilon;        /* NAN means the kind's default */
    int64_t n_distinct;    /* of degenerate; 0 means max(1, N / 2) */
    const double *values;  /* GIVEN: [d][N], borrowed, equal for all replicas */
    int64_t rows, columns; /* GIVEN: the extents of values */
    int64_t row_length;    /* GIVEN: numbers from one row of values to the next; 0: columns */
} norma_chain_input;

/* The kinds that are drawn: all but GIVEN; those of them that have an epsilon. */
extern const norma_names norma_chain_input_names;
extern const norma_names norma_chain_input_epsilon_names;

/* The kind of a name of norma_chain_input_names; NORMA_CONFIG with the nearest known name. */
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
