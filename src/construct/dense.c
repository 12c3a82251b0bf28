#include "src/construct/dense.h"

#include <cblas.h>
#include <string.h>

void norma_dense_run(const double *weight, const double *bias, int64_t n_out, int64_t n_in,
                     int64_t n, const double *x, double *y)
{
    for (int64_t s = 0; s < n; s++)
        if (bias)
            memcpy(y + s * n_out, bias, (size_t)n_out * sizeof *y);
        else
            memset(y + s * n_out, 0, (size_t)n_out * sizeof *y);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n_out, (int)n_in, 1, x,
                (int)n_in, weight, (int)n_in, 1, y, (int)n_out);
}
