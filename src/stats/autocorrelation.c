#include "src/stats/autocorrelation.h"

#include <math.h>
#include <stddef.h>

/* Sokal's factor: the tail cut off is about exp(-6). */
#define WINDOW_FACTOR 6

static double mean_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static double covariance(const double *x, int64_t n, double mean, int64_t lag)
{
    double sum = 0;
    for (int64_t i = 0; i + lag < n; i++)
        sum += (x[i] - mean) * (x[i + lag] - mean);
    return sum / (double)n;
}

double norma_autocorrelation_covariance(const double *x, int64_t n, int64_t lag)
{
    return lag < n ? covariance(x, n, mean_of(x, n), lag) : 0;
}

double norma_autocorrelation_at(const double *x, int64_t n, int64_t lag)
{
    double mean = mean_of(x, n), variance = covariance(x, n, mean, 0);
    return variance > 0 ? covariance(x, n, mean, lag) / variance : NAN;
}

double norma_autocorrelation_time(const double *x, int64_t n, int64_t *window)
{
    double mean = n > 1 ? mean_of(x, n) : NAN;
    double variance = n > 1 ? covariance(x, n, mean, 0) : 0;
    double tau = 1;
    if (window)
        *window = 0;
    if (!(variance > 0))
        return NAN;
    for (int64_t w = 1; w <= n / 2; w++) {
        tau += 2 * covariance(x, n, mean, w) / variance;
        if ((double)w >= WINDOW_FACTOR * tau) {
            if (window)
                *window = w;
            return tau > 1 / (double)n ? tau : 1 / (double)n;
        }
    }
    return NAN;
}
