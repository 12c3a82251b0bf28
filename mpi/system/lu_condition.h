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

/* Fills sigma_max, sigma_min, both condition numbers and condition_error of *solution; sigma_system
 * is the largest singular value of S, error_system its relative error. With NORMA_CONDITION_FULL
 * the smallest singular values are good to about `tolerance`, the relative error of the inverse
 * (NORMA_CONDITION_SHARP where it is exact). Collective over system->comm. NORMA_NUMERIC for a
 * system that is singular to working precision. */
NORMA_MUST_USE norma_status norma_lu_condition(const norma_system *system, norma_lu_inverse *invert,
                                               void *context, double tolerance, double sigma_system,
                                               double error_system, norma_layer_solution *solution);

/* The singular values, condition number and its error of M, which is S without its last row, from
 * the inverse of the system: invert gives (S S')^-1 times a vector. S has full row rank; NaN where
 * M has no rows. Collective over system->comm. */
NORMA_MUST_USE norma_status norma_lu_condition_rows(const norma_system *system,
                                                    norma_condition_operator invert, void *context,
                                                    double tolerance,
                                                    norma_layer_solution *solution);

#endif
