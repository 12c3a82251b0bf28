#ifndef NORMA_CHAIN_KERNELS_VECTOR_PAIR_H
#define NORMA_CHAIN_KERNELS_VECTOR_PAIR_H
/* Vectors of two doubles by AVX and FMA, for src/chain/kernels/lanes_loops.h. */
#include <immintrin.h>

#define LANES_WIDTH 2
#define LANES_BLOCK 3
typedef __m128d vec;

static inline vec v_load(const double *x)
{
    return _mm_load_pd(x);
}

static inline void v_store(double *x, vec a)
{
    _mm_store_pd(x, a);
}

static inline vec v_set(double a)
{
    return _mm_set1_pd(a);
}

static inline vec v_add(vec a, vec b)
{
    return _mm_add_pd(a, b);
}

static inline vec v_sub(vec a, vec b)
{
    return _mm_sub_pd(a, b);
}

static inline vec v_mul(vec a, vec b)
{
    return _mm_mul_pd(a, b);
}

static inline vec v_div(vec a, vec b)
{
    return _mm_div_pd(a, b);
}

static inline vec v_max(vec a, vec b)
{
    return _mm_max_pd(a, b);
}

static inline vec v_sqrt(vec a)
{
    return _mm_sqrt_pd(a);
}

static inline vec v_fma(vec a, vec b, vec c)
{
    return _mm_fmadd_pd(a, b, c);
}

static inline vec v_fnma(vec a, vec b, vec c)
{
    return _mm_fnmadd_pd(a, b, c);
}

static inline vec v_copysign(vec size, vec a)
{
    const vec sign = _mm_set1_pd(-0.0);
    return _mm_or_pd(_mm_and_pd(sign, a), _mm_andnot_pd(sign, size));
}

static inline vec v_nonnegative(vec a)
{
    return _mm_and_pd(_mm_cmpge_pd(a, _mm_setzero_pd()), _mm_set1_pd(1));
}

static inline vec v_away_from_zero(vec a, vec tiny)
{
    vec size = _mm_andnot_pd(_mm_set1_pd(-0.0), a);
    return _mm_blendv_pd(tiny, a, _mm_cmpge_pd(size, tiny));
}

#endif
