/* AVX-512 F: 64 bytes a vector. */
#define FMA_BYTES 64
#define FMA_KERNELS norma_peak_kernels_avx512

#include "src/base/peak/peak_loops.h"
