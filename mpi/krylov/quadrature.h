#ifndef NORMA_MPI_KRYLOV_QUADRATURE_H
#define NORMA_MPI_KRYLOV_QUADRATURE_H
/*
 * Gauss quadrature of the distribution of singular values of M, by the Golub-Kahan process.
 *
 * From a random unit vector l of the shorter of both spaces (equations or features), k steps with
 * full reorthogonalization give a k x k bidiagonal matrix. Its singular values are nodes, the
 * squared first components of its left singular vectors weights, of a rule that is exact for all
 * even polynomials of degree below 4 k in the measure sum_i (l' u_i)^2 at sigma_i, u_i the singular
 * vectors of M; the mean over probes l is the distribution of singular values (mpi/krylov/product:
 * M is never formed).
 *
 * Basis vectors are distributed: of those over equations every rank keeps a slice.
 */
#include "mpi/krylov/product.h"
#include "src/base/rng.h"
#include "src/base/status.h"

#include <stdint.h>

typedef struct norma_quadrature norma_quadrature;

/* Room for probes of at most n_steps > 0 steps on a form of the product, which is borrowed. Caller
 * owns *out. Collective over the product's communicator. */
NORMA_MUST_USE norma_status norma_quadrature_create(norma_product *product, norma_product_form form,
                                                    int64_t n_steps, norma_quadrature **out);

/* One probe, drawn from the stream's normals: nodes and weights [n_steps], on all ranks, nodes
 * largest first, weights of sum 1; *n_nodes is below n_steps where the process has met all
 * directions of its start. Collective over the product's communicator. NORMA_NUMERIC where the
 * bidiagonal matrix's singular values do not converge. */
NORMA_MUST_USE norma_status norma_quadrature_run(norma_quadrature *quadrature, uint64_t seed,
                                                 const norma_rng_stream *stream, double *nodes,
                                                 double *weights, int64_t *n_nodes);

/* The dimension of the space that probes are drawn in: the fewer of equations and features. Local.
 */
int64_t norma_quadrature_dimension_local(const norma_quadrature *quadrature);

/* Bytes that norma_quadrature_create allocates on the rank that holds most. Local, pure. */
double norma_quadrature_bytes_local(int64_t n_rows, int64_t n_features, int64_t n_steps,
                                    int n_ranks);

/* Frees and nulls; NULL is allowed. Local. */
void norma_quadrature_destroy_local(norma_quadrature **quadrature);

#endif
