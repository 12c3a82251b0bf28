#ifndef NORMA_IO_MERGE_INPUTS_INTERNAL_H
#define NORMA_IO_MERGE_INPUTS_INTERNAL_H
/* The HDF5 side of the inputs, for io/merge alone. */
#include "io/merge/inputs.h"

#include <hdf5.h>

/* *file = the open file, valid until the next call of this function. It belongs to the inputs. */
NORMA_MUST_USE norma_status norma_merge_inputs_file_local(norma_merge_inputs *inputs, int64_t input,
                                                          hid_t *file);

/* *group = a group of a file, *found = false where it has none. The caller closes it with H5Gclose
 * before the next call of norma_merge_inputs_file_local. */
NORMA_MUST_USE norma_status norma_merge_inputs_group_local(norma_merge_inputs *inputs,
                                                           int64_t input, const char *path,
                                                           hid_t *group, bool *found);

#endif
