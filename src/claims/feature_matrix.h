#ifndef NORMA_CLAIMS_FEATURE_MATRIX_H
#define NORMA_CLAIMS_FEATURE_MATRIX_H
/* Internal to src/claims: feature matrices, their spectra and what they can express (RF). The
 * columns are those of NORMA_CLAIMS. */

#define NORMA_CLAIMS_FEATURES(X)                                                                   \
    X("rf-2.1", "RF Thm 2.1",                                                                      \
      "c_2 c_0 features are enough where both weight matrices have full rank", DETERMINISTIC,      \
      false, "printed", VIOLATED, "a repeated feature leaves their ranks and takes one of M", 0,   \
      0, repeated, rank_of_features)                                                               \
    X("rf-2.2", "RF Thm 2.2", "the printed density of singular values integrates to 1",            \
      DETERMINISTIC, true, "printed", VIOLATED, "it integrates to 1 / lambda for lambda > 1", 0,   \
      0, ratio, printed_density)                                                                   \
    X("rf-2.2-corrected", "RF Thm 2.2", "the same with min(1, c_1 / n) in the place of lambda",    \
      DETERMINISTIC, true, "corrected", NOT_VIOLATED, NULL, 0, 0, ratio, density)                  \
    X("rf-2.2-orthogonal", "RF below Thm 2.2",                                                     \
      "columns of M are orthogonal for orthogonal weights", DETERMINISTIC, false, "printed",       \
      VIOLATED, "c_2 c_0 columns of c_2 or c_0 numbers each cannot be orthogonal", 0, 0,           \
      orthogonal_weights, columns)                                                                 \
    X("rf-3.1", "RF Thm 3.1",                                                                      \
      "gradient descent on the scales of id-cond features is that on the weights, five steps",     \
      DETERMINISTIC, true, "printed", NOT_VIOLATED, NULL, 0, 0, descent, descent)                  \
    X("rf-4.1", "RF Thm 4.1",                                                                      \
      "least error over permutations = that of the last r components of U' v, r the rank of M",    \
      DETERMINISTIC, true, "printed", VIOLATED, "the last n - r components are meant", 0, 0,       \
      permuted, last_rank)                                                                         \
    X("rf-4.1-corrected", "RF Thm 4.1", "the same with the last n - r components", DETERMINISTIC,  \
      true, "corrected", NOT_VIOLATED, NULL, 0, 0, permuted, last_others)

#endif
