#include "mpi/linalg/replicated.h"

#include <math.h>

double norma_replicated_dot_local(const double *a, const double *b, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t e = 0; e < n; e++)
        sum += a[e] * b[e];
    return sum;
}

double norma_replicated_norm_local(const double *a, int64_t n)
{
    return sqrt(norma_replicated_dot_local(a, a, n));
}

void norma_replicated_add_local(double factor, const double *from, double *to, int64_t n)
{
    for (int64_t e = 0; e < n; e++)
        to[e] += factor * from[e];
}

void norma_replicated_scale_local(double factor, double *to, int64_t n)
{
    for (int64_t e = 0; e < n; e++)
        to[e] *= factor;
}
