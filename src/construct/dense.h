#ifndef NORMA_CONSTRUCT_DENSE_H
#define NORMA_CONSTRUCT_DENSE_H
/* A linear map on a batch. */
#include <stdint.h>

/* y[n][n_out] = x[n][n_in] weight[n_out][n_in]' + bias[n_out]; bias may be NULL. Extents fit
 * BLAS's 32 bits. Local. */
void norma_dense_run(const double *weight, const double *bias, int64_t n_out, int64_t n_in,
                     int64_t n, const double *x, double *y);

#endif
