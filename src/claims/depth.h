#ifndef NORMA_CLAIMS_DEPTH_H
#define NORMA_CLAIMS_DEPTH_H
/* Internal to src/claims: claims of THESIS section 6.2 and appendix C on several layers. The
 * columns are those of NORMA_CLAIMS. Layers are X := BN(W X), W orthogonal, with rows of norm 1. */

#define NORMA_CLAIMS_DEPTH(X)                                                                      \
    X("thesis-6.1", "THESIS Thm 6.1",                                                              \
      "E psi(X_2) <= psi(X_0) exp(-1 / k), k = max(2 d^2, 32 d^3 psi(X_0)) as in its proof",       \
      EXPECTATION, false, "printed", NOT_VIOLATED, NULL, 0.9, 0, far_samples, two_layers)          \
    X("thesis-c.9-near", "THESIS Lemma C.9, (C.49)",                                               \
      "E psi of the next layer <= psi (1 - 1 / (2 d^2)) where psi <= 1 / (16 d)", EXPECTATION,     \
      false, "printed", NOT_VIOLATED, "near isometry the factor is 1 - 2 / (d + 2)", 0.85, 0,      \
      near_samples, gap_near)                                                                      \
    X("thesis-c.9-far", "THESIS Lemma C.9, (C.50)",                                                \
      "E psi of the next layer <= psi - 1 / (32 d^3) where psi > 1 / (16 d)", EXPECTATION, false,  \
      "printed", NOT_VIOLATED, NULL, 0.95, 0, far_samples, gap_far)                                \
    X("thesis-c.14", "THESIS Lemma C.14",                                                          \
      "E of the first layer of psi <= 1 / (16 d) <= 512 d^4 psi(X_0)^2 where psi(X_0) is above",   \
      EXPECTATION, false, "printed", NOT_VIOLATED, NULL, 0.125, 0, threshold_samples,              \
      stopping_time)                                                                               \
    X("thesis-c.15", "THESIS Lemma C.15",                                                          \
      "sum of E sqrt(d psi(X_l)) <= 32 d^4.5 psi(X_0)^(1/2) (1 - exp(-L / (32 d^4))) after the "   \
      "first phase",                                                                               \
      EXPECTATION, false, "printed", NOT_VIOLATED, NULL, 0.91, 0, near_samples, second_phase)      \
    X("thesis-c.12", "THESIS Lemma C.12",                                                          \
      "sum of log ||J_BN|| over layers <= C d^5 (psi(X_0)^3 + 1 - exp(-L / (32 d^4)))", CONSTANT,  \
      false, "printed", CONSTANT_UNKNOWN, "six layers; for psi near 0 the sum is smaller", 0, 0,   \
      deep_samples, log_norms)                                                                     \
    X("thesis-6.5", "THESIS Thm 6.5, C.10",                                                        \
      "log ||gradient of a layer's weights|| <= C d^5 (psi(X_0)^3 + 1)", CONSTANT, false,          \
      "printed", CONSTANT_UNKNOWN, "four layers; far above gradients at greater widths", 0, 0,     \
      gradient_samples, log_gradients)

#endif
