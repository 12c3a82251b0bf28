#include "src/gradient/rates.h"

#include <math.h>
#include <stdbool.h>

enum { LOCAL_LAYERS = 10 };

double norma_gradient_local_rate(const double *log_norm, int64_t depth, int64_t layer)
{
    if (layer < 0 || layer + LOCAL_LAYERS >= depth)
        return NAN;
    double rate = (log_norm[layer] - log_norm[layer + LOCAL_LAYERS]) / LOCAL_LAYERS;
    return isfinite(rate) ? rate : NAN;
}

/* Least squares of y against x (NULL: 0, 1, ..); with logs of their logarithms. */
static void fit(int64_t n, const double *x, const double *y, bool logs, double *at_zero,
                double *slope)
{
    double count = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++) {
            const double at = x ? x[i] : (double)i, a = logs ? log(at) : at;
            const double b = logs ? log(y[i]) : y[i];
            if (!isfinite(a) || !isfinite(b))
                continue;
            count += pass == 0;
            mean_x += pass == 0 ? a : 0;
            mean_y += pass == 0 ? b : 0;
            xx += pass == 0 ? 0 : (a - mean_x) * (a - mean_x);
            xy += pass == 0 ? 0 : (a - mean_x) * (b - mean_y);
        }
        mean_x /= pass == 0 ? count : 1;
        mean_y /= pass == 0 ? count : 1;
    }
    *slope = xx > 0 ? xy / xx : NAN;
    *at_zero = mean_y - *slope * mean_x;
}

double norma_gradient_slope(int64_t n, const double *x, const double *y)
{
    double at_zero = 0, slope = 0;
    fit(n, x, y, false, &at_zero, &slope);
    return slope;
}

void norma_gradient_power_law(int64_t n, const double *x, const double *y, double *c1, double *c2)
{
    double at_zero = 0;
    fit(n, x, y, true, &at_zero, c2);
    *c1 = exp(at_zero);
}
