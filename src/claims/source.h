#ifndef NORMA_CLAIMS_SOURCE_H
#define NORMA_CLAIMS_SOURCE_H
/* Internal to src/claims: sources that reproduce a target exactly (CNN24 section 2, EXP23 section
 * 3). The columns are those of NORMA_CLAIMS. Sides: norma_claim_compare of weights, or of outputs.
 */

#define NORMA_CLAIMS_SOURCE(X)                                                                     \
    X("cnn24-2.2", "CNN24 Lemma 2.1, Thm 2.2",                                                     \
      "a source pair of c_1 = c_2 c_0 K - c_2 + 1 channels reproduces a target by Eq. (2)",        \
      DETERMINISTIC, true, "corrected", NOT_VIOLATED,                                              \
      "the second factor w(2) in Eq. (2), (4) and (5) is w(1)", 0, 0, narrow_pair, narrow_pair)    \
    X("cnn24-2.3", "CNN24 Thm 2.3",                                                                \
      "a source pair of c_1 = c_2 c_0 K channels reproduces a target for any nonzero gamma_2",     \
      DETERMINISTIC, true, "printed", NOT_VIOLATED, NULL, 0, 0, wide_pair, wide_pair)              \
    X("cnn24-eq3", "CNN24 Eq. (3)",                                                                \
      "right side w / w_pivot skip for a skip connection inside the normalization", DETERMINISTIC, \
      true, "printed", VIOLATED, "it must be w / w_pivot skip_pivot - skip", 0, 0, skip_pair,      \
      skip_printed)                                                                                \
    X("cnn24-eq3-corrected", "CNN24 Eq. (3)", "right side w / w_pivot skip_pivot - skip",          \
      DETERMINISTIC, true, "corrected", NOT_VIOLATED, NULL, 0, 0, skip_pair, skip_corrected)       \
    X("cnn24-2.5", "CNN24 Thm 2.5",                                                                \
      "deeper linear sources need c_l >= c_0 channels in each layer", DETERMINISTIC, false,        \
      "printed", VIOLATED,                                                                         \
      "c_0 = c_1 = 1: every source is a multiple of the first kernel, most targets are not", 0, 0, \
      thin_cut, thin_cut)                                                                          \
    X("cnn24-2.5-dense", "CNN24 Thm 2.5",                                                          \
      "the same for three fully connected layers of widths c_0, c_2 c_0, c_2", DETERMINISTIC,      \
      true, "restricted", NOT_VIOLATED, NULL, 0, 0, dense, dense)                                  \
    X("exp23-1", "EXP23 Thm 1, Lemma 7",                                                           \
      "a pair of ReLU layers of width c_2 c_0 reproduces W x for |x| <= 1", DETERMINISTIC, true,   \
      "printed", NOT_VIOLATED, "W of odd layers is d^2 x d, not d^2 x d^2", 0, 0, opened_pair,     \
      opened_pair)                                                                                 \
    X("exp23-cor1", "EXP23 Cor. 1, 2",                                                             \
      "two pairs of width d r reproduce A B x of rank r for |x| <= 1", DETERMINISTIC, true,        \
      "printed", NOT_VIOLATED, "the r units between the pairs need biases of their own", 0, 0,     \
      low_rank, low_rank)                                                                          \
    X("exp23-2", "EXP23 Thm 2",                                                                    \
      "d / k layers of width d k with inputs of k numbers each reproduce W", DETERMINISTIC, true,  \
      "printed", NOT_VIOLATED,                                                                     \
      "true in exact arithmetic; no digit is left in double precision from d = 12 at k = 1", 0, 0, \
      blocks, blocks)

#endif
