#ifndef NORMA_MPI_SYSTEM_LU_H
#define NORMA_MPI_SYSTEM_LU_H
/*
 * LU factors (mpi/linalg/factor.h) of a layer's system, block-cyclic over a process grid. The
 * solver that refines with them is norma_solve_lu (mpi/system/system.h).
 */
#include "mpi/linalg/grid.h"
#include "mpi/system/system.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_lu norma_lu;

/* Assembles the square system of system->product (n_system features) and factors it, in double or
 * in single precision; the latter never holds it in double, and scales it
 * (mpi/system/single_scale.h). Collective over system->comm. Caller owns *out. The seconds of both
 * stages are added to *seconds_assembly and *seconds_factor. NORMA_NUMERIC when a pivot is exactly
 * zero; other singular systems are found by their condition number only. */
NORMA_MUST_USE norma_status norma_lu_create(const norma_system *system, bool single,
                                            double *seconds_assembly, double *seconds_factor,
                                            norma_lu **out);

/* x[n_system] = S^-1 b, or S^-T b; both on all ranks, and they may be the same array; as good as
 * the precision of the factors. Collective.
 */
void norma_lu_solve(norma_lu *lu, bool transpose, const double *b, double *x);

/* Bytes that the factors take on the rank that holds most, assembly included. Local. */
double norma_lu_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_system, int64_t block,
                            norma_grid_shape grid, bool single, int n_threads);

/* The grid that n_ranks ranks use for n_system equations. Local. */
norma_grid_shape norma_lu_grid_local(int64_t n_system, int64_t block, int n_ranks);

/* Frees and nulls; NULL is allowed. Collective. */
void norma_lu_destroy(norma_lu **lu);

#endif
