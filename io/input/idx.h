#ifndef NORMA_IO_INPUT_IDX_H
#define NORMA_IO_INPUT_IDX_H
/* IDX files, plain or gzip: 00 00 <type> <axes>, then one big-endian 32-bit extent an axis, then
 * the values, row-major and big-endian. Types: 08 unsigned byte, 09 byte, 0b int16, 0c int32, 0d
 * float32, 0e float64. Rank 0 only. */
#include "src/base/status.h"

#include <stdint.h>

#define NORMA_IDX_MAX_AXES 4

/* The contents of a file: unsigned bytes, or numbers of any other type. */
typedef struct norma_idx {
    int n_axes;
    int64_t extents[NORMA_IDX_MAX_AXES]; /* as the file announces them */
    int64_t n_items;                     /* of extent 0, those that were read */
    const char *type;                    /* "uint8", "float32", ...; a constant */
    uint8_t *bytes;                      /* [n_items][...]; owned by the caller; NULL: values */
    double *values;                      /* the same */
} norma_idx;

/* Reads the first n_items (of extent 0; 0: all) of a file with min_axes to max_axes axes. The file
 * is read to its end, so that a truncated, damaged or longer one is refused whatever n_items is;
 * NORMA_CONFIG also when it holds fewer than n_items, or a number that is not finite. */
NORMA_MUST_USE norma_status norma_idx_read_root(const char *path, int min_axes, int max_axes,
                                                int64_t n_items, norma_idx *out);

/* Frees what was read. */
void norma_idx_clear(norma_idx *idx);

#endif
