#ifndef NORMA_IO_CONFIG_CONFIG_TEXT_H
#define NORMA_IO_CONFIG_CONFIG_TEXT_H
/* The text of a small input file, read once and given to every rank. */
#include "src/base/status.h"

#include <mpi.h>
#include <stdint.h>

/* Largest configuration file, bytes. */
#define NORMA_CONFIG_LARGEST_FILE ((int64_t)16 << 20)

/* Reads the file or pipe `path`, standard input where it is "-", once, on rank 0, and broadcasts
 * its bytes: *text (owned by the caller,
 * freed with norma_mem_free) holds *length bytes, any among them, and a closing zero. `path` counts
 * on rank 0 only. Collective over comm. NORMA_CONFIG when it cannot be read, is a directory,
 * a pipe without text, or larger than NORMA_CONFIG_LARGEST_FILE. */
NORMA_MUST_USE norma_status norma_config_text_read(MPI_Comm comm, const char *path, char **text,
                                                   int64_t *length);

#endif
