#ifndef NORMA_CLAIMS_INVARIANT_H
#define NORMA_CLAIMS_INVARIANT_H
/* Internal to src/claims: claims of RANK20 on long chains and their invariant law. The columns are
 * those of NORMA_CLAIMS. */

#define NORMA_CLAIMS_INVARIANT(X)                                                                  \
    X("rank20-3", "RANK20 Lemma 3",                                                                \
      "products of 1 + gamma W collapse to rank one: second Lyapunov exponent <= first, W normal", \
      EXPECTATION, false, "printed", NOT_VIOLATED, NULL, 0.95, 0, residual, second_exponent)       \
    X("rank20-4", "RANK20 Lemma 4",                                                                \
      "rows of H and -H have one law: P(M_12 > 0) = 1 / 2 in chains from the identity",            \
      PROBABILITY, true, "restricted", NOT_VIOLATED,                                               \
      "holds at each layer by symmetry, without the unique invariant law of its hypothesis", 0, 0, \
      short_chain, sign_of_overlap)                                                                \
    X("rank20-5", "RANK20 Lemma 5, 10, 13, Thm 14", "rank >= 2 under the unique invariant law",    \
      DETERMINISTIC, false, "printed", NEVER_MET,                                                  \
      "not unique: each pattern of signs of rank one is invariant by Lemma 6", 0, 0, two_patterns, \
      two_patterns)                                                                                \
    X("rank20-14", "RANK20 Thm 14",                                                                \
      "mean of r(H) over layers >= sqrt((1 - alpha) d), alpha of the same layers", EXPECTATION,    \
      false, "restricted", NOT_VIOLATED, "for chains of full rank: from the identity", 0.29, 0,    \
      full_rank, mean_rank)                                                                        \
    X("rank20-12", "RANK20 Example 12",                                                            \
      "alpha < 0.9 for large d where lambda_1 = d^beta and all others are o(d^beta), beta < 1",    \
      DETERMINISTIC, false, "printed", VIOLATED,                                                   \
      "many small ones add up: for beta < 1 / 3 and equal others alpha tends to 1", 0, 0, leading, \
      regularity_of_leading)

#endif
