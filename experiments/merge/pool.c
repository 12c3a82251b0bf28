#include "experiments/merge/pool.h"

#include "src/stats/interval.h"
#include "src/stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double norma_merge_pool_replicas(const char *how, double *values, int64_t n)
{
    static const char quantile[] = "quantile ";
    double mean = NAN;
    double half_width = NAN;
    if (strncmp(how, quantile, sizeof quantile - 1) == 0)
        return norma_quantile(values, n, strtod(how + sizeof quantile - 1, NULL));
    norma_interval_mean(values, n, 0.95, &mean, &half_width);
    if (strcmp(how, "mean") == 0)
        return mean;
    return strcmp(how, "ci95") == 0 ? half_width : NAN;
}
