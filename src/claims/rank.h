#ifndef NORMA_CLAIMS_RANK_H
#define NORMA_CLAIMS_RANK_H
/* Internal to src/claims: claims of RANK20. The columns are those of NORMA_CLAIMS. */

#define NORMA_CLAIMS_RANK(X)                                                                       \
    X("rank20-1-rank", "RANK20 Lemma 1", "rank(H) >= r(H) = Tr(M)^2 / ||M||_F^2", DETERMINISTIC,   \
      false, "printed", NOT_VIOLATED, NULL, 0, 0, any, rank_bound)                                 \
    X("rank20-1-soft", "RANK20 Lemma 1", "rank_tau(H) >= (1 - tau)^2 r(H) for normalized rows",    \
      DETERMINISTIC, false, "printed", NOT_VIOLATED, NULL, 0, 0, soft, soft_rank_bound)            \
    X("rank20-6", "RANK20 Lemma 6", "an M of rank one stays as it is for gamma <= 1 / (8 B d)",    \
      DETERMINISTIC, true, "printed", NOT_VIOLATED, NULL, 0, 0, rank_one, rank_one_stays)          \
    X("rank20-7", "RANK20 Lemma 7",                                                                \
      "(E ||M+||_F^2 - ||M||_F^2) / gamma^2 = delta_F(M) + O(gamma)", EXPECTATION, true,           \
      "printed", NOT_VIOLATED, NULL, 0, 0, small, change_by_layers)                                \
    X("rank20-8", "RANK20 Prop. 8",                                                                \
      "delta_F(M) = 2 d^2 - 2 |l|_2^2 - 8 |l|_3^3 + 8 |l|_2^4 / d for rows of equal norm",         \
      DETERMINISTIC, true, "printed", NOT_VIOLATED, NULL, 0, 0, circulant, change_by_spectrum)     \
    X("rank20-9", "RANK20 Example 9",                                                              \
      "delta_F <= -gamma^2 d^2 where all eigenvalues but one are gamma^2", DETERMINISTIC, false,   \
      "printed", SHARPER_KNOWN,                                                                    \
      "to first order -delta_F = 4 d (d - 1) (2 d - 1) gamma^2, at least 6 times as much", 0.1807, \
      0, example_nine, example_nine)                                                               \
    X("rank20-11", "RANK20 Example 11", "Tr diag(M^2)^2 <= Tr M^3 for rows of equal norm",         \
      DETERMINISTIC, false, "printed", NOT_VIOLATED, NULL, 0, 0, circulant, regularity)            \
    X("rank20-56", "RANK20 (56)", "|l|_2^2 <= sqrt(d |l|_3^3) for eigenvalues of sum d",           \
      DETERMINISTIC, false, "printed", NOT_VIOLATED, NULL, 0, 0, spectrum, power_means)            \
    X("rank20-15-soft", "RANK20 Cor. 15",                                                          \
      "the soft rank never rises from layer to layer (hypothesis)", DETERMINISTIC, false,          \
      "printed", VIOLATED, "the algebraic rank never rises; soft ranks do", 0, 0, step,            \
      soft_rank_falls)                                                                             \
    X("rank20-19", "RANK20 Prop. 19",                                                              \
      "gradients of a neuron for two samples are collinear where representations have rank one",   \
      DETERMINISTIC, true, "printed", NOT_VIOLATED, NULL, 0, 0, gradients, collinear)

#endif
