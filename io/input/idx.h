#ifndef NORMA_IO_INPUT_IDX_H
#define NORMA_IO_INPUT_IDX_H
/* IDX files of unsigned bytes, plain or gzip: 00 00 08 <axes>, then one big-endian 32-bit extent an
 * axis, then the bytes, row-major. Rank 0 only. */
#include "src/base/status.h"

#include <stdint.h>

#define NORMA_IDX_MAX_AXES 3

/* Reads the first n_items (of extent 0) of a file with n_axes axes; extents[n_axes] are those the
 * file announces. The file is read to its end, so that a truncated, damaged or longer one is
 * refused whatever n_items is; NORMA_CONFIG also when it holds fewer than n_items. The caller owns
 * *out[n_items][...]. */
NORMA_MUST_USE norma_status norma_idx_read_root(const char *path, int n_axes, int64_t n_items,
                                                int64_t *extents, uint8_t **out);

#endif
