#include "src/chain/kernels/lanes.h"

#include "src/base/cpu.h"

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
