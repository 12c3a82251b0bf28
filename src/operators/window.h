#ifndef NORMA_OPERATORS_WINDOW_H
#define NORMA_OPERATORS_WINDOW_H
/* Pools: the maximum or the mean over windows of one channel's pixels. */
#include "src/features/kernel.h"
#include "src/operators/shape.h"

typedef struct norma_window {
    norma_kernel_shape kernel;
    int64_t stride[2];   /* height, width */
    int64_t padding[2];  /* before the first row and column */
    bool counts_padding; /* an average divides by all of its window, zeros of the padding included;
                            otherwise by the pixels inside of the image */
} norma_window;

/* y[out] = the largest pixel of each window of x[in], of those inside of the image; NaN when any
 * is. Every window holds a pixel of the image. */
void norma_window_max(const norma_window *window, norma_shape in, norma_shape out, const double *x,
                      double *y);

/* y[out] = the mean of each window of x[in]. */
void norma_window_average(const norma_window *window, norma_shape in, norma_shape out,
                          const double *x, double *y);

/* y[out] = the maximum of each 2 x 2 block of x[in]; an odd last row or column is dropped. */
void norma_window_max2(norma_shape in, norma_shape out, const double *x, double *y);

/* y[out] = x[in] at row floor(i in.height / out.height), and at a column likewise; as many
 * channels.
 */
void norma_window_nearest(norma_shape in, norma_shape out, const double *x, double *y);

/* y[channels] = the mean of all pixels of each channel of x[in]. */
void norma_window_average_all(norma_shape in, const double *x, double *y);

#endif
