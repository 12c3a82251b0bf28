#ifndef NORMA_IO_INPUT_H5_IMAGES_H
#define NORMA_IO_INPUT_H5_IMAGES_H
/* Images in a dataset of an HDF5 file: [n, channels, height, width], [n, height, width] or
 * [n, inputs], of any real type; labels beside them (io/input/labels.h). Rank 0 only. */
#include "io/hdf5/h5_input.h"
#include "io/input/labels.h"
#include "src/network/network.h"

#include <stdint.h>

typedef struct norma_h5_images {
    norma_shape shape;
    char type[NORMA_H5_INPUT_TYPE]; /* as stored: "uint8", "float32" */
    uint8_t *pixels;                /* owned by the caller; NULL: values */
    double *values;                 /* the same */
    norma_labels labels;
} norma_h5_images;

/* Reads the first n_items images of dataset `path` of `file`: bytes where they are stored as
 * unsigned bytes that nothing unpacks, FP64 otherwise. Labels are looked for only with_labels.
 * NORMA_CONFIG for fewer images, and what io/hdf5/h5_input and io/input/labels refuse. */
NORMA_MUST_USE norma_status norma_h5_images_read_root(const char *file, const char *path,
                                                      int64_t n_items, bool with_labels,
                                                      norma_h5_images *images);

#endif
