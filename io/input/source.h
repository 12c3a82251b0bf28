#ifndef NORMA_IO_INPUT_SOURCE_H
#define NORMA_IO_INPUT_SOURCE_H
/* Source weights from an HDF5 file: /source/NNN/W1 [c1, c0, (kh, kw)] and W2 [c2, c1, (kh, kw)],
 * where channels are in G groups [c1, c0/G, kh, kw] and [c2, c1/G, kh, kw], NNN the number of the
 * target layer, and what batch norms behind them measured: means mu1 [c1] and
 * mu2 [c2], variances var1 and var2, biases b1 and b2 of the convolutions. */
#include "src/network/network.h"

#include <mpi.h>
#include <stdint.h>

/* The pair of one target layer. Arrays are feature-major, as NORMA_DISTRIBUTION_GIVEN takes them.
 */
typedef struct norma_source_pair {
    int64_t n_features, n_channels_in, n_channels_out; /* of all groups */
    int64_t groups;                                    /* of the target layer's channels */
    norma_kernel_shape k1, k2;
    const double *w1; /* [c1][c0 / groups][|K1|]; borrowed from the norma_source */
    const double *w2; /* [c1][c2 / groups][|K2|]; borrowed from the norma_source */
    /* Statistics of the batch norms and biases of the convolutions, [c1] and [c2]; borrowed from
     * the norma_source; NULL where they were not asked for. Biases that the file lacks are 0. */
    const double *mean1, *variance1, *bias1;
    const double *mean2, *variance2, *bias2;
} norma_source_pair;

typedef struct norma_source norma_source;

/* Reads the pairs of all layers of `network` for which needed[layer] is true (NULL: all), checks
 * extents against each other and against the layer (channels, K1 + K2 - 1 covers its kernel),
 * refuses skips (Ws) unless skips_used says that the caller takes them (io/input/skip.h). Means and
 * variances must be there if statistics_used; otherwise neither they nor biases are looked at. Held
 * once a node. Collective over comm; caller owns *out. */
NORMA_MUST_USE norma_status norma_source_read(MPI_Comm comm, const char *path,
                                              const norma_network *network, const bool *needed,
                                              bool skips_used, bool statistics_used,
                                              norma_source **out);

/* The pair of a layer that was read; borrowed. Local. */
const norma_source_pair *norma_source_pair_local(const norma_source *source, int64_t layer);

/* Collective; nulls; NULL is allowed. */
void norma_source_destroy(norma_source **source);

#endif
