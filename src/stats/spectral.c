#include "src/stats/spectral.h"

#include "src/stats/interval.h"
#include "src/stats/moments.h"

#include <math.h>
#include <stdbool.h>

static const double pi = 3.14159265358979323846;

/* The bounds of the distribution function at a point, by the rule of one probe. */
typedef struct knowledge {
    double value, low, high;
} knowledge;

/* Node j counted from the smallest. */
static double node(const double *nodes, int64_t n, int64_t j)
{
    return nodes[n - 1 - j];
}

/* Between the middles of the steps at two nodes the value is linear; it falls to 0 below the first
 * node, and rises to 1 above the last, as far as half of the distance to their neighbours. */
static double interpolate(const double *nodes, const double *weights, int64_t n, int64_t j,
                          double below, double s)
{
    double here = j < n ? below + node(weights, n, j) / 2 : 1;
    double before = j > 0 ? below - node(weights, n, j - 1) / 2 : 0;
    double left = j > 0 ? node(nodes, n, j - 1) : NAN;
    double right = j < n ? node(nodes, n, j) : NAN;
    if (n == 1)
        return j == 0 ? 0 : 1;
    if (j == 0)
        left = right - (node(nodes, n, 1) - right) / 2;
    if (j == n)
        right = left + (left - node(nodes, n, n - 2)) / 2;
    if (!(right > left))
        return here;
    double x = (s - left) / (right - left);
    return before + fmax(0, fmin(1, x)) * (here - before);
}

static knowledge look(const norma_spectral_rules *rules, int64_t probe, double s)
{
    int64_t n = rules->n_nodes[probe];
    const double *nodes = rules->nodes + probe * rules->n_steps;
    const double *weights = rules->weights + probe * rules->n_steps;
    bool exact = n < rules->n_steps;
    double below = 0; /* weights of the j nodes at or below s */
    int64_t j = 0;
    while (j < n && node(nodes, n, j) <= s)
        below += node(weights, n, j++);
    if (exact)
        return (knowledge){below, below, below};
    return (knowledge){interpolate(nodes, weights, n, j, below, s),
                       j > 0 ? below - node(weights, n, j - 1) : 0,
                       j < n ? below + node(weights, n, j) : 1};
}

static double half_width(const norma_moments *moments, double level)
{
    double n = (double)moments->count;
    return norma_interval_student(level, n - 1) * sqrt(norma_moments_variance(moments) / n);
}

void norma_spectral_cdf(const norma_spectral_rules *rules, double level, int64_t n_grid,
                        const double *grid, double *cdf, double *low, double *high)
{
    for (int64_t g = 0; g < n_grid; g++) {
        norma_moments values;
        norma_moments lows;
        norma_moments highs;
        norma_moments_init(&values);
        norma_moments_init(&lows);
        norma_moments_init(&highs);
        for (int64_t p = 0; p < rules->n_probes; p++) {
            knowledge known = look(rules, p, grid[g]);
            norma_moments_add(&values, known.value);
            norma_moments_add(&lows, known.low);
            norma_moments_add(&highs, known.high);
        }
        bool spread = rules->n_probes > 1;
        cdf[g] = fmax(0, fmin(1, values.mean));
        low[g] = spread ? fmax(0, lows.mean - half_width(&lows, level)) : NAN;
        high[g] = spread ? fmin(1, highs.mean + half_width(&highs, level)) : NAN;
    }
}

void norma_spectral_density(const norma_spectral_rules *rules, double width, int64_t n_grid,
                            const double *grid, double *density)
{
    double factor = 1 / (sqrt(2 * pi) * width * (double)rules->n_probes);
    for (int64_t g = 0; g < n_grid; g++) {
        double sum = 0;
        for (int64_t p = 0; p < rules->n_probes; p++)
            for (int64_t j = 0; j < rules->n_nodes[p]; j++) {
                double s = rules->nodes[p * rules->n_steps + j];
                double apart = (grid[g] - s) / width;
                double mirrored = (grid[g] + s) / width;
                sum += rules->weights[p * rules->n_steps + j] *
                       (exp(-apart * apart / 2) + exp(-mirrored * mirrored / 2));
            }
        density[g] = grid[g] < 0 ? 0 : factor * sum;
    }
}

void norma_spectral_moment(const norma_spectral_rules *rules, double power, double *mean,
                           double *standard_error)
{
    norma_moments moments;
    norma_moments_init(&moments);
    for (int64_t p = 0; p < rules->n_probes; p++) {
        double sum = 0;
        for (int64_t j = 0; j < rules->n_nodes[p]; j++)
            sum += rules->weights[p * rules->n_steps + j] *
                   pow(rules->nodes[p * rules->n_steps + j], power);
        norma_moments_add(&moments, sum);
    }
    *mean = moments.mean;
    *standard_error = sqrt(norma_moments_variance(&moments) / (double)rules->n_probes);
}
