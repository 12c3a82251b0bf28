/* Kernels for AVX-512. */
#define CHASE_TABLE norma_chase_kernels_avx512
#include "mpi/values/chase_loops.h"
