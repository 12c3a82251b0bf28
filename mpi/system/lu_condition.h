#ifndef NORMA_MPI_SYSTEM_LU_CONDITION_H
#define NORMA_MPI_SYSTEM_LU_CONDITION_H
/*
 * Singular values of a square system and of M within it, for solvers that can invert the system:
 * the largest by Lanczos on the structured product, the smallest by Lanczos on the inverse.
 */
#include "mpi/krylov/condition.h"
#include "mpi/system/system.h"
#include "src/base/status.h"

/* x[n_system] = S^-1 b, or S^-T b, both replicated; collective like its caller. */
typedef norma_status norma_lu_inverse(void *context, bool transpose, const double *b, double *x);

/* Fills sigma_max, sigma_min and both condition numbers of *solution; sigma_system is the largest
 * singular value of S. The smallest singular values are good to about `tolerance`, the relative
 * error of the inverse (NORMA_CONDITION_SHARP where it is exact). Collective over system->comm.
 * NORMA_NUMERIC for a system that is singular to working precision. */
NORMA_MUST_USE norma_status norma_lu_condition(const norma_system *system, norma_lu_inverse *invert,
                                               void *context, double tolerance, double sigma_system,
                                               norma_layer_solution *solution);

#endif
