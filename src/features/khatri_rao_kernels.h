#ifndef NORMA_FEATURES_KHATRI_RAO_KERNELS_H
#define NORMA_FEATURES_KHATRI_RAO_KERNELS_H
/*
 * Internal to src/features and its tests: the loops behind the products of src/features/khatri_rao,
 * one set an instruction set and precision.
 *
 * Weights are packed once. The layer with more numbers a feature, wide, is cut into square tiles
 * [features / tile][wide / tile][tile features][tile numbers], so that a tile is read in one piece
 * both by the product that runs over the wide numbers and by the one that runs over features. The
 * other layer, narrow, is [features][n_vectors * lanes], padded with zeros. Matrices with the
 * narrow numbers as columns are cut into panels of two vectors, and one of one where n_vectors is
 * odd, one after the other, each [rows][vectors of the panel * lanes]. All is aligned to vectors.
 */
#include <stdint.h>

/* A block of features of one thread. */
typedef struct norma_khatri_rao_block {
    int64_t n_tiles;    /* of features */
    int64_t wide_tiles; /* of wide numbers */
    int64_t n_vectors;  /* of narrow numbers */
    const void *wide;   /* [n_tiles][wide_tiles][tile][tile] */
    const void *narrow; /* [n_tiles * tile][n_vectors * lanes] */
    void *scaled;       /* panels of n_tiles * tile rows */
} norma_khatri_rao_block;

typedef struct norma_khatri_rao_kernels {
    int64_t tile;  /* features, and wide numbers, of a tile */
    int64_t lanes; /* numbers of a vector */
    /* scaled = wide times unfolded, panels of wide_tiles * tile rows. */
    void (*multiply)(const norma_khatri_rao_block *block, const void *unfolded);
    /* dots[features] = inner products of the rows of scaled and narrow. */
    void (*dot)(const norma_khatri_rao_block *block, double *dots);
    /* scaled = diag(factors) narrow. */
    void (*scale)(const norma_khatri_rao_block *block, const double *factors);
    /* folded += wide' times scaled, panels of wide_tiles * tile rows. */
    void (*accumulate)(const norma_khatri_rao_block *block, void *folded);
} norma_khatri_rao_kernels;

/* [0]: double, [1]: single precision. */
extern const norma_khatri_rao_kernels *const norma_khatri_rao_kernels_scalar[2];
#ifdef NORMA_X86_KERNELS
extern const norma_khatri_rao_kernels *const norma_khatri_rao_kernels_avx2[2];
extern const norma_khatri_rao_kernels *const norma_khatri_rao_kernels_avx512[2];
#endif

#endif
