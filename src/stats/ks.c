#include "src/stats/ks.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double norma_ks_distance(double *x, int64_t n, double (*cdf)(double value, const void *context),
                         const void *context)
{
    double distance = 0;
    qsort(x, (size_t)n, sizeof *x, compare);
    for (int64_t i = 0; i < n; i++) {
        double f = cdf(x[i], context);
        distance = fmax(distance, fabs(f - (double)i / (double)n));
        distance = fmax(distance, fabs(f - (double)(i + 1) / (double)n));
    }
    return distance;
}

double norma_ks_distance_two(double *x, int64_t n, double *y, int64_t m)
{
    double distance = 0;
    int64_t i = 0, j = 0;
    qsort(x, (size_t)n, sizeof *x, compare);
    qsort(y, (size_t)m, sizeof *y, compare);
    while (i < n && j < m) {
        double value = x[i] < y[j] ? x[i] : y[j];
        while (i < n && x[i] == value)
            i++;
        while (j < m && y[j] == value)
            j++;
        distance = fmax(distance, fabs((double)i / (double)n - (double)j / (double)m));
    }
    return distance;
}

double norma_ks_probability(double distance, double n)
{
    double root = sqrt(n), lambda = (root + 0.12 + 0.11 / root) * distance, sum = 0;
    if (lambda < 0.2)
        return 1; /* the series alternates too slowly; the value is 1 to 12 digits */
    for (int k = 1; k <= 100; k++)
        sum += (k % 2 ? 2 : -2) * exp(-2 * lambda * lambda * k * k);
    return sum < 0 ? 0 : sum > 1 ? 1 : sum;
}
