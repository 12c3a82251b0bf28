#ifndef NORMA_CLAIMS_REGION_H
#define NORMA_CLAIMS_REGION_H
/* Internal to src/claims: activations that are used where they are nearly linear (CNN24 Thm 2.4).
 * The columns are those of NORMA_CLAIMS. */

#define NORMA_CLAIMS_REGION(X)                                                                     \
    X("cnn24-2.4", "CNN24 Thm 2.4",                                                                \
      "an error of the activation below eps gamma m / Q_2 leaves an error of eps", DETERMINISTIC,  \
      false, "printed", VIOLATED,                                                                  \
      "Q_2 takes the largest tap of the second kernel; its proof sums over the taps", 0, 0, taps,  \
      largest_tap)                                                                                 \
    X("cnn24-2.4-taps", "CNN24 Thm 2.4", "the same with Q_2 summed over the taps", DETERMINISTIC,  \
      false, "corrected", NOT_VIOLATED, NULL, 0, 0, taps, all_taps)                                \
    X("cnn24-2.4-scales", "CNN24 Thm 2.4",                                                         \
      "gamma = min((3 eps / Q_2)^(1/2), 1 / Q_1) keeps the error of tanh below eps (sigmoid: 12)", \
      DETERMINISTIC, false, "printed", VIOLATED, "Q_1^3 is missing under the root", 0, 0, scales,  \
      scales_printed)                                                                              \
    X("cnn24-2.4-scales-corrected", "CNN24 Thm 2.4",                                               \
      "the same with gamma = min((3 eps / (Q_2 Q_1^3))^(1/2), 1 / Q_1)", DETERMINISTIC, false,     \
      "corrected", NOT_VIOLATED, NULL, 0, 0, scales, scales_corrected)

#endif
