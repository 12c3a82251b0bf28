#ifndef NORMA_MPI_EVALUATE_MAPS_SHARE_H
#define NORMA_MPI_EVALUATE_MAPS_SHARE_H
/* Affine maps that one group of ranks found, for all ranks. */
#include "src/network/maps.h"

#include <mpi.h>

/* *maps, of n_features features and n_outputs outputs, is there on at least one rank and NULL on
 * the others; afterwards all have those of the lowest such rank. Bits are kept. Collective over
 * comm; each rank owns its *maps. */
NORMA_MUST_USE norma_status norma_maps_share(MPI_Comm comm, int64_t n_features, int64_t n_outputs,
                                             norma_maps **maps);

#endif
