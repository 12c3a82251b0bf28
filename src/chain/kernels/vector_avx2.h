#ifndef NORMA_CHAIN_KERNELS_VECTOR_AVX2_H
#define NORMA_CHAIN_KERNELS_VECTOR_AVX2_H
/* Vectors of four doubles by AVX2 and FMA, for the loops of this folder. */
#include <immintrin.h>
#include <stdint.h>

#define LANES_WIDTH 4
#define LANES_BLOCK 3
typedef __m256d vec;

static inline vec v_load(const double *x)
{
    return _mm256_load_pd(x);
}

static inline void v_store(double *x, vec a)
{
    _mm256_store_pd(x, a);
}

static inline vec v_set(double a)
{
    return _mm256_set1_pd(a);
}

static inline vec v_add(vec a, vec b)
{
    return _mm256_add_pd(a, b);
}

static inline vec v_sub(vec a, vec b)
{
    return _mm256_sub_pd(a, b);
}

static inline vec v_mul(vec a, vec b)
{
    return _mm256_mul_pd(a, b);
}

static inline vec v_div(vec a, vec b)
{
    return _mm256_div_pd(a, b);
}

static inline vec v_max(vec a, vec b)
{
    return _mm256_max_pd(a, b);
}

static inline vec v_sqrt(vec a)
{
    return _mm256_sqrt_pd(a);
}

static inline vec v_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_pd(a, b, c);
}

static inline vec v_fnma(vec a, vec b, vec c)
{
    return _mm256_fnmadd_pd(a, b, c);
}

static inline vec v_copysign(vec size, vec a)
{
    const vec sign = _mm256_set1_pd(-0.0);
    return _mm256_or_pd(_mm256_and_pd(sign, a), _mm256_andnot_pd(sign, size));
}

static inline vec v_nonnegative(vec a)
{
    return _mm256_and_pd(_mm256_cmp_pd(a, _mm256_setzero_pd(), _CMP_GE_OQ), _mm256_set1_pd(1));
}

static inline vec v_away_from_zero(vec a, vec tiny)
{
    vec size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
    return _mm256_blendv_pd(tiny, a, _mm256_cmp_pd(size, tiny, _CMP_GE_OQ));
}

static inline __m256i v_part(int64_t count)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline vec v_load_part(const double *x, int64_t count)
{
    return count == LANES_WIDTH ? _mm256_loadu_pd(x) : _mm256_maskload_pd(x, v_part(count));
}

static inline void v_store_part(double *x, int64_t count, vec a)
{
    if (count == LANES_WIDTH)
        _mm256_storeu_pd(x, a);
    else
        _mm256_maskstore_pd(x, v_part(count), a);
}

#endif
