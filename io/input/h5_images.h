#ifndef NORMA_IO_INPUT_H5_IMAGES_H
#define NORMA_IO_INPUT_H5_IMAGES_H
/* Images in a dataset of an HDF5 file: [n, channels, height, width], [n, height, width] or
 * [n, inputs], of any real type; labels [n] in the dataset `labels` of the same group. Rank 0 only.
 */
#include "src/network/network.h"

#include <stdint.h>

/* Reads the first n_items images of dataset `path` of `file`. Bytes where every value is a whole
 * number from 0 to 255 (*values NULL), FP64 otherwise (*pixels NULL); *labels NULL where there are
 * none. NORMA_CONFIG for fewer images, labels of another number, negative or broken labels, and
 * what io/hdf5/h5_input refuses. The caller owns all three. */
NORMA_MUST_USE norma_status norma_h5_images_read_root(const char *file, const char *path,
                                                      int64_t n_items, norma_shape *shape,
                                                      uint8_t **pixels, double **values,
                                                      int32_t **labels);

#endif
