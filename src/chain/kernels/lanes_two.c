/* Two replicas: one vector of two doubles. */
#include "src/chain/kernels/vector_pair.h"

#define LANES_COUNT 2

#include "src/chain/kernels/lanes_loops.h"

const norma_lanes_kernels norma_lanes_kernels_two = LANES_TABLE;
