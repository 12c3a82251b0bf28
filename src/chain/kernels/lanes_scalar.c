/* Portable kernels, and the reference for the others. */
#include <math.h>
#include <stdint.h>

#define LANES_COUNT 8
#define LANES_WIDTH 1
#define LANES_BLOCK 4
typedef double vec;

static inline vec v_load(const double *x)
{
    return *x;
}

static inline void v_store(double *x, vec a)
{
    *x = a;
}

static inline vec v_set(double a)
{
    return a;
}

static inline vec v_add(vec a, vec b)
{
    return a + b;
}

static inline vec v_sub(vec a, vec b)
{
    return a - b;
}

static inline vec v_mul(vec a, vec b)
{
    return a * b;
}

static inline vec v_div(vec a, vec b)
{
    return a / b;
}

static inline vec v_max(vec a, vec b)
{
    return a > b ? a : b;
}

static inline vec v_sqrt(vec a)
{
    return sqrt(a);
}

/* a b + c, and c - a b, rounded once. */
static inline vec v_fma(vec a, vec b, vec c)
{
    return fma(a, b, c);
}

static inline vec v_fnma(vec a, vec b, vec c)
{
    return fma(-a, b, c);
}

/* |size| with the sign of a. */
static inline vec v_copysign(vec size, vec a)
{
    return copysign(size, a);
}

/* 1 where a >= 0, else 0; a where |a| >= tiny, else tiny. */
static inline vec v_nonnegative(vec a)
{
    return a >= 0 ? 1 : 0;
}

static inline vec v_away_from_zero(vec a, vec tiny)
{
    return fabs(a) >= tiny ? a : tiny;
}

/* The first `count` elements, 1 to LANES_WIDTH, at any address; the others are 0. */
static inline vec v_load_part(const double *x, int64_t count)
{
    (void)count;
    return *x;
}

static inline void v_store_part(double *x, int64_t count, vec a)
{
    (void)count;
    *x = a;
}

#include "src/chain/kernels/lanes_loops.h"
#include "src/chain/kernels/solo_loops.h"

const norma_lanes_kernels norma_lanes_kernels_scalar = LANES_TABLE;
const norma_lanes_kernels norma_solo_kernels_scalar = SOLO_TABLE;
