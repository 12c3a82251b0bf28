#ifndef NORMA_NETWORK_PATCH_MOMENTS_H
#define NORMA_NETWORK_PATCH_MOMENTS_H
/*
 * Mean and covariance of the patches x that a convolution sees, over images and positions (zeros of
 * the padding included). From them come mean w'm and variance w'Cw of every channel w * x of the
 * convolution: what a batch norm behind it would measure, without running the channels.
 *
 * Sums over images do not depend on their order: each image's are rounded to a multiple of a fixed
 * number, 2^-113 of the largest sum there can be for a thousand images, and added as integers. So
 * neither the number of ranks nor the order of images changes a bit.
 */
#include "src/features/kernel.h"
#include "src/network/network.h"

/* How patches lie in an image. */
typedef struct norma_patch {
    norma_shape input;
    norma_kernel_shape kernel;
    int64_t stride[2];
    int64_t dilation[2];
    int64_t
        padding[2]; /* before the first row and column; zeros follow at the far side as needed */
    int64_t height, width; /* positions */
} norma_patch;

typedef struct norma_patch_moments {
    norma_patch patch;
    int64_t n_inputs; /* numbers of a patch: input.channels |kernel| */
    int64_t n_images;
    double one;          /* of each patch's constant further entry, a power of two */
    double quantum;      /* of high */
    double low_quantum;  /* of low: as fine as sums of n_images of them fit 64 bits */
    int64_t n_sums;      /* (n_inputs + 1)^2 */
    int64_t *high, *low; /* [n_sums], sums of products of entries, upper triangle; owned */
} norma_patch_moments;

/* Sums of no images yet, for n_images in all whose inputs are at most `largest` in magnitude. The
 * caller owns *out. */
NORMA_MUST_USE norma_status norma_patch_moments_create(const norma_patch *patch, int64_t n_images,
                                                       double largest, norma_patch_moments **out);

/* Bytes of one that norma_patch_moments_create and _add take at most, with n_threads threads. */
double norma_patch_moments_bytes(const norma_patch *patch, int n_threads);

/* Adds images in[n_images][input], with up to n_threads OpenMP threads; BLAS is called from them:
 * set it to one thread before. The sums of several of these, over all ranks, may be added. */
NORMA_MUST_USE norma_status norma_patch_moments_add(norma_patch_moments *moments, int64_t n_images,
                                                    int n_threads, const double *in);

/* mean[n_inputs], covariance[n_inputs][n_inputs] (with 1/N) of the images added. */
void norma_patch_moments_finish(const norma_patch_moments *moments, double *mean,
                                double *covariance);

/* mean[k] = w_k'm, variance[k] = w_k'Cw_k >= 0 of rows weights[n_rows][n_inputs]; scratch[n_rows
 * n_inputs]. */
void norma_patch_moments_project(int64_t n_inputs, const double *mean, const double *covariance,
                                 int64_t n_rows, const double *weights, double *scratch,
                                 double *projected_mean, double *projected_variance);

/* Frees and nulls; NULL is allowed. */
void norma_patch_moments_destroy(norma_patch_moments **moments);

#endif
