#ifndef NORMA_IO_INPUT_GZ_H
#define NORMA_IO_INPUT_GZ_H
/* Files of bytes, plain or gzip, read from front to end. Rank 0 only; failures are NORMA_CONFIG and
 * name the file. */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

typedef struct norma_gz {
    const char *path; /* borrowed */
    gzFile gz;
    int64_t n_read; /* bytes so far, unpacked */
} norma_gz;

/* The caller closes the file with norma_gz_close_root. */
NORMA_MUST_USE norma_status norma_gz_open_root(const char *path, norma_gz *file);

/* The next n bytes into out[n], or nowhere when out is NULL; `what` they are, for the message when
 * the file ends within them. */
NORMA_MUST_USE norma_status norma_gz_read_root(norma_gz *file, int64_t n, const char *what,
                                               uint8_t *out);

/* Is there nothing more? A wrong gzip checksum is found here. */
NORMA_MUST_USE norma_status norma_gz_at_end_root(norma_gz *file, bool *at_end);

/* Closes the file whatever it returns; not NORMA_OK when its gzip data were cut off. */
NORMA_MUST_USE norma_status norma_gz_close_root(norma_gz *file);

/* Unpacked size of a whole file; damaged and cut ones are refused. */
NORMA_MUST_USE norma_status norma_gz_size_root(const char *path, int64_t *n_bytes);

#endif
