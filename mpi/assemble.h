#ifndef NORMA_MPI_ASSEMBLE_H
#define NORMA_MPI_ASSEMBLE_H
/*
 * The system of a layer, straight in its block-cyclic place: every rank computes the weights of its
 * own columns and from them its own entries. No communication, and the same bits on any grid.
 */
#include "mpi/dmat.h"
#include "src/base/status.h"
#include "src/features/width_rule.h"
#include "src/random/tensor.h"

/* Fills `matrix` (n_system x n_system) with the leading n_system columns of the rule's system, its
 * closing row included. Collective over the grid's communicator (one agreement); uses OpenMP.
 * w1 [.][c0 |K1|], w2 [.][c2 |K2|] must have at least n_system features. */
NORMA_MUST_USE norma_status norma_assemble_system(const norma_width_rule *rule,
                                                  const norma_tensor *w1, const norma_tensor *w2,
                                                  norma_dmat *matrix);

/* Bytes that the assembly needs beside the matrix, on a rank with n_threads threads. Local. */
double norma_assemble_bytes_local(const norma_khatri_rao_shape *shape, int n_threads);

#endif
