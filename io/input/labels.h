#ifndef NORMA_IO_INPUT_LABELS_H
#define NORMA_IO_INPUT_LABELS_H
/* The labels of images: where they are found beside them, and which ones are taken. Rank 0 only. */
#include "io/hdf5/h5_input.h"

#include <stdbool.h>
#include <stdint.h>

#define NORMA_LABELS_PATH 1024

/* Class numbers of the first images, and the range of all in the file. */
typedef struct norma_labels {
    int32_t *numbers; /* [n_items]; owned by the caller; NULL: no labels were found */
    int32_t low, high;
    char where[NORMA_LABELS_PATH]; /* the file, and the dataset in it */
} norma_labels;

/* Finds and reads the IDX file of labels beside `images`, whose name has "images": the one with
 * "labels" in that place and any ending of IDX files, as t10k-labels.idx1-ubyte or
 * qmnist-test-labels-idx2-int. Labels are [n] or [n, 1]; QMNIST's are column 0 of [n, 8].
 * `n_images` is what the file of images announces. NORMA_CONFIG for another number of labels and
 * for what are no class numbers. */
NORMA_MUST_USE norma_status norma_labels_read_idx_root(const char *images, int64_t n_images,
                                                       int64_t n_items, norma_labels *labels);

/* The same in an HDF5 file, beside dataset `path`: y_test for x_test, test_labels for test_images,
 * and so on; or labels, label, targets, target, y, classes in the same group. */
NORMA_MUST_USE norma_status norma_labels_read_h5_root(const norma_h5_input *input, const char *path,
                                                      int64_t n_images, int64_t n_items,
                                                      norma_labels *labels);

#endif
