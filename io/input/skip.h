#ifndef NORMA_IO_INPUT_SKIP_H
#define NORMA_IO_INPUT_SKIP_H
/* Frozen weights of skip connections from an HDF5 file: /source/NNN/Ws [c2, c0] or [c2, c0, kh,
 * kw], NNN the number of the target layer, the kernel 1 x 1 or the layer's own. */
#include "src/network/network.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct norma_skips norma_skips;

/* Reads the skips of all layers of `network`. Held once a node. Collective over comm; caller owns
 * *out. NORMA_CONFIG, naming file and path, for a missing one or other extents. */
NORMA_MUST_USE norma_status norma_skips_read(MPI_Comm comm, const char *path,
                                             const norma_network *network, const bool *needed,
                                             norma_skips **out);

/* Ws of a layer, [c2][c0][taps], and whether its kernel is the layer's (otherwise 1 x 1); borrowed.
 * Local. */
const double *norma_skips_values_local(const norma_skips *skips, int64_t layer, bool *whole_kernel);

/* Collective; nulls; NULL is allowed. */
void norma_skips_destroy(norma_skips **skips);

#endif
