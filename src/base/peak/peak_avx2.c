/* AVX2 with FMA: 32 bytes a vector. */
#define FMA_BYTES 32
#define FMA_KERNELS norma_peak_kernels_avx2

#include "src/base/peak/peak_loops.h"
