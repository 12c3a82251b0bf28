#include "src/network/source_skip.h"

#include "src/operators/im2col.h"

#include <cblas.h>
#include <string.h>

static int64_t inputs_of_sum(const norma_source_shape *shape)
{
    return shape->n_channels_in * norma_kernel_taps(shape->kernel.target);
}

int64_t norma_source_skip_size(const norma_source_shape *shape)
{
    int64_t n_pixels = shape->conv.height * shape->conv.width;
    return shape->with_skip ? n_pixels * (inputs_of_sum(shape) + shape->n_channels_out) : 0;
}

int64_t norma_source_skip_weights(const norma_source_shape *shape)
{
    return shape->with_skip ? shape->n_channels_out * inputs_of_sum(shape) : 0;
}

static void round_all(int64_t n, double *x)
{
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)x[k];
}

void norma_source_skip_prepare(const norma_source_layer *source, double *weights)
{
    int64_t n = norma_source_skip_weights(&source->shape);
    if (n > 0)
        memcpy(weights, source->skip, (size_t)n * sizeof *weights);
    if (source->single)
        round_all(n, weights);
}

const double *norma_source_skip_apply(const norma_source_layer *source, const double *weights,
                                      const double *in, double *scratch)
{
    const norma_source_shape *shape = &source->shape;
    const norma_kernel *kernel = &shape->kernel;
    const int64_t stride[2] = {shape->stride1[0] * shape->stride2[0],
                               shape->stride1[1] * shape->stride2[1]};
    const int64_t padding[2] = {shape->padding[0] - kernel->offset.height * shape->dilation[0],
                                shape->padding[1] - kernel->offset.width * shape->dilation[1]};
    int64_t n_pixels = shape->conv.height * shape->conv.width;
    int64_t n_inputs = inputs_of_sum(shape);
    double *values = scratch + n_inputs * n_pixels;
    norma_im2col(shape->input, kernel->target, stride, shape->dilation, padding, shape->conv, in,
                 n_pixels, scratch);
    if (source->single)
        round_all(n_inputs * n_pixels, scratch);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)shape->n_channels_out,
                (int)n_pixels, (int)n_inputs, 1, weights, (int)n_inputs, scratch, (int)n_pixels, 0,
                values, (int)n_pixels);
    if (source->single)
        round_all(shape->n_channels_out * n_pixels, values);
    return values;
}
