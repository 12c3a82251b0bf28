#ifndef NORMA_NETWORK_SKIP_H
#define NORMA_NETWORK_SKIP_H
/*
 * The frozen weights Ws of a skip connection beside a source pair (CNN24 section 2.2, "Residual
 * blocks"): a convolution with the target layer's kernel, stride and padding. A 1 x 1 skip is its
 * middle tap, floor((Kt - 1) / 2) on each axis; where the target keeps the image's extents that is
 * the plain 1 x 1 convolution of the stride.
 */
#include "src/network/network.h"
#include "src/random/tensor.h"

typedef enum norma_skip_kind {
    NORMA_SKIP_IDENTITY, /* channel i to channel i; as many outputs as inputs */
    NORMA_SKIP_DRAWN,    /* from a distribution */
    NORMA_SKIP_GIVEN     /* values handed over by the caller (from a file) */
} norma_skip_kind;

typedef struct norma_skip_spec {
    norma_skip_kind kind;
    bool whole_kernel;               /* the kernel is Kt, otherwise 1 x 1 (drawn, given) */
    norma_distribution distribution; /* drawn: as of the tensor [c2][c0 taps] of a first layer */
    double keep_probability;
    uint64_t seed;
    norma_rng_stream stream;
    const double *values; /* given: [c2][c0][taps]; borrowed */
} norma_skip_spec;

/* NORMA_CONFIG, naming both numbers of channels, for an identity between different numbers. */
NORMA_MUST_USE norma_status norma_skip_check(const norma_skip_spec *spec, const norma_layer *layer);

/* skip[c2][c0][|Kt|] = Ws. Local and deterministic. As norma_skip_check and norma_tensor_create. */
NORMA_MUST_USE norma_status norma_skip_fill(const norma_skip_spec *spec, const norma_layer *layer,
                                            double *skip);

#endif
