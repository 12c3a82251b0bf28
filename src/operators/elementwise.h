#ifndef NORMA_OPERATORS_ELEMENTWISE_H
#define NORMA_OPERATORS_ELEMENTWISE_H
/* Sums, products and affine maps of one image's activations. */
#include "src/operators/shape.h"

/* The shape of a sum or product of two values, where an extent of 1 stands for as many as the other
 * one has. Returns false where the extents do not fit. */
bool norma_elementwise_shape(norma_shape a, norma_shape b, norma_shape *out);

/* y[shape] = x[from] repeated along its axes of extent 1; y += x; y *= x. */
void norma_elementwise_copy(norma_shape shape, norma_shape from, const double *x, double *y);
void norma_elementwise_add(norma_shape shape, norma_shape from, const double *x, double *y);
void norma_elementwise_multiply(norma_shape shape, norma_shape from, const double *x, double *y);

/* y = scale[c] x + shift[c] for each channel of x[shape]. */
void norma_elementwise_affine(norma_shape shape, const double *scale, const double *shift,
                              const double *x, double *y);

/* y = min(max(x, limits[0]), limits[1]) for n values; NaN stays NaN. */
void norma_elementwise_clip(int64_t n, const double limits[2], const double *x, double *y);

/* y[c] = exp(x[c]) / sum over channels of exp(x), for each pixel. */
void norma_elementwise_softmax(norma_shape shape, const double *x, double *y);

#endif
