#ifndef NORMA_CLAIMS_ORTHOGONALITY_H
#define NORMA_CLAIMS_ORTHOGONALITY_H
/* Internal to src/claims: claims of THESIS chapter 2 and appendix A. The columns are those of
 * NORMA_CLAIMS. */

#define NORMA_CLAIMS_ORTHOGONALITY(X)                                                              \
    X("thesis-a.1", "THESIS Lemma A.1", "V(H) <= 2 n hatV(H)", DETERMINISTIC, false, "printed",    \
      SHARPER_KNOWN, "sqrt(n (n - 1)) in place of 2 n is enough", 0.4677, 0, values, gap_by_least) \
    X("thesis-2.2", "THESIS Lemma 2.2", "W2(W H, G / sqrt(n))^2 <= 2 n V(H) for a given H",        \
      DETERMINISTIC, false, "printed", SHARPER_KNOWN,                                              \
      "sqrt(n) V(H) is enough: (a - b)^2 <= |a^2 - b^2|, and Cauchy-Schwarz", 0.2071, 0, values,   \
      wasserstein)                                                                                 \
    X("thesis-a.2", "THESIS Thm A.2",                                                              \
      "E hatV(H+) <= (1 - (2 / 3) (1 / n - hatV)) hatV + 1 / sqrt(d), n = 2, d = 12", EXPECTATION, \
      false, "printed", NOT_VIOLATED, NULL, 0.634, 0, two_values, contraction)                     \
    X("thesis-a.3", "THESIS Lemma A.3", "E ||C - E C||_F^2 <= 1 / d, n = 6, d = 8", EXPECTATION,   \
      false, "printed", SHARPER_KNOWN, "(1 - 1 / n) / d is enough: it is (1 - ||E C||_F^2) / d",   \
      0.8333, 0, six_values, concentration)                                                        \
    X("thesis-2.1", "THESIS Thm 2.1",                                                              \
      "E V(H_(l+1)) <= 2 (1 - 2 alpha / 3)^l + 3 n / (alpha sqrt(d)), d to 60", EXPECTATION,       \
      false, "printed", VACUOUS,                                                                   \
      "V is below 1; alpha <= 1 / sqrt(n) leaves more than that for d below 9 n^3", 0, 1, chain,   \
      chain_gap)                                                                                   \
    X("thesis-a.4", "THESIS Lemma A.4", "E (hatV(H+) - (1 / n - p_n))^2 <= 1 / d, n = 2, d = 12",  \
      EXPECTATION, false, "printed", SHARPER_KNOWN,                                                \
      "1 / (4 d) is enough: half of Lemma A.3's for two samples", 0.245, 0, near_values,           \
      prediction)                                                                                  \
    X("thesis-a.13", "THESIS (A.13)",                                                              \
      "log sigma_i^2 grows by (log 2 + Psi((d - i + 1) / 2)) / 2 a layer", EXPECTATION, true,      \
      "printed", VIOLATED, "that is the growth of log sigma_i", 0, 0, frame, growth_printed)       \
    X("thesis-a.13-corrected", "THESIS (A.13)",                                                    \
      "log sigma_i^2 grows by log 2 + Psi((d - i + 1) / 2) a layer", EXPECTATION, true,            \
      "corrected", NOT_VIOLATED, NULL, 0, 0, frame, growth)                                        \
    X("thesis-a.5", "THESIS Lemma A.5", "1 / n - p_n <= (1 - (2 / 3) (1 / n - hatV)) hatV, n = 2", \
      EXPECTATION, false, "printed", NOT_VIOLATED, NULL, 0, 0, two_values, contraction_mean)

#endif
