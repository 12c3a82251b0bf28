#ifndef NORMA_IO_CHECKPOINT_CHECKPOINT_FILE_H
#define NORMA_IO_CHECKPOINT_CHECKPOINT_FILE_H
/* Internal to io/checkpoint/checkpoint*.c: blocks of bytes with a header and a checksum, in files.
 * All local.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The header in front of the bytes of a block. */
typedef struct norma_block_header {
    uint64_t magic;
    int64_t task;
    int64_t sequence; /* of generations */
    int64_t size;     /* bytes that follow */
    uint64_t check;   /* of the fields above, the key and the bytes */
} norma_block_header;

/* FNV-1a over 64-bit words (and the bytes that are left), going on from `hash`. */
uint64_t norma_block_hash_local(uint64_t hash, const void *bytes, int64_t size);

/* The checksum that a block should have. */
uint64_t norma_block_check_local(uint64_t key, const norma_block_header *header, const void *bytes);

/* Writes a block at the descriptor's position; NORMA_IO naming `path`, errno in the message. */
NORMA_MUST_USE norma_status norma_block_write_local(int descriptor, const char *path, uint64_t key,
                                                    int64_t task, int64_t sequence,
                                                    const void *bytes, int64_t size);

/* Reads the block at the descriptor's position: *bytes (counted, the caller frees) = NULL when
 * there is none that is whole. */
NORMA_MUST_USE norma_status norma_block_read_local(int descriptor, const char *path, uint64_t key,
                                                   norma_block_header *header, void **bytes);

/* Syncs a folder, so that names in it are on the disk. NORMA_IO. */
NORMA_MUST_USE norma_status norma_block_sync_folder_local(const char *folder);

#endif
