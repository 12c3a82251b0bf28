#ifndef NORMA_CLAIMS_SPARSE_H
#define NORMA_CLAIMS_SPARSE_H
/* Internal to src/claims: sparse sources and targets (EXP23 Thm 3, RF Thm 4.2 and 4.3). The columns
 * are those of NORMA_CLAIMS. Probabilities are sums over all masks, not samples. */

#define NORMA_CLAIMS_SPARSE(X)                                                                     \
    X("exp23-3", "EXP23 Thm 3",                                                                    \
      "p = C sqrt(ln d / d) keeps full rank with probability 1 - 1 / d; left: least p without a "  \
      "dead feature",                                                                              \
      CONSTANT, false, "printed", CONSTANT_UNKNOWN,                                                \
      "more than is needed: dead features vanish from p = 3 ln d / d on, as Remark 3 expects", 0,  \
      0, width, dead_features)                                                                     \
    X("exp23-9", "EXP23 Lemma 9",                                                                  \
      "a sparse feature matrix is singular only where its support has no perfect matching",        \
      DETERMINISTIC, true, "printed", NOT_VIOLATED,                                                \
      "an equivalence, and for kernels of any size: the rank is that of the support", 0, 0,        \
      masked_pair, support_rank)                                                                   \
    X("exp23-10", "EXP23 Lemma 10",                                                                \
      "P(sum of u v over S = 0) <= P(sum of x over S = 0) for p = sqrt(2 q d)", DETERMINISTIC,     \
      false, "printed", NOT_VIOLATED, NULL, 0, 0, places, places)                                  \
    X("exp23-10-step", "EXP23 Lemma 10, below (62)",                                               \
      "the sum over rows of lengths a may be replaced by one of h x h places", DETERMINISTIC,      \
      false, "printed", VIOLATED, "lengths 1 and 1 with p = 1/2: 0.625 and 0.4375", 0, 0, places,  \
      places_step)                                                                                 \
    X("rf-4.2", "RF Thm 4.2", "P(a permuted target fits) <= prod (1 - (1 - p^d_i)^c_2)",           \
      DETERMINISTIC, false, "printed", NOT_VIOLATED,                                               \
      "true by van den Berg and Kesten: rows are matched disjointly", 0, 0, target_mask,           \
      match_probability)                                                                           \
    X("rf-4.2-equality", "RF Thm 4.2, proof",                                                      \
      "the bound is attained by rows without common places", DETERMINISTIC, true, "printed",       \
      VIOLATED, "two rows want features of their own", 0, 0, disjoint_mask, match_probability)     \
    X("rf-4.3", "RF Thm 4.3",                                                                      \
      "the printed number k of candidates matches a row with probability 1 - delta",               \
      DETERMINISTIC, false, "printed", VIOLATED,                                                   \
      "all candidates share the row: k must come from E (1 - (1 - p^D)^k)", 0, 0, candidates,      \
      candidates)

#endif
