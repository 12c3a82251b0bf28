/* Kernels for AVX-512: thirty-two registers, twenty-four of them sums. */
#define KR_TILE 12
#define KR_BYTES 64
#define KR_TABLE norma_khatri_rao_kernels_avx512
#include "src/features/khatri_rao_both_loops.h"
