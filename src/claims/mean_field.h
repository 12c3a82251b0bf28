#ifndef NORMA_CLAIMS_MEAN_FIELD_H
#define NORMA_CLAIMS_MEAN_FIELD_H
/* Internal to src/claims: claims of THESIS chapter 3 on Gram matrices of finite width. The columns
 * are those of NORMA_CLAIMS. */

#define NORMA_CLAIMS_MEAN_FIELD(X)                                                                 \
    X("thesis-3.2", "THESIS Thm 3.2",                                                              \
      "in depth ||G - G*||_F <= C n / sqrt(d) ln(d / n)^(1/2); left: predicted root mean square",  \
      CONSTANT, false, "printed", CONSTANT_UNKNOWN,                                                \
      "C takes in kappa(G*) and the mixing rate; relu and tanh, n from 3 to 8", 0, 0, batch,       \
      level)                                                                                       \
    X("thesis-3.3", "THESIS Lemma 3.3, B.3",                                                       \
      "a layer leaves the law of rows N(0, G*): the variances off the diagonal of h'h / d stay",   \
      EXPECTATION, true, "printed", VIOLATED,                                                      \
      "they grow by a factor that does not fall with d: 1.70 for tanh and four samples", 0, 0,     \
      gaussian_rows, variances)

#endif
