/* Four replicas: one vector of AVX2. */
#include "src/chain/kernels/vector_avx2.h"

#define LANES_COUNT 4

#include "src/chain/kernels/lanes_loops.h"

const norma_lanes_kernels norma_lanes_kernels_four = LANES_TABLE;
