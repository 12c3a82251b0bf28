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
    char *final;  /* until the folder takes the place of FILE.ckpt its name, else NULL; owned */
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

/* Removes our files and the folder; with `spare_state` only if there is no result and no state.
 * Returns whether the folder is gone. On rank 0. */
bool norma_checkpoint_remove_root(const char *folder, bool spare_state);

/* Makes the folder with a configuration. On rank 0. */
NORMA_MUST_USE norma_status norma_checkpoint_make_root(const char *folder,
                                                       const char *configuration);

/* The key of all checksums of a configuration. Local. */
uint64_t norma_checkpoint_key_local(const char *configuration);

/* Copies what the folder holds into a new one, c->folder with ".grown" behind it, which has the
 * given configuration, and goes on with that one; c->final is the old one. On rank 0. */
NORMA_MUST_USE norma_status norma_checkpoint_grow_root(norma_checkpoint *c,
                                                       const norma_checkpoint_growth *growth,
                                                       const char *configuration);

/* Puts the new folder in the place of the old one. Collective. */
NORMA_MUST_USE norma_status norma_checkpoint_commit(norma_checkpoint *c);

/* norma_checkpoint_list on rank 0 alone. */
NORMA_MUST_USE norma_status norma_checkpoint_list_root(const norma_checkpoint *c, int64_t **tasks,
                                                       int64_t *n);

#endif
