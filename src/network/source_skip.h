#ifndef NORMA_NETWORK_SOURCE_SKIP_H
#define NORMA_NETWORK_SOURCE_SKIP_H
/* Inside of src/network/source: the frozen skip connection beside a pair, a convolution with the
 * target layer's kernel, stride, dilation and padding. For src/network only. */
#include "src/network/source.h"

/* Doubles that one thread needs for the skip of one image: its columns, then its values. 0 without
 * one. */
int64_t norma_source_skip_size(const norma_source_shape *shape);

/* Doubles of the weights, c2 c0 |Kt|; 0 without a skip. */
int64_t norma_source_skip_weights(const norma_source_shape *shape);

/* weights[norma_source_skip_weights] = those of the source, rounded to FP32 in single precision. */
void norma_source_skip_prepare(const norma_source_layer *source, double *weights);

/* Ws * in for one image, [c2][pixels of conv], within scratch[norma_source_skip_size], which it
 * returns a pointer into. In single precision `in` is rounded to FP32 and each sum once. */
const double *norma_source_skip_apply(const norma_source_layer *source, const double *weights,
                                      const double *in, double *scratch);

#endif
