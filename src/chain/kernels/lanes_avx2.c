/* AVX2 and FMA: two vectors of four replicas, and the kernels of one replica. */
#include "src/chain/kernels/vector_avx2.h"

#define LANES_COUNT 8

#include "src/chain/kernels/lanes_loops.h"
#include "src/chain/kernels/solo_loops.h"

const norma_lanes_kernels norma_lanes_kernels_avx2 = LANES_TABLE;
const norma_lanes_kernels norma_solo_kernels_avx2 = SOLO_TABLE;
