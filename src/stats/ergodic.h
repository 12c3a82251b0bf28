#ifndef NORMA_STATS_ERGODIC_H
#define NORMA_STATS_ERGODIC_H
/*
 * Time average of one observable along one chain of any length in fixed memory, with an honest
 * error: the values are gathered in up to NORMA_ERGODIC_BATCHES batches of equal length; when they
 * are full, neighbours are merged and the length doubles. The autocovariance of the batch means
 * gives the variance of the overall mean whatever the length of a batch.
 *
 * The struct is plain data: it can be copied, compared and written to a checkpoint.
 */
#include "src/stats/moments.h"

#include <stdbool.h>
#include <stdint.h>

#define NORMA_ERGODIC_BATCHES 1024

/* Autocorrelation times below which a time average is flagged as too short. */
#define NORMA_ERGODIC_MIN_TIMES 50

/* Autocorrelation times dropped as burn-in when none is given. */
#define NORMA_ERGODIC_BURN_IN_TIMES 20

typedef struct norma_ergodic {
    int64_t length;    /* values in a full batch */
    int64_t n_batches; /* full ones */
    norma_moments current;
    norma_moments batch[NORMA_ERGODIC_BATCHES];
} norma_ergodic;

typedef struct norma_ergodic_result {
    double mean;
    double standard_error; /* of the mean */
    double tau;            /* integrated autocorrelation time, in values */
    double ess;            /* effective sample size: count / tau */
    int64_t count;         /* values after burn-in, those of an unfinished batch left out */
    int64_t burn_in;       /* values dropped: asked for, or estimated, rounded up to batches */
    int64_t too_short;     /* 1: fewer than NORMA_ERGODIC_MIN_TIMES autocorrelation times; not a
                              bool, since no byte of it may be padding: it goes into journals */
} norma_ergodic_result;

void norma_ergodic_init(norma_ergodic *ergodic);
void norma_ergodic_add(norma_ergodic *ergodic, double x);

/* The average after `burn_in` values; negative: NORMA_ERGODIC_BURN_IN_TIMES autocorrelation times,
 * estimated from the second half. Errors are NaN, and too_short is set, when fewer than 8 batches
 * are left or their autocorrelation does not die out among them; a constant observable has error 0,
 * tau 1. */
norma_ergodic_result norma_ergodic_get(const norma_ergodic *ergodic, int64_t burn_in);

/* *ratio = mean of y over mean of x, both fed alike, and its standard error by the delta method on
 * the batch means (of y - ratio x). */
void norma_ergodic_ratio(const norma_ergodic *y, const norma_ergodic *x, int64_t burn_in,
                         double *ratio, double *standard_error);

/* The two halves of a chain after burn_in (as norma_ergodic_get takes it), whole batches of equal
 * number: all that R-hat needs, small enough to send. Empty when a half has fewer than 2 batches.
 */
void norma_ergodic_halves(const norma_ergodic *ergodic, int64_t burn_in, norma_moments halves[2]);

/* Split R-hat from the halves [2 n_chains] of n_chains chains; NaN when one is empty. */
double norma_ergodic_rhat_of_halves(const norma_moments *halves, int64_t n_chains);

/* The averages of independent chains as one. */
typedef struct norma_ergodic_pooled {
    double mean;
    double error; /* of the mean: the larger of that from the chains' own errors and that from the
                   * spread of their means */
    double tau;   /* mean over the chains */
    double ess;   /* sum over the chains */
    double rhat;
    bool counted; /* some chain has values behind its burn-in */
} norma_ergodic_pooled;

/* Pools n_chains averages, with their halves [2 n_chains]. */
norma_ergodic_pooled norma_ergodic_pool(int64_t n_chains, const norma_ergodic_result *averages,
                                        const norma_moments *halves);

/* Split R-hat (Gelman et al.) of n_chains chains: each is cut in two halves after burn_in >= 0. NaN
 * with fewer than 2 batches a half; 1 when every half is constant and equal. */
double norma_ergodic_split_rhat(const norma_ergodic *const *chains, int64_t n_chains,
                                int64_t burn_in);

#endif
