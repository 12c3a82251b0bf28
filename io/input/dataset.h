#ifndef NORMA_IO_INPUT_DATASET_H
#define NORMA_IO_INPUT_DATASET_H
/* Data sets of images: IDX files, as Fashion-MNIST comes, CIFAR's binary files, both plain or gzip,
 * and datasets of HDF5 files. */
#include "src/base/names.h"
#include "src/network/images.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_dataset norma_dataset;

/* The data sets that have a name. */
extern const norma_names norma_dataset_names;

/* Is `name` one of them, letter by letter? Local. */
bool norma_dataset_is_named_local(const char *name);

/* Reads the first n_images test images and their labels. `name` is
 *   "fashion-mnist"  found in $NORMA_DATA or where Debian's dataset-fashion-mnist puts it;
 *   "cifar-10", "cifar-100"  test_batch.bin or test.bin in $NORMA_DATA, or in the folder of the
 *                    binary archives (cifar-10-batches-bin, cifar-100-binary) there;
 *   a folder         with t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, .gz or not, dotted
 *                    (t10k-images.idx3-ubyte) or QMNIST's, or with test_batch.bin (CIFAR-10) or
 * test.bin (CIFAR-100); a file           of images (IDX of any type, 3 axes, or 4 with channels),
 * with its labels beside it (io/input/labels.h); or NAME.bin, .bin.gz: CIFAR, whose size tells
 *                    which;
 *   "FILE:PATH"      a dataset [n, channels, height, width], [n, height, width] or [n, inputs] of
 * an HDF5 file, of any real type; labels from a dataset beside it. Images that are stored as
 * unsigned bytes are pixels, all others values. IDX and CIFAR files
 * are read to their end and checked (magic number, extents, length, labels, gzip checksum). Held
 * once a node. NORMA_CONFIG for anything else. Collective over comm; caller owns *out. */
NORMA_MUST_USE norma_status norma_dataset_read(MPI_Comm comm, const char *name, int64_t n_images,
                                               norma_dataset **out);

/* The same for those who need no labels: none are looked for, and wrong ones do not matter. */
NORMA_MUST_USE norma_status norma_dataset_read_images(MPI_Comm comm, const char *name,
                                                      int64_t n_images, norma_dataset **out);

/* The images; borrowed from the data set, equal on all ranks. Local. */
const norma_images *norma_dataset_images_local(const norma_dataset *dataset);

/* How its pixels are stored: "uint8", "float32"; borrowed. Local. */
const char *norma_dataset_type_local(const norma_dataset *dataset);

/* The path of the image file; borrowed. Local. */
const char *norma_dataset_path_local(const norma_dataset *dataset);

/* Collective; nulls; NULL is allowed. */
void norma_dataset_destroy(norma_dataset **dataset);

#endif
