#ifndef NORMA_EXPERIMENTS_MERGE_POOL_H
#define NORMA_EXPERIMENTS_MERGE_POOL_H
/* The values that are computed from all replicas of a cell, as the subcommands do it. Local. */
#include <stdint.h>

/* how: "mean"; "ci95", the half width of its 95% confidence interval; "quantile P". values[n], one
 * a replica, are sorted in place by quantiles. NaN for another text. */
double norma_merge_pool_replicas(const char *how, double *values, int64_t n);

#endif
