#include "src/chain/kernels/lanes.h"

#include "src/base/cpu.h"

#include <math.h>
#include <stddef.h>

const norma_lanes_kernels *norma_lanes_get(void)
{
#ifdef NORMA_X86_KERNELS
    switch (norma_cpu_isa()) {
    case NORMA_ISA_AVX512:
        return &norma_lanes_kernels_avx512;
    case NORMA_ISA_AVX2:
        return &norma_lanes_kernels_avx2;
    default:
        break;
    }
#endif
    return &norma_lanes_kernels_scalar;
}

/* Fewer replicas than a whole set take vectors of their own number. */
static const norma_lanes_kernels *get_few(int64_t n)
{
#ifdef NORMA_X86_KERNELS
    if (norma_cpu_isa() != NORMA_ISA_SCALAR)
        return n >= 4 ? &norma_lanes_kernels_four : &norma_lanes_kernels_two;
#endif
    (void)n;
    return NULL;
}

const norma_lanes_kernels *norma_lanes_get_block(int64_t n)
{
    const norma_lanes_kernels *few = n > 1 && n < NORMA_LANES ? get_few(n) : NULL;
    return n >= NORMA_LANES ? norma_lanes_get() : few ? few : norma_lanes_get_solo();
}

const norma_lanes_kernels *norma_lanes_get_solo(void)
{
#ifdef NORMA_X86_KERNELS
    switch (norma_cpu_isa()) {
    case NORMA_ISA_AVX512:
        return &norma_solo_kernels_avx512;
    case NORMA_ISA_AVX2:
        return &norma_solo_kernels_avx2;
    default:
        break;
    }
#endif
    return &norma_solo_kernels_scalar;
}

/* Measured on a Zen 5 core with soft_rank, stable_rank, tr_m3 and tr_diag2, batch 4 to 64: the time
 * of a layer of 2, 4 and 8 lanes over that of one replica alone hardly depends on the batch. */
enum { N_WIDTHS = 6, N_BLOCKS = 3 };
static const double widths[N_WIDTHS] = {4, 8, 16, 32, 48, 64};
static const double costs[NORMA_N_ISAS][N_BLOCKS][N_WIDTHS] = {
    [NORMA_ISA_SCALAR] = {{2, 2, 2, 2, 2, 2}, {4, 4, 4, 4, 4, 4}, {6.3, 7.1, 7.3, 9.5, 10.3, 10.8}},
    [NORMA_ISA_AVX2] = {{1.9, 2.6, 3.1, 3.5, 3.7, 3.8},
                        {2.1, 2.7, 3.2, 3.5, 3.8, 3.8},
                        {3.5, 5.1, 6.4, 7.9, 8.8, 9.8}},
    [NORMA_ISA_AVX512] = {{1.6, 3.4, 4.7, 6.0, 6.6, 7.0},
                          {1.8, 3.7, 4.8, 6.1, 6.7, 7.2},
                          {1.8, 3.4, 4.3, 5.9, 6.8, 7.5}}};

double norma_lanes_cost(int lanes, int64_t width)
{
    if (lanes == 1)
        return 1;
    const double *of = costs[norma_cpu_isa()][lanes == 2 ? 0 : lanes == 4 ? 1 : 2];
    const double w = fmin(fmax((double)width, widths[0]), widths[N_WIDTHS - 1]);
    int k = 0;
    while (k < N_WIDTHS - 2 && w > widths[k + 1])
        k++;
    return of[k] + (of[k + 1] - of[k]) * (w - widths[k]) / (widths[k + 1] - widths[k]);
}
