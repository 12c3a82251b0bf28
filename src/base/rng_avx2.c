/* Kernels for AVX2 with FMA: four 64-bit elements a vector. */
#include <immintrin.h>
#include <sleef.h>
#include <stdint.h>

#define RNG_WIDTH 4
#define RNG_GROUP 2
typedef __m256i rng_words;
typedef __m256d rng_doubles;

static inline rng_words rng_set(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

static inline rng_words rng_ramp(void)
{
    return _mm256_set_epi64x(3, 2, 1, 0);
}

static inline rng_words rng_add(rng_words a, rng_words b)
{
    return _mm256_add_epi64(a, b);
}

static inline rng_words rng_or(rng_words a, rng_words b)
{
    return _mm256_or_si256(a, b);
}

static inline rng_words rng_high(rng_words a)
{
    return _mm256_srli_epi64(a, 32);
}

static inline rng_words rng_times_low(rng_words a, rng_words b)
{
    return _mm256_mul_epu32(a, b);
}

static inline rng_words rng_xor3(rng_words a, rng_words b, rng_words c)
{
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

static inline rng_words rng_join(rng_words low, rng_words high)
{
    return _mm256_blend_epi32(low, _mm256_slli_epi64(high, 32), 0xaa);
}

/* The 53-bit integer by halves, in the low bits of the doubles 2^52 and 2^84: exact. */
static inline rng_doubles rng_uniform(rng_words word)
{
    rng_words k = _mm256_srli_epi64(word, 11);
    rng_words low = _mm256_blend_epi32(k, rng_set(0x4330000000000000u), 0xaa);
    rng_words high = rng_or(rng_high(k), rng_set(0x4530000000000000u));
    rng_doubles sum =
        _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1p84 + 0x1p52)),
                      _mm256_castsi256_pd(low));
    return _mm256_mul_pd(_mm256_max_pd(sum, _mm256_set1_pd(0.5)), _mm256_set1_pd(0x1p-53));
}

static inline rng_doubles rng_radius(rng_doubles u)
{
    return _mm256_sqrt_pd(_mm256_mul_pd(_mm256_set1_pd(-2.0), Sleef_finz_logd4_u10avx2(u)));
}

static inline void rng_circle(rng_doubles u, rng_doubles *cosine, rng_doubles *sine)
{
    Sleef___m256d_2 pair = Sleef_finz_sincospid4_u35avx2(_mm256_add_pd(u, u));
    *cosine = pair.y;
    *sine = pair.x;
}

static inline rng_doubles rng_times(rng_doubles a, rng_doubles b)
{
    return _mm256_mul_pd(a, b);
}

static inline rng_words rng_bits(rng_doubles x)
{
    return _mm256_castpd_si256(x);
}

static inline rng_words rng_sign(rng_words word)
{
    return _mm256_xor_si256(_mm256_and_si256(word, rng_set(0x8000000000000000u)),
                            rng_set(0xbff0000000000000u));
}

static inline rng_doubles rng_fill(double x)
{
    return _mm256_set1_pd(x);
}

static inline rng_words rng_below(rng_doubles a, rng_doubles b)
{
    return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_LT_OQ));
}

static inline void rng_store(unsigned char *out, rng_words x)
{
    _mm256_storeu_si256((__m256i *)(void *)out, x);
}

static inline void rng_store_pairs(unsigned char *out, rng_words even, rng_words odd)
{
    rng_words low = _mm256_unpacklo_epi64(even, odd);
    rng_words high = _mm256_unpackhi_epi64(even, odd);
    rng_store(out, _mm256_permute2x128_si256(low, high, 0x20));
    rng_store(out + 32, _mm256_permute2x128_si256(low, high, 0x31));
}

#include "src/base/rng_philox.h"

#include "src/base/rng_loops.h"

const norma_rng_kernels norma_rng_kernels_avx2 = {rng_blocks, rng_lanes, rng_mask, rng_mask_lanes};
