/* AVX-512 F and DQ: one vector of eight replicas. */
#include <immintrin.h>
#include <stdint.h>

#define LANES_COUNT 8
#define LANES_WIDTH 8
#define LANES_BLOCK 4
typedef __m512d vec;

static inline vec v_load(const double *x)
{
    return _mm512_load_pd(x);
}

static inline void v_store(double *x, vec a)
{
    _mm512_store_pd(x, a);
}

static inline vec v_set(double a)
{
    return _mm512_set1_pd(a);
}

static inline vec v_add(vec a, vec b)
{
    return _mm512_add_pd(a, b);
}

static inline vec v_sub(vec a, vec b)
{
    return _mm512_sub_pd(a, b);
}

static inline vec v_mul(vec a, vec b)
{
    return _mm512_mul_pd(a, b);
}

static inline vec v_div(vec a, vec b)
{
    return _mm512_div_pd(a, b);
}

static inline vec v_max(vec a, vec b)
{
    return _mm512_max_pd(a, b);
}

static inline vec v_sqrt(vec a)
{
    return _mm512_sqrt_pd(a);
}

static inline vec v_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_pd(a, b, c);
}

static inline vec v_fnma(vec a, vec b, vec c)
{
    return _mm512_fnmadd_pd(a, b, c);
}

static inline vec v_copysign(vec size, vec a)
{
    const vec sign = _mm512_set1_pd(-0.0);
    return _mm512_or_pd(_mm512_and_pd(sign, a), _mm512_andnot_pd(sign, size));
}

static inline vec v_nonnegative(vec a)
{
    __mmask8 mask = _mm512_cmp_pd_mask(a, _mm512_setzero_pd(), _CMP_GE_OQ);
    return _mm512_maskz_mov_pd(mask, _mm512_set1_pd(1));
}

static inline vec v_away_from_zero(vec a, vec tiny)
{
    return _mm512_mask_mov_pd(tiny, _mm512_cmp_pd_mask(_mm512_abs_pd(a), tiny, _CMP_GE_OQ), a);
}

static inline vec v_load_part(const double *x, int64_t count)
{
    if (count == LANES_WIDTH)
        return _mm512_loadu_pd(x);
    return _mm512_maskz_loadu_pd((__mmask8)((1U << count) - 1), x);
}

static inline void v_store_part(double *x, int64_t count, vec a)
{
    if (count == LANES_WIDTH)
        _mm512_storeu_pd(x, a);
    else
        _mm512_mask_storeu_pd(x, (__mmask8)((1U << count) - 1), a);
}

#include "src/chain/kernels/lanes_loops.h"
#include "src/chain/kernels/solo_loops.h"

const norma_lanes_kernels norma_lanes_kernels_avx512 = LANES_TABLE;
const norma_lanes_kernels norma_solo_kernels_avx512 = SOLO_TABLE;
