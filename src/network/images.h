#ifndef NORMA_NETWORK_IMAGES_H
#define NORMA_NETWORK_IMAGES_H
/* Images with labels, and their way into a network: x = scale * pixel + offset. io/input/dataset
 * reads them; others are drawn from counters whenever they are loaded. */
#include "src/base/rng.h"
#include "src/network/network.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_images {
    int64_t n_images;
    norma_shape shape;     /* of one image */
    const uint8_t *pixels; /* [n_images][channels][height][width], or NULL: values; borrowed */
    const int32_t *labels; /* [n_images], or NULL when there are none; borrowed */
    const double *values;  /* the pixels where they are no bytes; borrowed */
    int32_t label_low, label_high; /* the range of all labels in the file */
    const char *labels_from;       /* the file, for messages; borrowed */
    bool drawn; /* pixels and values are NULL: element e of all pixels is normal e of the stream */
    uint64_t seed;
    norma_rng_stream stream;
} norma_images;

/* NORMA_CONFIG unless the images fit the network's input (equal extents, or as many pixels where
 * the network takes a flat vector) and every label is one of its outputs. */
NORMA_MUST_USE norma_status norma_images_check(const norma_images *images,
                                               const norma_network *network);

/* The least and the largest x = scale * pixel + offset of all images, which are not drawn. */
void norma_images_range(const norma_images *images, const norma_network *network, double range[2]);

/* out[count][network->input] = scale * pixel + offset for images first .. first + count - 1. */
void norma_images_load(const norma_images *images, const norma_network *network, int64_t first,
                       int64_t count, double *out);

/* out[pixels of an image][n_images]: image j is column j, x = scale * pixel + offset. The images
 * are not drawn. */
void norma_images_load_columns(const norma_images *images, double scale, double offset,
                               double *out);

#endif
