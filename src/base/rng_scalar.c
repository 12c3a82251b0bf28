/* Portable kernels, and the reference for the others: Random123's Philox, SLEEF's scalar functions
 * with fused multiply-add. */
#include <Random123/philox.h>
#include <math.h>
#include <stdint.h>

/* sleef.h asks for this macro before it declares them; clang has the instruction without it. */
#ifndef FP_FAST_FMA
#define FP_FAST_FMA 1
#endif
#include <sleef.h>

#define RNG_WIDTH 1
#define RNG_GROUP 1
typedef uint64_t rng_words;
typedef double rng_doubles;

static inline uint64_t rng_set(uint64_t x)
{
    return x;
}

static inline uint64_t rng_ramp(void)
{
    return 0;
}

static inline uint64_t rng_add(uint64_t a, uint64_t b)
{
    return a + b;
}

static inline uint64_t rng_or(uint64_t a, uint64_t b)
{
    return a | b;
}

static inline uint64_t rng_high(uint64_t a)
{
    return a >> 32;
}

static inline void rng_philox(const uint32_t key[2], uint64_t c[4][RNG_GROUP],
                              uint64_t word0[RNG_GROUP], uint64_t word1[RNG_GROUP])
{
    philox4x32_ctr_t counter = {
        {(uint32_t)c[0][0], (uint32_t)c[1][0], (uint32_t)c[2][0], (uint32_t)c[3][0]}};
    philox4x32_key_t k = {{key[0], key[1]}};
    philox4x32_ctr_t x = philox4x32_R(10, counter, k);
    word0[0] = x.v[0] | (uint64_t)x.v[1] << 32;
    word1[0] = x.v[2] | (uint64_t)x.v[3] << 32;
}

static inline double rng_uniform(uint64_t word)
{
    double k = (double)(word >> 11);
    return (k > 0.5 ? k : 0.5) * 0x1p-53;
}

static inline double rng_radius(double u)
{
    return sqrt(-2.0 * Sleef_finz_logd1_u10purecfma(u));
}

static inline void rng_circle(double u, double *cosine, double *sine)
{
    Sleef_double_2 pair = Sleef_finz_sincospid1_u35purecfma(2.0 * u);
    *cosine = pair.y;
    *sine = pair.x;
}

static inline double rng_times(double a, double b)
{
    return a * b;
}

static inline uint64_t rng_bits(double x)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint64_t rng_sign(uint64_t word)
{
    return (word & 0x8000000000000000u) ^ 0xbff0000000000000u;
}

static inline double rng_fill(double x)
{
    return x;
}

static inline uint64_t rng_below(double a, double b)
{
    return a < b ? ~UINT64_C(0) : 0;
}

static inline void rng_store(unsigned char *out, uint64_t x)
{
    __builtin_memcpy(out, &x, sizeof x);
}

static inline void rng_store_pairs(unsigned char *out, uint64_t even, uint64_t odd)
{
    rng_store(out, even);
    rng_store(out + 8, odd);
}

#include "src/base/rng_loops.h"

const norma_rng_kernels norma_rng_kernels_scalar = {rng_blocks, rng_lanes, rng_mask,
                                                    rng_mask_lanes};
