#ifndef NORMA_FEATURES_KERNEL_H
#define NORMA_FEATURES_KERNEL_H
/*
 * Spatial kernels of a source pair and of its target (CNN24 section 2.2).
 *
 * First source layer: shape K1; second: K2. One after the other they act as one kernel of shape
 * K = K1 + K2 - 1 per axis (positions add: k = q + p), which must cover the target's Kt. The target
 * sits at offset floor((K - Kt) / 2) of K and is zero around it. All shapes are height, width;
 * positions are counted row-major; fully connected layers have 1 x 1 throughout.
 */
#include "src/base/status.h"

#include <stdint.h>

/* Longest kernel side, taps. */
#define NORMA_KERNEL_MAX_SIDE 1024

typedef struct norma_kernel_shape {
    int64_t height, width; /* taps */
} norma_kernel_shape;

typedef struct norma_kernel {
    norma_kernel_shape first;     /* K1 */
    norma_kernel_shape second;    /* K2 */
    norma_kernel_shape composite; /* K = K1 + K2 - 1 */
    norma_kernel_shape target;    /* Kt */
    norma_kernel_shape offset;    /* floor((K - Kt) / 2), where the target starts in K */
} norma_kernel;

/* Positions of a shape: height * width. */
int64_t norma_kernel_taps(norma_kernel_shape shape);

/* Fills *out from the two source shapes and the target's. NORMA_CONFIG when a side is outside 1 to
 * NORMA_KERNEL_MAX_SIDE or K does not cover Kt; the message names the shapes. */
NORMA_MUST_USE norma_status norma_kernel_init(norma_kernel *out, norma_kernel_shape first,
                                              norma_kernel_shape second, norma_kernel_shape target);

/* Fills *out from --kernel-split: "second" (K1 = 1, K2 = Kt), "first" (K1 = Kt, K2 = 1) or
 * "HxW+HxW" (K1+K2, such as "3x1+1x3"). NORMA_CONFIG for another text, and as norma_kernel_init. */
NORMA_MUST_USE norma_status norma_kernel_split(norma_kernel *out, const char *split,
                                               norma_kernel_shape target);

/* Reads "HxW" into *out; NORMA_CONFIG naming the text otherwise. */
NORMA_MUST_USE norma_status norma_kernel_parse_shape(const char *text, norma_kernel_shape *out);

/* The composite position k = q + p (row-major index in K) of tap q of K1 and tap p of K2. */
int64_t norma_kernel_composite_tap(const norma_kernel *kernel, int64_t q, int64_t p);

/* embedded[n_channels][|K|] = target[n_channels][|Kt|] at its offset, zero around it; n_channels
 * counts pairs (i, j), c2 * c0 of them. The arrays must not overlap. */
void norma_kernel_embed(const norma_kernel *kernel, int64_t n_channels, const double *target,
                        double *embedded);

#endif
