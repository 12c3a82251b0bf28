#ifndef NORMA_BASE_RNG_KERNEL_H
#define NORMA_BASE_RNG_KERNEL_H
/*
 * Internal to src/base and its tests: the loops behind src/base/rng.h, one set per instruction set.
 * They work on whole blocks; rng.c packs the counter and handles ranges that cut a block.
 */
#include <stdint.h>

/* Key and counter of block 0. The block number is or-ed in: its low 32 bits are counter word 0, the
 * next 8 the low bits of counter word 1. */
typedef struct norma_rng_counter {
    uint32_t key[2];
    uint32_t word1; /* layer << 8 */
    uint32_t word2; /* replica | low 8 bits of cell << 24 */
    uint32_t word3; /* high 12 bits of cell | tensor << 12 | purpose << 20 */
} norma_rng_counter;

/* The numbers that a block becomes: 64-bit words, or doubles. */
typedef enum norma_rng_kind {
    NORMA_RNG_WORDS,
    NORMA_RNG_UNIFORM,
    NORMA_RNG_NORMAL,
    NORMA_RNG_SIGN /* of whole blocks only */
} norma_rng_kind;

typedef struct norma_rng_kernels {
    /* out[2 * n_blocks], of 8 bytes each: blocks block .. block + n_blocks - 1. */
    void (*blocks)(norma_rng_kind kind, const norma_rng_counter *counter, int64_t block,
                   int64_t n_blocks, void *out);
    /* out[2 * n_blocks][n_lanes]: lane l has a replica larger by l. */
    void (*lanes)(norma_rng_kind kind, const norma_rng_counter *counter, int64_t block,
                  int64_t n_blocks, int64_t n_lanes, void *out);
    /* values[2 * n_blocks], doubles: +0 where the uniform of the block is not below `keep`. */
    void (*mask)(const norma_rng_counter *counter, int64_t block, int64_t n_blocks, double keep,
                 void *values);
    /* The same on values[2 * n_blocks][n_lanes]. */
    void (*mask_lanes)(const norma_rng_counter *counter, int64_t block, int64_t n_blocks,
                       int64_t n_lanes, double keep, void *values);
} norma_rng_kernels;

extern const norma_rng_kernels norma_rng_kernels_scalar;
#ifdef NORMA_X86_KERNELS
extern const norma_rng_kernels norma_rng_kernels_avx2;
extern const norma_rng_kernels norma_rng_kernels_avx512;
#endif

#endif
