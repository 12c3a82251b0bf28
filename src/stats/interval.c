#include "src/stats/interval.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double norma_interval_student(double level, double dof)
{
    return gsl_cdf_tdist_Pinv(0.5 + 0.5 * level, dof);
}

void norma_interval_mean(const double *x, int64_t n, double level, double *mean, double *half_width)
{
    double sum = 0, squares = 0, rest = 0;
    *mean = *half_width = NAN;
    if (n < 1)
        return;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    if (n < 2)
        return;
    for (int64_t i = 0; i < n; i++) {
        double deviation = x[i] - *mean;
        squares += deviation * deviation;
        rest += deviation;
    }
    /* The rounding of the mean is taken back out of the sum of squares. */
    double variance = (squares - rest * rest / (double)n) / (double)(n - 1);
    *half_width = norma_interval_student(level, (double)(n - 1)) *
                  sqrt((variance > 0 || isnan(variance) ? variance : 0) / (double)n);
}

void norma_interval_wilson(int64_t n_found, int64_t n, double level, double *low, double *high)
{
    double z = gsl_cdf_ugaussian_Pinv(0.5 + 0.5 * level);
    double trials = (double)n;
    double share = (double)n_found / trials;
    double middle = (share + z * z / (2 * trials)) / (1 + z * z / trials);
    double half = z / (1 + z * z / trials) *
                  sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials));
    *low = n_found == 0 ? 0 : middle - half;
    *high = n_found == n ? 1 : middle + half;
}
