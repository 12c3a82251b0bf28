/*
 * The loops of src/base/rng_kernel.h, written once; included by the file of each instruction set
 * and by nobody else. That file defines before:
 *   RNG_WIDTH                64-bit elements in a vector
 *   rng_words, rng_doubles   vectors of uint64_t and of double; a scalar when the width is 1
 *   rng_set, rng_ramp        all elements x; elements 0, 1, 2, ...
 *   rng_add, rng_or, rng_high (x >> 32)   on words
 *   rng_philox               the two words of the blocks with the given counter words, of which it
 *                            uses the low 32 bits
 *   rng_uniform, rng_radius (sqrt(-2 log u)), rng_circle (cos and sin of 2 pi u), rng_times
 *   rng_bits                 the words that hold given doubles
 *   rng_store, rng_store_pairs   to memory without alignment; pairs: even[0] odd[0] even[1] ...
 */
#include "src/base/rng_kernel.h"

#include <string.h>

#define RNG_INLINE static inline __attribute__((always_inline))

/* The even and the odd elements that the two words of a vector of blocks become. */
RNG_INLINE void rng_transform(norma_rng_kind kind, rng_words word0, rng_words word1,
                              rng_words *even, rng_words *odd)
{
    *even = word0;
    *odd = word1;
    if (kind == NORMA_RNG_WORDS)
        return;
    rng_doubles u0 = rng_uniform(word0);
    rng_doubles u1 = rng_uniform(word1);
    if (kind == NORMA_RNG_NORMAL) {
        rng_doubles radius = rng_radius(u0);
        rng_doubles cosine;
        rng_doubles sine;
        rng_circle(u1, &cosine, &sine);
        u0 = rng_times(radius, cosine);
        u1 = rng_times(radius, sine);
    }
    *even = rng_bits(u0);
    *odd = rng_bits(u1);
}

/* Consecutive blocks in a vector. */
RNG_INLINE void rng_one_vector_of_blocks(norma_rng_kind kind, const norma_rng_counter *c,
                                         int64_t block, unsigned char *out)
{
    rng_words blocks = rng_add(rng_set((uint64_t)block), rng_ramp());
    rng_words word0;
    rng_words word1;
    rng_words even;
    rng_words odd;
    rng_philox(c->key, blocks, rng_or(rng_set(c->word1), rng_high(blocks)), rng_set(c->word2),
               rng_set(c->word3), &word0, &word1);
    rng_transform(kind, word0, word1, &even, &odd);
    rng_store_pairs(out, even, odd);
}

RNG_INLINE void rng_blocks_of_kind(norma_rng_kind kind, const norma_rng_counter *c, int64_t block,
                                   int64_t n_blocks, unsigned char *out)
{
    int64_t b = 0;
    for (; b + RNG_WIDTH <= n_blocks; b += RNG_WIDTH)
        rng_one_vector_of_blocks(kind, c, block + b, out + 16 * b);
    if (b < n_blocks) {
        unsigned char rest[16 * RNG_WIDTH];
        rng_one_vector_of_blocks(kind, c, block + b, rest);
        memcpy(out + 16 * b, rest, (size_t)(16 * (n_blocks - b)));
    }
}

/* Consecutive replicas in a vector: n_lanes elements of each of the block's two rows. */
RNG_INLINE void rng_one_vector_of_lanes(norma_rng_kind kind, const norma_rng_counter *c,
                                        int64_t block, int64_t lane, rng_words *even,
                                        rng_words *odd)
{
    uint64_t b = (uint64_t)block;
    rng_words replicas = rng_add(rng_set(c->word2 + (uint64_t)lane), rng_ramp());
    rng_words word0;
    rng_words word1;
    rng_philox(c->key, rng_set(b), rng_set(c->word1 | b >> 32), replicas, rng_set(c->word3), &word0,
               &word1);
    rng_transform(kind, word0, word1, even, odd);
}

RNG_INLINE void rng_lanes_of_kind(norma_rng_kind kind, const norma_rng_counter *c, int64_t block,
                                  int64_t n_blocks, int64_t n_lanes, unsigned char *out)
{
    for (int64_t b = 0; b < n_blocks; b++) {
        unsigned char *row0 = out + 16 * b * n_lanes;
        unsigned char *row1 = row0 + 8 * n_lanes;
        rng_words even;
        rng_words odd;
        int64_t lane = 0;
        for (; lane + RNG_WIDTH <= n_lanes; lane += RNG_WIDTH) {
            rng_one_vector_of_lanes(kind, c, block + b, lane, &even, &odd);
            rng_store(row0 + 8 * lane, even);
            rng_store(row1 + 8 * lane, odd);
        }
        if (lane < n_lanes) {
            unsigned char rest[8 * RNG_WIDTH];
            rng_one_vector_of_lanes(kind, c, block + b, lane, &even, &odd);
            rng_store(rest, even);
            memcpy(row0 + 8 * lane, rest, (size_t)(8 * (n_lanes - lane)));
            rng_store(rest, odd);
            memcpy(row1 + 8 * lane, rest, (size_t)(8 * (n_lanes - lane)));
        }
    }
}

/* The kind is a constant in each call, so that every kind gets a loop of its own. */
static void rng_blocks(norma_rng_kind kind, const norma_rng_counter *counter, int64_t block,
                       int64_t n_blocks, void *out)
{
    if (kind == NORMA_RNG_WORDS)
        rng_blocks_of_kind(NORMA_RNG_WORDS, counter, block, n_blocks, out);
    else if (kind == NORMA_RNG_UNIFORM)
        rng_blocks_of_kind(NORMA_RNG_UNIFORM, counter, block, n_blocks, out);
    else
        rng_blocks_of_kind(NORMA_RNG_NORMAL, counter, block, n_blocks, out);
}

static void rng_lanes(norma_rng_kind kind, const norma_rng_counter *counter, int64_t block,
                      int64_t n_blocks, int64_t n_lanes, void *out)
{
    if (kind == NORMA_RNG_WORDS)
        rng_lanes_of_kind(NORMA_RNG_WORDS, counter, block, n_blocks, n_lanes, out);
    else if (kind == NORMA_RNG_UNIFORM)
        rng_lanes_of_kind(NORMA_RNG_UNIFORM, counter, block, n_blocks, n_lanes, out);
    else
        rng_lanes_of_kind(NORMA_RNG_NORMAL, counter, block, n_blocks, n_lanes, out);
}
