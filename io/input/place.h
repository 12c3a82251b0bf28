#ifndef NORMA_IO_INPUT_PLACE_H
#define NORMA_IO_INPUT_PLACE_H
/* FILE:PATH, a dataset of an HDF5 file. */
#include "src/base/status.h"

/* Cuts `where` into *file and *inside, which is NULL where it names a file alone. It is cut at the
 * first colon that leaves an existing file, so that both parts may hold colons
 * ("net.h5:/kernel:0"); where no file exists, at the last one. The caller owns *file
 * (norma_mem_free), in which *inside lies. Touches the file system: rank 0 only. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_place_split_root(const char *where, char **file,
                                                   const char **inside);

#endif
