#ifndef NORMA_BASE_RNG_LOOPS_H
#define NORMA_BASE_RNG_LOOPS_H
/*
 * The loops of src/base/rng_kernel.h, written once; included by the file of each instruction set
 * and by nobody else. That file defines before:
 *   RNG_WIDTH                64-bit elements in a vector
 *   RNG_GROUP                vectors of blocks made together, so that one's latency hides another's
 *   rng_words, rng_doubles   vectors of uint64_t and of double; a scalar when the width is 1
 *   rng_set, rng_ramp        all elements x; elements 0, 1, 2, ...
 *   rng_add, rng_or, rng_high (x >> 32)   on words
 *   rng_philox               the two words of each block, from its counter words c[0 .. 3], of
 *                            which it uses the low 32 bits; c is spoilt
 *   rng_uniform, rng_radius (sqrt(-2 log u)), rng_circle (cos and sin of 2 pi u), rng_times
 *   rng_bits                 the words that hold given doubles
 *   rng_sign                 the words that hold -1 where a word's highest bit is 0, else 1
 *   rng_fill                 all elements a double
 *   rng_below                words of ones where a < b, of zeros elsewhere
 *   rng_store, rng_store_pairs   to memory without alignment; pairs: even[0] odd[0] even[1] ...
 */
#include "src/base/rng_kernel.h"

#include <string.h>

#define RNG_INLINE static inline __attribute__((always_inline))

/* The words of a vector of blocks become its even and odd elements, in place. */
RNG_INLINE void rng_transform(norma_rng_kind kind, rng_words *word0, rng_words *word1)
{
    if (kind == NORMA_RNG_WORDS)
        return;
    if (kind == NORMA_RNG_SIGN) { /* the highest bit of a word is that of its uniform */
        *word0 = rng_sign(*word0);
        *word1 = rng_sign(*word1);
        return;
    }
    rng_doubles u0 = rng_uniform(*word0);
    rng_doubles u1 = rng_uniform(*word1);
    if (kind == NORMA_RNG_NORMAL) {
        rng_doubles radius = rng_radius(u0);
        rng_doubles cosine;
        rng_doubles sine;
        rng_circle(u1, &cosine, &sine);
        u0 = rng_times(radius, cosine);
        u1 = rng_times(radius, sine);
    }
    *word0 = rng_bits(u0);
    *word1 = rng_bits(u1);
}

/* The words of a group of vectors of consecutive blocks. */
RNG_INLINE void rng_words_of_blocks(const norma_rng_counter *counter, int64_t block,
                                    rng_words even[RNG_GROUP], rng_words odd[RNG_GROUP])
{
    rng_words c[4][RNG_GROUP];
    for (int64_t g = 0; g < RNG_GROUP; g++) {
        c[0][g] = rng_add(rng_set((uint64_t)(block + g * RNG_WIDTH)), rng_ramp());
        c[1][g] = rng_or(rng_set(counter->word1), rng_high(c[0][g]));
        c[2][g] = rng_set(counter->word2);
        c[3][g] = rng_set(counter->word3);
    }
    rng_philox(counter->key, c, even, odd);
}

RNG_INLINE void rng_group_of_blocks(norma_rng_kind kind, const norma_rng_counter *counter,
                                    int64_t block, unsigned char *out)
{
    rng_words even[RNG_GROUP];
    rng_words odd[RNG_GROUP];
    rng_words_of_blocks(counter, block, even, odd);
    for (int64_t g = 0; g < RNG_GROUP; g++) {
        rng_transform(kind, &even[g], &odd[g]);
        rng_store_pairs(out + g * 16 * RNG_WIDTH, even[g], odd[g]);
    }
}

RNG_INLINE void rng_blocks_of_kind(norma_rng_kind kind, const norma_rng_counter *counter,
                                   int64_t block, int64_t n_blocks, unsigned char *out)
{
    enum { STEP = RNG_GROUP * RNG_WIDTH };
    int64_t b = 0;
    for (; b + STEP <= n_blocks; b += STEP)
        rng_group_of_blocks(kind, counter, block + b, out + 16 * b);
    if (b < n_blocks) {
        unsigned char rest[16 * STEP];
        rng_group_of_blocks(kind, counter, block + b, rest);
        memcpy(out + 16 * b, rest, (size_t)(16 * (n_blocks - b)));
    }
}

/* Zeroes the first n of the group's values whose uniforms are not below keep. */
RNG_INLINE void rng_mask_group(const norma_rng_counter *counter, int64_t block, double keep,
                               int64_t n, unsigned char *values)
{
    enum { LENGTH = 2 * RNG_GROUP * RNG_WIDTH };
    const rng_doubles limit = rng_fill(keep);
    rng_words even[RNG_GROUP];
    rng_words odd[RNG_GROUP];
    uint64_t masks[LENGTH];
    uint64_t bits[LENGTH];
    rng_words_of_blocks(counter, block, even, odd);
    for (int64_t g = 0; g < RNG_GROUP; g++)
        rng_store_pairs((unsigned char *)masks + g * 16 * RNG_WIDTH,
                        rng_below(rng_uniform(even[g]), limit),
                        rng_below(rng_uniform(odd[g]), limit));
    memcpy(bits, values, (size_t)(8 * n));
    for (int64_t i = 0; i < n; i++)
        bits[i] &= masks[i];
    memcpy(values, bits, (size_t)(8 * n));
}

static void rng_mask(const norma_rng_counter *counter, int64_t block, int64_t n_blocks, double keep,
                     void *values)
{
    enum { STEP = RNG_GROUP * RNG_WIDTH };
    unsigned char *out = values;
    int64_t b = 0;
    for (; b + STEP <= n_blocks; b += STEP)
        rng_mask_group(counter, block + b, keep, (int64_t)2 * STEP, out + 16 * b);
    if (b < n_blocks)
        rng_mask_group(counter, block + b, keep, 2 * (n_blocks - b), out + 16 * b);
}

/* A vector of consecutive replicas from lane on, for each of a group of consecutive blocks. */
RNG_INLINE void rng_group_of_lanes(norma_rng_kind kind, const norma_rng_counter *counter,
                                   int64_t block, int64_t lane, rng_words even[RNG_GROUP],
                                   rng_words odd[RNG_GROUP])
{
    rng_words c[4][RNG_GROUP];
    for (int64_t g = 0; g < RNG_GROUP; g++) {
        uint64_t b = (uint64_t)(block + g);
        c[0][g] = rng_set(b);
        c[1][g] = rng_set(counter->word1 | b >> 32);
        c[2][g] = rng_add(rng_set(counter->word2 + (uint64_t)lane), rng_ramp());
        c[3][g] = rng_set(counter->word3);
    }
    rng_philox(counter->key, c, even, odd);
    for (int64_t g = 0; g < RNG_GROUP; g++)
        rng_transform(kind, &even[g], &odd[g]);
}

RNG_INLINE void rng_store_lanes(unsigned char *out, int64_t n, rng_words x)
{
    unsigned char whole[8 * RNG_WIDTH];
    if (n >= RNG_WIDTH) {
        rng_store(out, x);
        return;
    }
    rng_store(whole, x);
    for (int64_t i = 0; i < n; i++)
        memcpy(out + 8 * i, whole + 8 * i, 8);
}

RNG_INLINE void rng_lanes_of_kind(norma_rng_kind kind, const norma_rng_counter *counter,
                                  int64_t block, int64_t n_blocks, int64_t n_lanes,
                                  unsigned char *out)
{
    for (int64_t b = 0; b < n_blocks; b += RNG_GROUP)
        for (int64_t lane = 0; lane < n_lanes; lane += RNG_WIDTH) {
            rng_words even[RNG_GROUP];
            rng_words odd[RNG_GROUP];
            rng_group_of_lanes(kind, counter, block + b, lane, even, odd);
            for (int64_t g = 0; g < RNG_GROUP && b + g < n_blocks; g++) {
                unsigned char *row = out + 8 * (2 * (b + g) * n_lanes + lane);
                rng_store_lanes(row, n_lanes - lane, even[g]);
                rng_store_lanes(row + 8 * n_lanes, n_lanes - lane, odd[g]);
            }
        }
}

/* As rng_mask_group for a vector of replicas, values 8 bytes each of `n` lanes at `row`. */
RNG_INLINE void rng_mask_row(unsigned char *row, int64_t n, rng_words mask)
{
    uint64_t masks[RNG_WIDTH];
    uint64_t bits[RNG_WIDTH];
    rng_store((unsigned char *)masks, mask);
    if (n >= RNG_WIDTH) {
        memcpy(bits, row, sizeof bits);
        for (int64_t i = 0; i < RNG_WIDTH; i++)
            bits[i] &= masks[i];
        memcpy(row, bits, sizeof bits);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(bits, row + 8 * i, 8);
        bits[0] &= masks[i];
        memcpy(row + 8 * i, bits, 8);
    }
}

static void rng_mask_lanes(const norma_rng_counter *counter, int64_t block, int64_t n_blocks,
                           int64_t n_lanes, double keep, void *values)
{
    const rng_doubles limit = rng_fill(keep);
    for (int64_t b = 0; b < n_blocks; b += RNG_GROUP)
        for (int64_t lane = 0; lane < n_lanes; lane += RNG_WIDTH) {
            rng_words even[RNG_GROUP];
            rng_words odd[RNG_GROUP];
            rng_group_of_lanes(NORMA_RNG_WORDS, counter, block + b, lane, even, odd);
            for (int64_t g = 0; g < RNG_GROUP && b + g < n_blocks; g++) {
                unsigned char *row = (unsigned char *)values + 8 * (2 * (b + g) * n_lanes + lane);
                rng_mask_row(row, n_lanes - lane, rng_below(rng_uniform(even[g]), limit));
                rng_mask_row(row + 8 * n_lanes, n_lanes - lane,
                             rng_below(rng_uniform(odd[g]), limit));
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
    else if (kind == NORMA_RNG_SIGN)
        rng_blocks_of_kind(NORMA_RNG_SIGN, counter, block, n_blocks, out);
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
    else if (kind == NORMA_RNG_SIGN)
        rng_lanes_of_kind(NORMA_RNG_SIGN, counter, block, n_blocks, n_lanes, out);
    else
        rng_lanes_of_kind(NORMA_RNG_NORMAL, counter, block, n_blocks, n_lanes, out);
}

#endif
