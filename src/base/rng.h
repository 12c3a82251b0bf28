#ifndef NORMA_BASE_RNG_H
#define NORMA_BASE_RNG_H
/*
 * Counter-based random numbers (Philox4x32-10): the only source of randomness. See norma_rng_stream
 * for what a counter is made of; nobody else draws numbers.
 */
#include "src/base/status.h"

#include <stdint.h>

/* What numbers are for: each purpose has its own counters. Append only. */
typedef enum norma_rng_purpose {
    NORMA_RNG_SOURCE_WEIGHTS = 0,
    NORMA_RNG_TARGET_WEIGHTS = 1,
    NORMA_RNG_SKIP_WEIGHTS = 2,
    NORMA_RNG_START_VECTOR = 3, /* of iterations: Lanczos and the like */
    NORMA_RNG_CHAIN_WEIGHTS = 4,
    NORMA_RNG_CHAIN_INPUT = 5,
    NORMA_RNG_TEST = 255
} norma_rng_purpose;

/* The fields of the 128-bit counter beside the block number (40 bits): limits are checked by
 * norma_rng_check. */
typedef struct norma_rng_stream {
    norma_rng_purpose purpose; /* 8 bits */
    int64_t tensor;            /* 8 bits */
    int64_t layer;             /* 24 bits */
    int64_t replica;           /* 24 bits */
    int64_t cell;              /* 20 bits */
} norma_rng_stream;

#endif
