#ifndef NORMA_NETWORK_FORWARD_H
#define NORMA_NETWORK_FORWARD_H
/*
 * Forward pass of target layers in FP64: im2col and one GEMM an image, OpenMP over images. The
 * arithmetic of an image does not depend on the others, on the number of threads or on how images
 * are spread over ranks. BLAS is called from OpenMP threads: set it to one thread before.
 */
#include "src/network/network.h"

/* Scratch memory for forward passes of one network with up to n_threads OpenMP threads. */
typedef struct norma_forward norma_forward;

/* Shapes must have been inferred with known image extents (NORMA_CONFIG otherwise). Caller owns
 * *out; the network is borrowed. */
NORMA_MUST_USE norma_status norma_forward_create(const norma_network *network, int n_threads,
                                                 norma_forward **out);

/* out[n_images][layer output] = pool(act(W * in + b)) of layer number `layer`, which is
 * convolutional or linear, for in[n_images][layer input]. */
void norma_forward_layer(norma_forward *forward, int64_t layer, int64_t n_images, const double *in,
                         double *out);

/* The values of any layer number `layer`, from and to buffers[slots->n_slots], which hold
 * [n_images][value] each: slots are those of norma_network_place. */
void norma_forward_step(norma_forward *forward, int64_t layer, int64_t n_images,
                        const norma_slots *slots, double *const *buffers);

/* out[layer->output] of image number n of a layer that is neither convolutional nor linear, from
 * in[k][n][output of the layer's input number k]; in holds layer->n_inputs pointers. */
void norma_forward_node(const norma_network *network, const norma_layer *layer,
                        const double *const *in, int64_t n, double *out);

/* The second half of a layer alone: activation and pool of x[layer->hidden], one image, in place;
 * out[layer->output]. x is overwritten; x and out do not overlap. */
void norma_forward_finish(const norma_layer *layer, double *x, double *out);

/* Bytes that norma_forward_create takes. */
int64_t norma_forward_bytes(const norma_network *network, int n_threads);

void norma_forward_destroy(norma_forward **forward);

#endif
