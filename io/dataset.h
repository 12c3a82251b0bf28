#ifndef NORMA_IO_DATASET_H
#define NORMA_IO_DATASET_H
/* Data sets of images: IDX files (plain or gzip), as Fashion-MNIST comes. */
#include "src/network/images.h"

#include <mpi.h>
#include <stdint.h>

typedef struct norma_dataset norma_dataset;

/* Reads the first n_images test images and their labels. `name` is
 *   "fashion-mnist"  found in $NORMA_DATA or where Debian's dataset-fashion-mnist puts it;
 *   a folder         with t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, .gz or not;
 *   a file           of images (IDX, ubyte, 3 axes); its labels are taken from beside it when the
 *                    name with "labels-idx1" for "images-idx3" exists.
 * Each file is read to its end and checked (magic number, extents, length, gzip checksum).
 * Held once a node. NORMA_CONFIG for anything else. Collective over comm; caller owns *out. */
NORMA_MUST_USE norma_status norma_dataset_read(MPI_Comm comm, const char *name, int64_t n_images,
                                               norma_dataset **out);

/* The images; borrowed from the data set, equal on all ranks. Local. */
const norma_images *norma_dataset_images_local(const norma_dataset *dataset);

/* The path of the image file; borrowed. Local. */
const char *norma_dataset_path_local(const norma_dataset *dataset);

/* Collective; nulls; NULL is allowed. */
void norma_dataset_destroy(norma_dataset **dataset);

#endif
