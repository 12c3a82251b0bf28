#ifndef NORMA_MPI_SYSTEM_SVD_H
#define NORMA_MPI_SYSTEM_SVD_H
/*
 * The singular value decomposition S = U diag(sigma) V' of a layer's system, U and V block-cyclic
 * over a process grid, for the solvers that apply it (mpi/system/system.h).
 */
#include "mpi/system/system.h"
#include "src/base/status.h"

#include <stdint.h>

typedef struct norma_svd norma_svd;

/* Assembles and decomposes the system. Fills numerical_rank (singular values at or below
 * max(equations, features) 2 u sigma_max count as zero; fewer than all are said in the log),
 * sigma_max, sigma_min, both condition numbers, the grid; adds to seconds and seconds_assembly.
 * solution->solver is named in messages. Collective over system->comm. Caller owns *out; system
 * must outlive it. NORMA_LIMIT beyond 32-bit counts. Where all of S is zero the
 * rank is 0 and condition numbers are NaN. */
NORMA_MUST_USE norma_status norma_svd_create(const norma_system *system,
                                             norma_layer_solution *solution, norma_svd **out);

/* The numerical rank; the number k of singular values; these, largest first, borrowed. Local. */
int64_t norma_svd_rank_local(const norma_svd *svd);
int64_t norma_svd_n_values_local(const norma_svd *svd);
const double *norma_svd_values_local(const norma_svd *svd);

/* out[k] = U' b[equations]; out[equations] = U along[k]; on all ranks. Collective. */
void norma_svd_project(const norma_svd *svd, const double *b, double *out);
void norma_svd_expand(const norma_svd *svd, const double *along, double *out);

/* x[features] = V diag(sigma)^-1 U' b over the singular values that are not zero, on all ranks;
 * context is the norma_svd (a norma_dense_inverse). Collective. */
void norma_svd_apply_inverse(void *context, const double *b, double *x);

/* sigma_max, sigma_min and condition number of M, where that is not all of the system. Frees the
 * vectors before: only the values may be used after it. Collective. */
NORMA_MUST_USE norma_status norma_svd_measure_rows(norma_svd *svd, norma_layer_solution *solution);

/* Bytes of values and vectors beside the matrices and the workspace of norma_dense_bytes_local, on
 * the rank that holds most. Local, pure. */
double norma_svd_bytes_local(int64_t n_system, int64_t n_features);

/* Frees and nulls; NULL is allowed. Collective. */
void norma_svd_destroy(norma_svd **svd);

#endif
