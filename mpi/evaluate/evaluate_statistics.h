#ifndef NORMA_MPI_EVALUATE_EVALUATE_STATISTICS_H
#define NORMA_MPI_EVALUATE_EVALUATE_STATISTICS_H
/* The statistics that the batch norms of a source pair measure on the images of an evaluation. */
#include "mpi/evaluate/evaluate.h"

/* Mean and variance (1/N) over all images and positions:
 *     mean1, variance1[c1] of u_J = W1[J] * x;
 *     mean2, variance2[c2] of (kernel_i * x), kernel [c2][c0][|K|] the composite kernel K.
 * shape and w1 describe the pair on target layer number `layer`, x is the target's own input of
 * that layer. Equal on all ranks and for every number of ranks. NORMA_CONFIG without images.
 * Collective. */
NORMA_MUST_USE norma_status norma_evaluate_statistics(norma_evaluate *evaluate, int64_t layer,
                                                      const norma_source_shape *shape,
                                                      const norma_tensor *w1, const double *kernel,
                                                      double *mean1, double *variance1,
                                                      double *mean2, double *variance2);

/* Bytes that it takes on a rank beyond what the evaluation has. Local. */
double norma_evaluate_statistics_bytes_local(const norma_source_shape *shape, int n_threads);

#endif
