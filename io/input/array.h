#ifndef NORMA_IO_INPUT_ARRAY_H
#define NORMA_IO_INPUT_ARRAY_H
/* A numeric dataset of an input file, on all ranks. */
#include "io/hdf5/h5_input.h"

#include <mpi.h>

/* Reads dataset `name` of the HDF5 file `path`, which must have `rank` axes, as doubles: extents
 * and row-major values, equal on all ranks. *out is counted memory of the caller's. Errors are
 * those of io/hdf5/h5_input.h. Rank 0 alone touches the file. Collective over world. */
NORMA_MUST_USE norma_status norma_array_read(MPI_Comm world, const char *path, const char *name,
                                             int rank, int64_t extents[NORMA_H5_INPUT_MAX_RANK],
                                             double **out);

#endif
