/* mpi/linalg/factor in double precision. */
#define REAL double
#define TYPED(name) name##_double
#define BLAS(name) cblas_d##name
#define BLAS_MAX_INDEX cblas_idamax
#define LAPACK_FACTOR dgetrf_
#define MPI_REAL_TYPE MPI_DOUBLE
#define ELEMENTS(matrix) ((matrix)->data)
#define ABSOLUTE fabs
#define SMALLEST DBL_MIN
#include "mpi/linalg/factor_body.h"
