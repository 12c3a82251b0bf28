/* Kernels for AVX-512 F and DQ: eight 64-bit elements a vector. */
#include <immintrin.h>
#include <sleef.h>
#include <stdint.h>

#define RNG_WIDTH 8
#define RNG_GROUP 2
typedef __m512i rng_words;
typedef __m512d rng_doubles;

static inline rng_words rng_set(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

static inline rng_words rng_ramp(void)
{
    return _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
}

static inline rng_words rng_add(rng_words a, rng_words b)
{
    return _mm512_add_epi64(a, b);
}

static inline rng_words rng_or(rng_words a, rng_words b)
{
    return _mm512_or_si512(a, b);
}

static inline rng_words rng_high(rng_words a)
{
    return _mm512_srli_epi64(a, 32);
}

static inline rng_words rng_times_low(rng_words a, rng_words b)
{
    return _mm512_mul_epu32(a, b);
}

static inline rng_words rng_xor3(rng_words a, rng_words b, rng_words c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

static inline rng_words rng_join(rng_words low, rng_words high)
{
    return _mm512_mask_blend_epi32(0xaaaa, low, _mm512_slli_epi64(high, 32));
}

static inline rng_doubles rng_uniform(rng_words word)
{
    rng_doubles k = _mm512_cvtepu64_pd(_mm512_srli_epi64(word, 11));
    return _mm512_mul_pd(_mm512_max_pd(k, _mm512_set1_pd(0.5)), _mm512_set1_pd(0x1p-53));
}

static inline rng_doubles rng_radius(rng_doubles u)
{
    return _mm512_sqrt_pd(_mm512_mul_pd(_mm512_set1_pd(-2.0), Sleef_finz_logd8_u10avx512f(u)));
}

static inline void rng_circle(rng_doubles u, rng_doubles *cosine, rng_doubles *sine)
{
    Sleef___m512d_2 pair = Sleef_finz_sincospid8_u35avx512f(_mm512_add_pd(u, u));
    *cosine = pair.y;
    *sine = pair.x;
}

static inline rng_doubles rng_times(rng_doubles a, rng_doubles b)
{
    return _mm512_mul_pd(a, b);
}

static inline rng_words rng_bits(rng_doubles x)
{
    return _mm512_castpd_si512(x);
}

static inline rng_words rng_sign(rng_words word)
{
    return _mm512_xor_si512(_mm512_and_si512(word, rng_set(0x8000000000000000u)),
                            rng_set(0xbff0000000000000u));
}

static inline rng_doubles rng_fill(double x)
{
    return _mm512_set1_pd(x);
}

static inline rng_words rng_below(rng_doubles a, rng_doubles b)
{
    return _mm512_movm_epi64(_mm512_cmp_pd_mask(a, b, _CMP_LT_OQ));
}

static inline void rng_store(unsigned char *out, rng_words x)
{
    _mm512_storeu_si512(out, x);
}

static inline void rng_store_pairs(unsigned char *out, rng_words even, rng_words odd)
{
    const rng_words first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
    const rng_words second = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    rng_store(out, _mm512_permutex2var_epi64(even, first, odd));
    rng_store(out + 64, _mm512_permutex2var_epi64(even, second, odd));
}

#include "src/base/rng_philox.h"

#include "src/base/rng_loops.h"

const norma_rng_kernels norma_rng_kernels_avx512 = {rng_blocks, rng_lanes, rng_mask,
                                                    rng_mask_lanes};
