#ifndef NORMA_NETWORK_SOURCE_H
#define NORMA_NETWORK_SOURCE_H
/*
 * The source pair that stands for one target layer, really run (SPEC "Activations", "Networks"):
 *
 *     z_J   = gamma1_J (W1[J] * x)                        hidden channels J = 0 .. c1 - 1
 *     y_i   = gamma2_i sum_{J,p} W2[i,J,p] phi(z_J + beta1_J) + beta2_i  (+ (Ws * x)_i)
 *     out   = pool(act(y))                                the target layer's own
 *
 * A frozen skip connection Ws (src/features/width_rule.h) joins behind the second affine map
 * (inner) or in front of it (outer: gamma2_i multiplies its sum with the pair's). It is a
 * convolution with the target's kernel, stride, dilation and padding.
 *
 * Layer 1 carries all padding: the target's plus the offset floor((K - Kt)/2) of its kernel in the
 * composite one, K = K1 + K2 - 1 per axis; where K - Kt is odd one row or column more follows at
 * the far side. Layer 2 pads nothing. The stride sits on layer 2, or on layer 1 when K2 = 1 x 1.
 * Where the target's channels are in groups, so are those of the pair: group g has features g c1/G
 * to (g + 1) c1/G - 1, which see its input channels and add to its output channels alone. Rows of
 * W1 are then [c0/G][|K1|] and those of W2 [c2/G][|K2|]; there is no skip connection.
 * Both kernels have the target's dilation d: their taps lie at d q and d p, those of the composite
 * kernel at d (q + p), and each row or column of the offset takes d of the image.
 */
#include "src/base/status.h"
#include "src/features/kernel.h"
#include "src/features/width_rule.h"
#include "src/network/activation.h"
#include "src/network/network.h"
#include "src/random/tensor.h"

#include <stdbool.h>
#include <stdint.h>

/* Extents of a source pair on a target layer. */
typedef struct norma_source_shape {
    int64_t n_features;     /* c1 */
    int64_t n_channels_in;  /* c0 */
    int64_t n_channels_out; /* c2 */
    int64_t groups;         /* of channels: each has a pair of its own, c1, c0, c2 / groups */
    norma_kernel kernel;    /* K1, K2, K, Kt, offset */
    int64_t stride1[2], stride2[2];
    int64_t dilation[2];    /* of both layers: distance of their kernels' taps */
    int64_t padding[2];     /* of layer 1, before the first row and column */
    int64_t padding_far[2]; /* behind the last ones */
    norma_shape input;      /* of x */
    norma_shape z;          /* {c1, height, width} of the hidden layer; extents 0 when unknown */
    norma_shape conv;       /* {c2, height, width} of y */
    bool with_skip;         /* a skip connection runs beside the pair: set by the caller */
} norma_source_shape;

/* Extents for a kernel split and n_features channels, of all groups together, on a target layer
 * whose shapes are inferred; NORMA_CONFIG when the split is not one of this layer's kernel. */
NORMA_MUST_USE norma_status norma_source_shape_init(norma_source_shape *shape,
                                                    const norma_layer *layer,
                                                    const norma_kernel *kernel, int64_t n_features);

/* A source pair with its affine maps. Everything is borrowed. w1 == NULL: the target layer itself
 * is run in its place. */
typedef struct norma_source_layer {
    norma_source_shape shape;
    const norma_tensor *w1; /* rows [c0 / groups][|K1|] */
    const norma_tensor *w2; /* rows [c2 / groups][|K2|] */
    norma_activation activation;
    const double *gamma1, *beta1; /* [c1] */
    const double *gamma2, *beta2; /* [c2] */
    double region[2];             /* where the activation counts as linear */
    bool single;                  /* run the pair in FP32: weights, maps, products, sums */
    norma_residual residual;
    const double *skip; /* Ws [c2][c0][|Kt|]; NULL without one */
} norma_source_layer;

/* Floating-point operations an image: 2 c1 (c0 |K1| pixels of z + c2 |K2| pixels of y) / groups. */
double norma_source_flops(const norma_source_shape *shape);

/* Scratch memory for running source pairs, one at a time, with up to n_threads OpenMP threads. BLAS
 * is called from those threads: set it to one thread before. */
typedef struct norma_source_work norma_source_work;

/* Large enough for each of n_shapes pairs (whose image extents are known). Columns and products of
 * as many of n_images images as fit into budget bytes are held at once, at least one group's; the
 * others follow in further passes over the features. Caller owns *out. */
NORMA_MUST_USE norma_status norma_source_work_create(int64_t n_shapes,
                                                     const norma_source_shape *shapes,
                                                     int64_t n_images, int64_t budget,
                                                     int n_threads, norma_source_work **out);

/* Bytes that norma_source_work_create takes. */
int64_t norma_source_work_bytes(int64_t n_shapes, const norma_source_shape *shapes,
                                int64_t n_images, int64_t budget, int n_threads);

/* Runs n_images images through the pair and the target layer's activation and pool:
 * out[n_images][layer->output] from in[n_images][layer->input]. All c1 features are propagated.
 * `first` is the number of the first image in the data set: images of few pixels share a GEMM, each
 * at a place that its number fixes, so that its bits do not depend on its neighbours. *n_clipped
 * gains the number of hidden pre-activations z + beta1 outside source->region. In single precision
 * in and out hold FP32 values (in is rounded); activations, averages and the sums of a skip are
 * rounded once. */
void norma_source_propagate(norma_source_work *work, const norma_source_layer *source,
                            const norma_layer *layer, int64_t first, int64_t n_images,
                            const double *in, double *out, int64_t *n_clipped);

/* Widens lo[c1], hi[c1] by the range of u_J = W1[J] * x (no gamma) over all positions of n_images
 * images that layer 1 really sees, zeros of the padding included. */
void norma_source_measure(norma_source_work *work, const norma_source_shape *shape,
                          const norma_tensor *w1, int64_t first, int64_t n_images, const double *in,
                          double *lo, double *hi);

void norma_source_work_destroy(norma_source_work **work);

#endif
