/* Kernels for AVX2 and FMA. */
#define CHASE_TABLE norma_chase_kernels_avx2
#include "mpi/values/chase_loops.h"
