#ifndef NORMA_THEORY_CHAIN_LAWS_H
#define NORMA_THEORY_CHAIN_LAWS_H
/*
 * Closed forms and bounds for chains of batch-normalized random layers: what figures are compared
 * with. n is the batch, d the width, layers are counted from 0.
 */
#include <stdbool.h>
#include <stdint.h>

/* Stationary E[V^2] of the linear chain H' = BN(W H), W Gaussian, to leading order in 1/d, V the
 * orthogonality gap: (n - 1)(n + 2)^2 / (4 n (n + 1) d); with centring n - 1 takes n's place (and V
 * is taken against the centred reference). Given G, the rows of the next H are independent
 * normalized N(0, G): about G ~ I the traceless part contracts by n / (n + 2) a layer, and fresh
 * noise adds (n - 1) / (n d). */
double norma_chain_laws_mean_gap2(int64_t d, int64_t n, bool centered);

/* Lag-1 autocorrelation in the same regime: n / (n + 2) of G_12, its square of V^2. */
double norma_chain_laws_gram_correlation(int64_t n, bool centered);
double norma_chain_laws_gap2_correlation(int64_t n, bool centered);

/* THESIS Thm 2.1: E V(H_(l+1)) <= 2 (1 - 2 alpha / 3)^l + 3 n / (alpha sqrt(d)), alpha the constant
 * of assumption A_1. (alpha^2 <= 1 / n for H of unit norm, so it is above 1 at most sizes.) */
double norma_chain_laws_gap_bound(int64_t d, int64_t n, double alpha, int64_t layer);

/* THESIS Thm 6.1: E phi(X_(l+1)) <= phi(X_0) exp(-l / k), k = C d^2 (1 + d phi(X_0)), phi the
 * isometry gap; the theorem names no C (the thesis's figure takes 0.015). */
double norma_chain_laws_isometry_bound(int64_t d, double initial_gap, double constant,
                                       int64_t layer);

/* THESIS Thm 6.3: E I(BN(W X)) / I(X) >= 1 / (1 - sum_k (lambda_k - 1)^2 / (2 d^2 (d + 2))), I the
 * isometry, lambda the eigenvalues of X X^T, X = BN(.) d x d. */
double norma_chain_laws_isometry_gain(int64_t d, const double *eigenvalues);

/* RANK20 Eq. (55) corrected: E ||M||_F^2 <= d^1.5 / (2 sqrt(1 - alpha)), alpha < 1 the regularity
 * constant (the paper's lacks the factor 2). */
double norma_chain_laws_fro2_bound(int64_t d, double alpha);

/* RANK20 Thm 14 with the bound above and Lemma 1: the mean of rank_tau is at least
 * (1 - tau)^2 2 sqrt((1 - alpha) d). */
double norma_chain_laws_rank_bound(int64_t d, double alpha, double tau);

#endif
