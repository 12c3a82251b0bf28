#ifndef NORMA_BASE_PEAK_PEAK_KERNEL_H
#define NORMA_BASE_PEAK_PEAK_KERNEL_H
/* Internal to src/base: the loops behind src/base/peak/peak.h, one pair per instruction set. */
#include <stdint.h>

typedef struct norma_peak_kernels {
    double (*fp64)(int64_t rounds); /* operations done */
    double (*fp32)(int64_t rounds);
} norma_peak_kernels;

extern const norma_peak_kernels norma_peak_kernels_scalar;
#ifdef NORMA_X86_KERNELS
extern const norma_peak_kernels norma_peak_kernels_avx2;
extern const norma_peak_kernels norma_peak_kernels_avx512;
#endif

#endif
