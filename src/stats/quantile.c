#include "src/stats/quantile.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

double norma_quantile(double *x, int64_t n, double p)
{
    for (int64_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return NAN;
    if (n < 1)
        return NAN;
    qsort(x, (size_t)n, sizeof *x, compare);
    double place = p * (double)(n - 1);
    int64_t below = place < (double)(n - 1) ? (int64_t)place : n - 1;
    double rest = place - (double)below;
    if (rest == 0 || x[below] == x[below + 1])
        return x[below];
    return isinf(x[below + 1]) ? x[below + 1] : x[below] + rest * (x[below + 1] - x[below]);
}
