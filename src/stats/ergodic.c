#include "src/stats/ergodic.h"

#include "src/stats/autocorrelation.h"

#include <math.h>
#include <stddef.h>

/* Fewer batches than this say nothing about their own correlation. */
#define MIN_BATCHES 8

void norma_ergodic_init(norma_ergodic *ergodic)
{
    ergodic->length = 1;
    ergodic->n_batches = 0;
    norma_moments_init(&ergodic->current);
    for (int i = 0; i < NORMA_ERGODIC_BATCHES; i++)
        norma_moments_init(&ergodic->batch[i]);
}

static void merge_neighbours(norma_ergodic *ergodic)
{
    for (int64_t i = 0; i < NORMA_ERGODIC_BATCHES / 2; i++) {
        norma_moments pair = ergodic->batch[2 * i];
        norma_moments_merge(&pair, &ergodic->batch[2 * i + 1]);
        ergodic->batch[i] = pair;
    }
    for (int64_t i = NORMA_ERGODIC_BATCHES / 2; i < NORMA_ERGODIC_BATCHES; i++)
        norma_moments_init(&ergodic->batch[i]);
    ergodic->n_batches = NORMA_ERGODIC_BATCHES / 2;
    ergodic->length *= 2;
}

void norma_ergodic_add(norma_ergodic *ergodic, double x)
{
    norma_moments_add(&ergodic->current, x);
    if (ergodic->current.count < ergodic->length)
        return;
    if (ergodic->n_batches == NORMA_ERGODIC_BATCHES) {
        merge_neighbours(ergodic); /* the batch just filled is half of a longer one now */
        return;
    }
    ergodic->batch[ergodic->n_batches++] = ergodic->current;
    norma_moments_init(&ergodic->current);
}

/* All batches from `first` to `end`, merged in order. */
static norma_moments total(const norma_ergodic *ergodic, int64_t first, int64_t end)
{
    norma_moments sum;
    norma_moments_init(&sum);
    for (int64_t i = first; i < end; i++)
        norma_moments_merge(&sum, &ergodic->batch[i]);
    return sum;
}

/* Variance of the mean of z[n] from its autocovariance; NaN when that does not die out. */
static double variance_of_mean(const double *z, int64_t n)
{
    double variance = norma_autocorrelation_covariance(z, n, 0);
    if (n < MIN_BATCHES)
        return NAN;
    return variance == 0 ? 0 : variance * norma_autocorrelation_time(z, n, NULL) / (double)(n - 1);
}

/* tau from the batches first .. n_batches - 1, and the variance of their mean. */
static double time_from(const norma_ergodic *ergodic, int64_t first, double *variance)
{
    double z[NORMA_ERGODIC_BATCHES];
    int64_t n = ergodic->n_batches - first;
    norma_moments sum = total(ergodic, first, ergodic->n_batches);
    for (int64_t i = 0; i < n; i++)
        z[i] = ergodic->batch[first + i].mean;
    *variance = n > 0 ? variance_of_mean(z, n) : NAN;
    double spread = norma_moments_variance(&sum);
    return spread == 0 ? 1 : *variance * (double)sum.count / spread;
}

static int64_t first_batch(const norma_ergodic *ergodic, int64_t burn_in)
{
    if (burn_in < 0) {
        double variance = 0;
        double tau = time_from(ergodic, ergodic->n_batches / 2, &variance);
        burn_in = isnan(tau) ? ergodic->n_batches * ergodic->length / 2
                             : (int64_t)ceil(NORMA_ERGODIC_BURN_IN_TIMES * fmax(tau, 1));
    }
    int64_t first = burn_in / ergodic->length + (burn_in % ergodic->length != 0);
    return first < ergodic->n_batches ? first : ergodic->n_batches;
}

norma_ergodic_result norma_ergodic_get(const norma_ergodic *ergodic, int64_t burn_in)
{
    int64_t first = first_batch(ergodic, burn_in);
    norma_moments sum = total(ergodic, first, ergodic->n_batches);
    double variance = NAN;
    norma_ergodic_result result = {.mean = sum.count > 0 ? sum.mean : NAN,
                                   .count = sum.count,
                                   .burn_in = first * ergodic->length};
    result.tau = time_from(ergodic, first, &variance);
    result.standard_error = sqrt(variance);
    result.ess = (double)sum.count / result.tau;
    result.too_short = !(result.ess >= NORMA_ERGODIC_MIN_TIMES);
    return result;
}

void norma_ergodic_ratio(const norma_ergodic *y, const norma_ergodic *x, int64_t burn_in,
                         double *ratio, double *standard_error)
{
    double z[NORMA_ERGODIC_BATCHES];
    int64_t first = first_batch(y, burn_in), other = first_batch(x, burn_in);
    first = other > first ? other : first;
    int64_t n = y->n_batches - first;
    norma_moments top = total(y, first, y->n_batches), bottom = total(x, first, x->n_batches);
    *ratio = n > 0 ? top.mean / bottom.mean : NAN;
    for (int64_t i = 0; i < n; i++)
        z[i] = y->batch[first + i].mean - *ratio * x->batch[first + i].mean;
    *standard_error = n > 0 ? sqrt(variance_of_mean(z, n)) / fabs(bottom.mean) : NAN;
}

void norma_ergodic_halves(const norma_ergodic *ergodic, int64_t burn_in, norma_moments halves[2])
{
    int64_t first = first_batch(ergodic, burn_in), n = ergodic->n_batches - first;
    for (int half = 0; half < 2; half++) {
        int64_t begin = first + half * (n - n / 2);
        norma_moments_init(&halves[half]);
        if (n >= 4)
            halves[half] = total(ergodic, begin, begin + n / 2);
    }
}

/* Adds what one half says to the sums over all of them. */
static void add_half(const norma_moments *half, double share, norma_moments *means, double *within,
                     double *length)
{
    norma_moments_add(means, half->count > 0 ? half->mean : NAN);
    *within += norma_moments_variance(half) * share;
    *length += (double)half->count * share;
}

static double rhat(const norma_moments *means, double within, double length)
{
    double between = norma_moments_variance(means);
    if (within == 0)
        return between == 0 ? 1 : INFINITY;
    return isnan(within) ? NAN : sqrt((length - 1) / length + between / within);
}

double norma_ergodic_rhat_of_halves(const norma_moments *halves, int64_t n_chains)
{
    norma_moments means;
    double within = 0, length = 0;
    norma_moments_init(&means);
    for (int64_t i = 0; i < 2 * n_chains; i++)
        add_half(&halves[i], 0.5 / (double)n_chains, &means, &within, &length);
    return rhat(&means, within, length);
}

double norma_ergodic_split_rhat(const norma_ergodic *const *chains, int64_t n_chains,
                                int64_t burn_in)
{
    norma_moments means;
    double within = 0, length = 0;
    norma_moments_init(&means);
    for (int64_t c = 0; c < n_chains; c++) {
        norma_moments halves[2];
        norma_ergodic_halves(chains[c], burn_in, halves);
        for (int half = 0; half < 2; half++)
            add_half(&halves[half], 0.5 / (double)n_chains, &means, &within, &length);
    }
    return rhat(&means, within, length);
}

norma_ergodic_pooled norma_ergodic_pool(int64_t n_chains, const norma_ergodic_result *averages,
                                        const norma_moments *halves)
{
    norma_moments means;
    norma_ergodic_pooled p = {0};
    double square = 0;
    const double n = (double)n_chains;
    norma_moments_init(&means);
    for (int64_t c = 0; c < n_chains; c++) {
        const norma_ergodic_result *a = &averages[c];
        norma_moments_add(&means, a->mean);
        square += a->standard_error * a->standard_error;
        p.tau += a->tau / n;
        p.ess += a->ess;
        p.counted = p.counted || halves[2 * c].count + halves[2 * c + 1].count > 0;
    }
    p.mean = means.mean;
    p.error = fmax(sqrt(square) / n, sqrt(norma_moments_variance(&means) / n));
    p.rhat = norma_ergodic_rhat_of_halves(halves, n_chains);
    return p;
}
