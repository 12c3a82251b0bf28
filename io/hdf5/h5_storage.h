#ifndef NORMA_IO_HDF5_H5_STORAGE_H
#define NORMA_IO_HDF5_H5_STORAGE_H
/*
 * Is everything that a dataset declares really stored? HDF5 reads zeros where it finds nothing:
 * chunks never written, source files of a virtual dataset that are gone or shorter, external raw
 * files that are gone or cut short.
 */
#include "src/base/status.h"

#include <hdf5.h>
#include <stdint.h>

/* Opens dataset `path` of an open file so that its external raw files are found beside that file as
 * well as in the working folder; negative when it cannot be opened. Local; the caller closes it. */
hid_t norma_h5_storage_open_local(hid_t file, const char *path);

/* NORMA_CONFIG, naming `file`, `path` and what is missing, unless every element of the first
 * n_first items of axis 0 is stored and every filter of the dataset is available. Of virtual
 * datasets all items count. Local. */
NORMA_MUST_USE norma_status norma_h5_storage_check_local(hid_t dataset, const char *file,
                                                         const char *path, int64_t n_first);

#endif
