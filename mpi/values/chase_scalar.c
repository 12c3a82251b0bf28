/* Kernels for any processor. */
#define CHASE_TABLE norma_chase_kernels_scalar
#include "mpi/values/chase_loops.h"
