#ifndef NORMA_STATS_SPECTRAL_H
#define NORMA_STATS_SPECTRAL_H
/*
 * Distribution functions and densities from Gauss rules of random probes (mpi/krylov/quadrature).
 *
 * A rule with nodes s_1 < s_2 < … and weights w_j brackets the distribution function F of its own
 * probe: sum_(i<j) w_i <= F(s_j) <= sum_(i<=j) w_i (Chebyshev, Markov, Stieltjes). The mean over
 * probes differs from the distribution of all singular values by the probes' spread.
 */
#include <stdint.h>

typedef struct norma_spectral_rules {
    int64_t n_probes, n_steps;
    const int64_t *n_nodes; /* [n_probes]; below n_steps: the rule is its probe's exact measure */
    const double *nodes;    /* [n_probes][n_steps], largest first; borrowed */
    const double *weights;  /* [n_probes][n_steps]; borrowed */
} norma_spectral_rules;

/* On grid[n_grid], each [n_grid]: the distribution function; a lower and an upper bound, which
 * contain the brackets and, at `level` in (0, 1), the Student interval of the probes' spread (NaN
 * for a single probe). All within 0 to 1. */
void norma_spectral_cdf(const norma_spectral_rules *rules, double level, int64_t n_grid,
                        const double *grid, double *cdf, double *low, double *high);

/* density[n_grid]: nodes as Gaussians of standard deviation `width`, mirrored at 0, where values
 * end. */
void norma_spectral_density(const norma_spectral_rules *rules, double width, int64_t n_grid,
                            const double *grid, double *density);

/* Mean over probes of sum_j w_j s_j^power, and its standard error (NaN for a single probe). */
void norma_spectral_moment(const norma_spectral_rules *rules, double power, double *mean,
                           double *standard_error);

#endif
