/* Kernels for AVX2 and FMA: sixteen registers, twelve of them sums. */
#define KR_TILE 6
#define KR_BYTES 32
#define KR_TABLE norma_khatri_rao_kernels_avx2
#include "src/features/khatri_rao_both_loops.h"
