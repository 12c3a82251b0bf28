#ifndef NORMA_IO_CHECKPOINT_CHECKPOINT_INTERNAL_H
#define NORMA_IO_CHECKPOINT_CHECKPOINT_INTERNAL_H
/* Internal to io/checkpoint. */
#include "io/checkpoint/checkpoint.h"

#include <limits.h>

/* Entries of a journal with this sequence number are pieces; those of finished tasks have 0. */
#define NORMA_CHECKPOINT_PIECE 1

struct norma_checkpoint {
    MPI_Comm comm; /* owned duplicate */
    int rank;
    char *folder; /* owned */
    bool resumed;
    uint64_t key;           /* of the configuration: seeds every checksum */
    int journal;            /* descriptor, -1 before the first append */
    int64_t task, sequence; /* of the last state saved or loaded, task -1: none */
};

/* path = the folder, a slash, and the name that `format` makes of `number` and `end`. NORMA_CONFIG
 * when it is too long. */
NORMA_MUST_USE norma_status norma_checkpoint_path_local(const char *folder, char path[PATH_MAX],
                                                        const char *format, long long number,
                                                        const char *end);

#endif
