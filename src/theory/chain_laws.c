#include "src/theory/chain_laws.h"

#include <math.h>

static double dimension(int64_t n, bool centered)
{
    return (double)(centered ? n - 1 : n);
}

double norma_chain_laws_mean_gap2(int64_t d, int64_t n, bool centered)
{
    double m = dimension(n, centered);
    return (m - 1) * (m + 2) * (m + 2) / (4 * m * (m + 1) * (double)d);
}

double norma_chain_laws_gram_correlation(int64_t n, bool centered)
{
    double m = dimension(n, centered);
    return m / (m + 2);
}

double norma_chain_laws_gap2_correlation(int64_t n, bool centered)
{
    double a = norma_chain_laws_gram_correlation(n, centered);
    return a * a;
}

double norma_chain_laws_gap_bound(int64_t d, int64_t n, double alpha, int64_t layer)
{
    return 2 * pow(1 - 2 * alpha / 3, (double)layer) + 3 * (double)n / (alpha * sqrt((double)d));
}

double norma_chain_laws_isometry_bound(int64_t d, double initial_gap, double constant,
                                       int64_t layer)
{
    double width = (double)d;
    double k = constant * width * width * (1 + width * initial_gap);
    return initial_gap * exp(-(double)layer / k);
}

double norma_chain_laws_isometry_gain(int64_t d, const double *eigenvalues)
{
    double sum = 0, width = (double)d;
    for (int64_t k = 0; k < d; k++)
        sum += (eigenvalues[k] - 1) * (eigenvalues[k] - 1);
    return 1 / (1 - sum / (2 * width * width * (width + 2)));
}

double norma_chain_laws_fro2_bound(int64_t d, double alpha)
{
    return pow((double)d, 1.5) / (2 * sqrt(1 - alpha));
}

double norma_chain_laws_rank_bound(int64_t d, double alpha, double tau)
{
    return (1 - tau) * (1 - tau) * 2 * sqrt((1 - alpha) * (double)d);
}
