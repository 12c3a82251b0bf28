#ifndef NORMA_MPI_SYSTEM_ASSEMBLE_H
#define NORMA_MPI_SYSTEM_ASSEMBLE_H
/*
 * The system of a layer, straight in its block-cyclic place: every rank computes the weights of its
 * own columns and from them its own entries. No communication, and the same bits on any grid.
 */
#include "mpi/linalg/dmat.h"
#include "src/base/status.h"
#include "src/features/width_rule.h"
#include "src/random/tensor.h"

/* Fills `matrix` with the leading rows and columns of the rule's system: n_system rows include the
 * closing one, n_rows are M. Collective over the grid's communicator (one agreement); uses OpenMP.
 * w1 [.][c0 |K1|], w2 [.][c2 |K2|] must have at least as many features
 * as it has columns. */
NORMA_MUST_USE norma_status norma_assemble_system(const norma_width_rule *rule,
                                                  const norma_tensor *w1, const norma_tensor *w2,
                                                  norma_dmat *matrix);

/* The same in single precision, entry (r, J) multiplied by row_scale[r] column_scale[J] (both
 * [n_system]) before it is rounded; nothing but a block of a column is held in double. */
NORMA_MUST_USE norma_status norma_assemble_system_single(
    const norma_width_rule *rule, const norma_tensor *w1, const norma_tensor *w2,
    const double *row_scale, const double *column_scale, norma_dmat *matrix);

/* Bytes that the assembly takes beside the matrix, in blocks of `block` rows, on a rank with
 * n_threads threads. Local, pure. */
double norma_assemble_bytes_local(const norma_khatri_rao_shape *shape, int64_t block, bool single,
                                  int n_threads);

#endif
