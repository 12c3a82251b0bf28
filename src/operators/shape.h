#ifndef NORMA_OPERATORS_SHAPE_H
#define NORMA_OPERATORS_SHAPE_H
/* Extents of one image's activations, which are [channels][height][width], row-major. */
#include <stdbool.h>
#include <stdint.h>

/* height = width = 0: not known. */
typedef struct norma_shape {
    int64_t channels, height, width;
} norma_shape;

/* channels * height * width. */
static inline int64_t norma_shape_size(norma_shape shape)
{
    return shape.channels * shape.height * shape.width;
}

static inline bool norma_shape_equal(norma_shape a, norma_shape b)
{
    return a.channels == b.channels && a.height == b.height && a.width == b.width;
}

#endif
