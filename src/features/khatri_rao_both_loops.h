/*
 * Both precisions of the loops of src/features/khatri_rao_loops.h. Included by the file of an
 * instruction set, which defines before: KR_TILE, how many rows of registers a tile has, KR_BYTES,
 * those of a vector, and KR_TABLE, the name of its pair of tables.
 */
#include "src/features/khatri_rao_kernels.h"

/* Wide numbers that a product takes at a time, in tiles: with a panel of two vectors 64 KiB. */
#define KR_DEEP (32768 / KR_BYTES / KR_TILE)
#define KR_SQUARE ((int64_t)KR_TILE * KR_TILE)
#define KR_VECTOR KR_NAME(vector)

#if defined(__clang__)
#define KR_UNROLL _Pragma("clang loop unroll(full)")
#define KR_UNROLL_PARTLY
#else
#define KR_UNROLL _Pragma("GCC unroll 16")
#define KR_UNROLL_PARTLY _Pragma("GCC unroll 4")
#endif

#define KR_REAL double
#define KR_LANES (KR_BYTES / 8)
#define KR_NAME(what) double_##what
#include "src/features/khatri_rao_loops.h"
#undef KR_REAL
#undef KR_LANES
#undef KR_NAME

#define KR_REAL float
#define KR_LANES (KR_BYTES / 4)
#define KR_NAME(what) single_##what
#include "src/features/khatri_rao_loops.h"

const norma_khatri_rao_kernels *const KR_TABLE[2] = {&double_kernels, &single_kernels};
