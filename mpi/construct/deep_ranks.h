#ifndef NORMA_MPI_CONSTRUCT_DEEP_RANKS_H
#define NORMA_MPI_CONSTRUCT_DEEP_RANKS_H
/*
 * The linear algebra of a search for the scales of a deep source (src/construct/deep_engine.h) by
 * ranks together, with their threads. A step of Levenberg-Marquardt solves
 *     min |residual - J step|^2 + damping^2 |step|^2
 * by conjugate gradients for least squares, whose products with J go over the layers. Their
 * preconditioner is J'J + damping^2 I with a ridge of rounding size, assembled block-cyclic without
 * communication and factored (mpi/linalg/factor.h). It leaves one to a few iterations, and what
 * J'J loses of J's digits is lost by the preconditioner alone. Rank and condition are those of all
 * singular values (mpi/values/singular.h).
 */
#include "src/construct/deep_engine.h"

#include <mpi.h>

/* An engine for `deep`, equal on all ranks. Collective over comm; deep and comm are borrowed.
 * NORMA_LIMIT beyond 32-bit counts. The caller owns *engine. */
NORMA_MUST_USE norma_status norma_deep_ranks_create(MPI_Comm comm, norma_deep *deep,
                                                    norma_deep_engine *engine);

/* Collective over its communicator; one that was not created is allowed. */
void norma_deep_ranks_destroy(norma_deep_engine *engine);

/* Bytes that source and search take on the rank that holds most. Local, pure. */
double norma_deep_ranks_bytes_local(const norma_deep_shape *shape, int n_ranks, int n_threads);

/* Flops of a step, over all ranks; those of rank and condition together. Local, pure. */
double norma_deep_ranks_step_flops_local(const norma_deep_shape *shape);
double norma_deep_ranks_values_flops_local(const norma_deep_shape *shape);

/* NORMA_LIMIT, with the number of ranks that fits, where n_ranks hold too much each for libraries
 * that count in 32 bits. Local, pure. */
NORMA_MUST_USE norma_status norma_deep_ranks_check_local(const norma_deep_shape *shape,
                                                         int n_ranks);

#endif
