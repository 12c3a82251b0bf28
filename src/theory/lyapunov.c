#include "src/theory/lyapunov.h"

#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>

#define LN2 0.69314718055994530942

double norma_lyapunov_gaussian(int64_t d, int64_t k, double sigma)
{
    if (k < 1 || k > d)
        return NAN;
    return 0.5 * (LN2 + gsl_sf_psi(0.5 * (double)(d - k + 1))) + log(sigma);
}

double norma_lyapunov_residual(int64_t d, double g)
{
    const double rate = 0.5 / (g * g);
    const double width = 9 * sqrt(rate) + 60;
    double sum = 0, weight = 0;
    const int64_t first = rate > width ? (int64_t)(rate - width) : 0;
    const int64_t last = (int64_t)(rate + width);
    for (int64_t i = first; i <= last; i++) {
        double j = (double)i, p = exp(j * log(rate) - rate - gsl_sf_lngamma(j + 1));
        sum += p * gsl_sf_psi(0.5 * (double)d + j);
        weight += p;
    }
    return log(g) + 0.5 * (LN2 + sum / weight);
}
