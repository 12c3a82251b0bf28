#ifndef NORMA_IO_HDF5_H5_VIRTUAL_H
#define NORMA_IO_HDF5_H5_VIRTUAL_H
/* Virtual datasets: parts of datasets of other files, put together. */
#include "src/base/status.h"

#include <hdf5.h>

/* NORMA_CONFIG, naming `file`, `path` and what is missing, unless the mappings cover the dataset
 * and every source file and dataset is there, large enough and whole itself. Source files are
 * searched where HDF5 does: in HDF5_VDS_PREFIX, beside the file, in the working folder. Local. */
NORMA_MUST_USE norma_status norma_h5_virtual_check_local(hid_t dataset, hid_t creation,
                                                         const char *file, const char *path);

#endif
