#ifndef NORMA_OPERATORS_IM2COL_H
#define NORMA_OPERATORS_IM2COL_H
/* Patches of an image as columns, so that a convolution is a matrix product. */
#include "src/features/kernel.h"
#include "src/operators/shape.h"

/* columns[c |K| + q][y width + x] (leading dimension ld >= out.height * out.width) = image value of
 * channel c at row y stride[0] + q_row dilation[0] - padding[0], and alike for columns, zero
 * outside the image; q over the taps of `kernel`, (y, x) over the pixels of `out`. dilation
 * NULL: 1. */
void norma_im2col(norma_shape in, norma_kernel_shape kernel, const int64_t stride[2],
                  const int64_t dilation[2], const int64_t padding[2], norma_shape out,
                  const double *image, int64_t ld, double *columns);

#endif
