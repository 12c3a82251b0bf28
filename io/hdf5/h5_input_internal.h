#ifndef NORMA_IO_HDF5_H5_INPUT_INTERNAL_H
#define NORMA_IO_HDF5_H5_INPUT_INTERNAL_H
/* Shared by the sources of io/hdf5. */
#include "io/hdf5/h5_input.h"
#include "io/result/h5.h"

struct norma_h5_input {
    hid_t file;
    char *name; /* owned */
};

/* Longest path inside a file that is looked at. */
#define NORMA_H5_PATH_LENGTH 512

/* The kind of an object; H5O_TYPE_UNKNOWN where there is none. */
H5O_type_t norma_h5_input_object_type_root(const norma_h5_input *input, const char *path);

/* The name of a type that cannot be read as numbers; NULL when it can. A constant. Local. */
const char *norma_h5_refused_type_local(hid_t type);

/* Writes "[2, 3]" into text[size]; returns text. Local. */
const char *norma_h5_format_extents_local(int rank, const int64_t *extents, char *text,
                                          size_t size);

/* The same for the index of element k of an array, row-major. Local. */
const char *norma_h5_format_index_local(int rank, const int64_t *extents, int64_t k, char *text,
                                        size_t size);

#endif
