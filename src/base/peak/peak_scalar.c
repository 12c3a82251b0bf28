/* Vectors of 16 bytes, which every processor has: SSE or NEON. */
#define FMA_BYTES 16
#define FMA_KERNELS norma_peak_kernels_scalar

#include "src/base/peak/peak_loops.h"
