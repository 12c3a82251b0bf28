#include "src/base/peak/peak.h"

#include "src/base/peak/peak_kernel.h"

double norma_peak_run(norma_isa isa, bool single, int64_t rounds)
{
    const norma_peak_kernels *kernels = &norma_peak_kernels_scalar;
#ifdef NORMA_X86_KERNELS
    if (isa == NORMA_ISA_AVX512)
        kernels = &norma_peak_kernels_avx512;
    if (isa == NORMA_ISA_AVX2)
        kernels = &norma_peak_kernels_avx2;
#else
    (void)isa;
#endif
    return single ? kernels->fp32(rounds) : kernels->fp64(rounds);
}
