#ifndef NORMA_CLAIMS_ISOMETRY_H
#define NORMA_CLAIMS_ISOMETRY_H
/* Internal to src/claims: claims of THESIS chapters 4 and 6 and appendix C. The columns are those
 * of NORMA_CLAIMS. */

#define NORMA_CLAIMS_ISOMETRY(X)                                                                   \
    X("thesis-4.2-range", "THESIS Lemma 4.2", "I(M) is at most 1", DETERMINISTIC, false,           \
      "printed", NOT_VIOLATED, NULL, 0, 0, wide, unit_range)                                       \
    X("thesis-4.2-identity", "THESIS Lemma 4.2", "I(M) = 1 only for the identity", DETERMINISTIC,  \
      false, "printed", VIOLATED, "multiples of the identity have it, too", 0, 0, multiple,        \
      only_identity)                                                                               \
    X("thesis-4.3-equality", "THESIS (4.4) to (4.7)",                                              \
      "I of normalized samples = I(G) (1 + variance / mean^2 of their norms)", DETERMINISTIC,      \
      true, "printed", VIOLATED,                                                                   \
      "the last step is an inequality: mean(a^2) / geomean(a)^2 is at least that", 0, 0, wide,     \
      normalization_gain)                                                                          \
    X("thesis-4.3-bound", "THESIS Thm 4.3",                                                        \
      "I of normalized samples >= I(G) (1 + variance / mean^2 of their norms)", DETERMINISTIC,     \
      false, "printed", NOT_VIOLATED, NULL, 0, 0, wide, normalization_gain)                        \
    X("thesis-4.4-ln", "THESIS Cor. 4.4",                                                          \
      "the bound of Thm 4.3 for layer normalization with centring, (5.13)", DETERMINISTIC, false,  \
      "printed", VIOLATED, "centring can destroy isometry: e1 and e2 in two dimensions", 0, 0,     \
      wide, centred_gain)                                                                          \
    X("thesis-4.4-rms", "THESIS Cor. 4.4", "the bound of Thm 4.3 for RMS normalization",           \
      DETERMINISTIC, false, "restricted", NOT_VIOLATED, NULL, 0, 0, wide, normalization_gain)      \
    X("thesis-4.5", "THESIS Cor. 4.5, Lemma C.1",                                                  \
      "I(BN(X)) >= (1 + variance / mean^2 of the row norms) I(X)", DETERMINISTIC, false,           \
      "printed", NOT_VIOLATED, NULL, 0, 0, square, normalization_gain)                             \
    X("thesis-6.2", "THESIS Lemma 6.2, C.2",                                                       \
      "the bound of Lemma C.1 for W X, W orthogonal, with I(X) on the right", DETERMINISTIC,       \
      false, "printed", NOT_VIOLATED, NULL, 0, 0, rotation, rotation_gain)                         \
    X("thesis-c.3", "THESIS Cor. C.3", "I(BN(U' X)) = 1 for the left singular vectors U of X",     \
      DETERMINISTIC, true, "printed", NOT_VIOLATED, NULL, 0, 0, square, best_rotation)             \
    X("thesis-6.3-interval", "THESIS below Thm 6.3",                                               \
      "eigenvalues of X X' lie in (0, 1] for X = BN(X)", DETERMINISTIC, false, "printed",          \
      VIOLATED, "their sum is d, so that the largest is at least 1", 0, 0, square,                 \
      largest_eigenvalue)                                                                          \
    X("thesis-6.3", "THESIS Thm 6.3, C.4",                                                         \
      "E I(BN(W X)) >= I(X) / (1 - sum (lambda - 1)^2 / (2 d^2 (d + 2))), W Haar", EXPECTATION,    \
      false, "printed", NOT_VIOLATED, NULL, 0, 0, square, isometry_rise)                           \
    X("thesis-6.4", "THESIS Cor. 6.4, C.6",                                                        \
      "E psi(BN(W X)) <= psi(X) + log(1 - sum (lambda - 1)^2 / (2 d^2 (d + 2))), W Haar",          \
      EXPECTATION, false, "printed", NOT_VIOLATED, NULL, 0.95, 0, far_samples, gap_fall)           \
    X("thesis-c.8", "THESIS Lemma C.8",                                                            \
      "psi <= c / (16 d) keeps all eigenvalues in [1 - c, 1 + c]", DETERMINISTIC, false,           \
      "printed", VIOLATED, "false for c below (d - 1) / (8 d): psi is quadratic in the deviation", \
      0, 0, eigenvalues, near_one)                                                                 \
    X("thesis-c.8-half", "THESIS Lemma C.8", "the same for c from 1/2 to 1, as it is used",        \
      DETERMINISTIC, false, "restricted", NOT_VIOLATED, NULL, 0.4985, 0, eigenvalues,              \
      near_one_restricted)                                                                         \
    X("thesis-c.13", "THESIS Lemma C.13", "log ||J_BN(X)|| <= d psi(X) + 1 for tr X X' = d",       \
      DETERMINISTIC, false, "restricted", SHARPER_KNOWN,                                           \
      "half of the right side is enough: the norm is at most 1 / sqrt of the least eigenvalue",    \
      0.5, 0, thin, log_norm)                                                                      \
    X("thesis-c.16", "THESIS Lemma C.16", "||J_BN(X)||^2 <= 1 / least eigenvalue of X X'",         \
      DETERMINISTIC, false, "printed", NOT_VIOLATED, NULL, 0, 0, square, jacobian)                 \
    X("thesis-c.17-all", "THESIS Lemma C.17",                                                      \
      "-log of the least eigenvalue <= d psi + 1, eigenvalues of sum d", DETERMINISTIC, false,     \
      "printed", NOT_VIOLATED, NULL, 0, 0, eigenvalues, least_eigenvalue)                          \
    X("thesis-c.17-near", "THESIS Lemma C.17",                                                     \
      "-log of the least eigenvalue <= 2 sqrt(d psi) where psi <= 1 / (16 d)", DETERMINISTIC,      \
      false, "printed", NOT_VIOLATED, NULL, 0.7107, 0, eigenvalues, least_eigenvalue_near)         \
    X("thesis-c.20", "THESIS Lemma C.20",                                                          \
      "the least squared row norm of X >= the least eigenvalue of X X'", DETERMINISTIC, false,     \
      "printed", NOT_VIOLATED, NULL, 0, 0, square, least_row)

#endif
