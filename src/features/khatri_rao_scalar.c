/* Kernels for any processor: vectors of 16 bytes, which the compiler makes of what there is. */
#define KR_TILE 6
#define KR_BYTES 16
#define KR_TABLE norma_khatri_rao_kernels_scalar
#include "src/features/khatri_rao_both_loops.h"
