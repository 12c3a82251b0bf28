/* mpi/linalg/factor in single precision. */
#define REAL float
#define TYPED(name) name##_single
#define BLAS(name) cblas_s##name
#define BLAS_MAX_INDEX cblas_isamax
#define LAPACK_FACTOR sgetrf_
#define MPI_REAL_TYPE MPI_FLOAT
#define ELEMENTS(matrix) ((matrix)->single)
#define ABSOLUTE fabsf
#define SMALLEST FLT_MIN
#include "mpi/linalg/factor_body.h"
