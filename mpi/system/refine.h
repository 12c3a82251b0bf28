#ifndef NORMA_MPI_SYSTEM_REFINE_H
#define NORMA_MPI_SYSTEM_REFINE_H
/*
 * Solutions of a layer's square system to double precision from factors in single precision.
 *
 * Residuals come from the structured product, in double; the matrix itself is never there. Each
 * step of refinement multiplies the error by about (unit roundoff of the factors) x (condition
 * number). Where that does not halve it, GMRES takes over, preconditioned from the right by the
 * factors, with vectors and sums in double (Carson and Higham's GMRES-IR): it needs about as many
 * iterations as singular values are lost in the factors. A solution is accepted for its backward
 * error, ||b - S x|| against u ||S|| ||x||.
 */
#include "mpi/system/lu.h"
#include "mpi/system/system.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_refine norma_refine;

/* system and lu are borrowed and must outlive *out, which the caller owns; sigma_max is the largest
 * singular value of the system. Collective over system->comm. */
NORMA_MUST_USE norma_status norma_refine_create(const norma_system *system, norma_lu *lu,
                                                double sigma_max, norma_refine **out);

/* x[n_system] = S^-1 b, or S^-T b, both replicated and different arrays. tolerance: 0 asks for all
 * that double precision gives, more for a relative error of x of about that. *iterations, the steps
 * of refinement and of GMRES, is added to. Collective. NORMA_NUMERIC when the backward error stays
 * large. */
NORMA_MUST_USE norma_status norma_refine_solve(norma_refine *refine, bool transpose,
                                               double tolerance, const double *b, double *x,
                                               int64_t *iterations);

/* Bytes that norma_refine_create allocates on a rank with all features, the most. Local, pure. */
double norma_refine_bytes_local(int64_t n_system);

/* Frees and nulls; NULL is allowed. Local. */
void norma_refine_destroy_local(norma_refine **refine);

#endif
