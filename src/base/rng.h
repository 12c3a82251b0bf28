#ifndef NORMA_BASE_RNG_H
#define NORMA_BASE_RNG_H
/*
 * Counter-based random numbers: the only source of randomness, and nobody else draws numbers.
 *
 * Philox4x32-10 (Salmon et al., SC11; the code of Random123) maps a 64-bit key, the seed, and a
 * 128-bit counter to 128 random bits: a block of two 64-bit words. There is no state: every element
 * of every stream can be computed anywhere, alone, with the same bits. The counter holds, from the
 * lowest bit, block (40 bits), layer (24), replica (24), cell (20), tensor (8), purpose (8) and 4
 * zero bits, so that no two (purpose, tensor, layer, replica, cell, element) share one.
 *
 * Element e of a stream is made from block e / 2:
 *   word      word e mod 2 of the block;
 *   uniform   u = k 2^-53 with k the upper 53 bits of the word; k = 0 gives 2^-54, so 0 < u < 1;
 *   normal    elements 2b and 2b + 1 are the Box-Muller pair of block b: r cos(2 pi u'), then
 *             r sin(2 pi u'), with r = sqrt(-2 log u), u and u' the uniforms 2b and 2b + 1.
 * The same elements of one stream read as uniforms and as normals are therefore dependent.
 * All bits are equal for every instruction set (src/base/cpu.h), for any split of a range and for
 * any thread; single-precision numbers are the double ones, rounded. All functions are reentrant
 * and use no threads themselves.
 */
#include "src/base/status.h"

#include <stdint.h>

/* Purposes of random numbers: each has its own counters. Append only. */
typedef enum norma_rng_purpose {
    NORMA_RNG_SOURCE_WEIGHTS = 0,
    NORMA_RNG_TARGET_WEIGHTS = 1,
    NORMA_RNG_SKIP_WEIGHTS = 2,
    NORMA_RNG_START_VECTOR = 3, /* of iterations: Lanczos and the like */
    NORMA_RNG_CHAIN_WEIGHTS = 4,
    NORMA_RNG_CHAIN_INPUT = 5,
    NORMA_RNG_CHAIN_GRADIENT = 6,
    NORMA_RNG_ALIGNMENT = 8,     /* searches, features left out, trials of matchings */
    NORMA_RNG_CLAIMS = 9,        /* cases of the papers' claims, searches around them, replicas */
    NORMA_RNG_RUN_INPUT = 10,    /* inputs that source and target are run on */
    NORMA_RNG_START_SCALES = 11, /* scales that a search starts from */
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

/* Exclusive limits of the fields; elements are two a block. */
#define NORMA_RNG_N_PURPOSES ((int64_t)1 << 8)
#define NORMA_RNG_N_TENSORS ((int64_t)1 << 8)
#define NORMA_RNG_N_LAYERS ((int64_t)1 << 24)
#define NORMA_RNG_N_REPLICAS ((int64_t)1 << 24)
#define NORMA_RNG_N_CELLS ((int64_t)1 << 20)
#define NORMA_RNG_N_ELEMENTS ((int64_t)1 << 41)

/* NORMA_LIMIT, naming the field, when a field is negative or at its limit, or when elements
 * 0 .. n_elements - 1 leave the block field. The fill functions below check nothing: call this once
 * for the largest fields and element to be drawn (with replicas in lanes: for the last replica). */
NORMA_MUST_USE norma_status norma_rng_check(const norma_rng_stream *stream, int64_t n_elements);

/* out[n] = elements first .. first + n - 1 of the stream, as raw 64-bit words. */
void norma_rng_fill_words(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                          uint64_t *out);

/* out[n] = elements first .. first + n - 1 as uniforms in (0, 1). */
void norma_rng_fill_uniform(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                            double *out);

/* out[n] = elements first .. first + n - 1 as normals of mean 0 and variance 1. */
void norma_rng_fill_normal(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                           double *out);

/* out[n] = elements first .. first + n - 1 as signs: -1 where the uniform is below 1/2, else 1. */
void norma_rng_fill_sign(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                         double *out);

/* Sets values[i] to 0 where the uniform first + i is not below `keep`: masks of random entries. */
void norma_rng_mask(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                    double keep, double *values);

/* Replicas in lanes: out[n][n_lanes], where out[e][l] is element first + e of the stream whose
 * replica is stream->replica + l; bit for bit what the functions above give replica by replica. */
void norma_rng_fill_words_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                                int64_t n, int64_t n_lanes, uint64_t *out);
void norma_rng_fill_uniform_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                                  int64_t n, int64_t n_lanes, double *out);
void norma_rng_fill_normal_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                                 int64_t n, int64_t n_lanes, double *out);
void norma_rng_fill_sign_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                               int64_t n, int64_t n_lanes, double *out);

/* norma_rng_mask on values[n][n_lanes] of replicas in lanes. */
void norma_rng_mask_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                          int64_t n_lanes, double keep, double *values);

#endif
