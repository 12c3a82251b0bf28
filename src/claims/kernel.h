#ifndef NORMA_CLAIMS_KERNEL_H
#define NORMA_CLAIMS_KERNEL_H
/* Internal to src/claims: claims of THESIS chapter 5. The columns are those of NORMA_CLAIMS. */

#define NORMA_CLAIMS_KERNEL(X)                                                                     \
    X("thesis-5.8", "THESIS Thm 5.8",                                                              \
      "|rho| / (1 - |rho|) shrinks by 1 / (2 - kappa'(0)) a layer where kappa(0) = 0",             \
      DETERMINISTIC, false, "printed", NOT_VIOLATED, NULL, 0, 0, centred_kernel,                   \
      centred_corrected)                                                                           \
    X("thesis-5.10", "THESIS Cor. 5.10",                                                           \
      "|rho_l| <= |rho_0| / (1 - |rho_0|) alpha^l with alpha of Thm 5.8, three layers",            \
      DETERMINISTIC, false, "printed", NOT_VIOLATED, NULL, 0, 0, centred_kernel, centred_layers)   \
    X("thesis-5.11.1", "THESIS Thm 5.11", "case 1: the rate of Thm 5.8 is 1 / kappa'(1)",          \
      DETERMINISTIC, false, "printed", VIOLATED,                                                   \
      "1 / (2 - kappa'(0)) is what Thm 5.8 proves; equal for two Hermite terms only", 0, 0,        \
      centred_kernel, centred_printed)                                                             \
    X("thesis-5.11.2", "THESIS Thm 5.11",                                                          \
      "case 2: 1 - rho_l <= (1 - rho_0) kappa'(1)^l where kappa'(1) < 1", DETERMINISTIC, false,    \
      "printed", NOT_VIOLATED, NULL, 0, 0, fast_kernel, fast)                                      \
    X("thesis-5.11.3", "THESIS Thm 5.11",                                                          \
      "case 3: 1 - rho_l <= x / (l alpha x + 1), x = 1 - rho_0, where kappa'(1) = 1",              \
      DETERMINISTIC, false, "printed", NOT_VIOLATED, NULL, 0, 0, critical_kernel, critical)        \
    X("thesis-5.11.4", "THESIS Thm 5.11",                                                          \
      "case 4: the printed bound around the inner fixed point, sixty layers", DETERMINISTIC,       \
      false, "printed", VIOLATED,                                                                  \
      "the third term must be 1 / (2 - kappa'(rho*)): kappa = 0.7 + 0.3 rho^5 next to 1", 0, 0,    \
      inner_kernel, inner_printed)                                                                 \
    X("thesis-5.15", "THESIS Thm 5.15",                                                            \
      "post-LN: |rho| / (1 - |rho|) shrinks by (kappa(1) - kappa(0)) / kappa'(1) a layer",         \
      DETERMINISTIC, false, "printed", VIOLATED,                                                   \
      "as case 1 of Thm 5.11: 1 / (2 - kappa'(0) / (kappa(1) - kappa(0))) holds", 0, 0, kernel,    \
      centred_printed)                                                                             \
    X("thesis-5.15-corrected", "THESIS Thm 5.15",                                                  \
      "the same with the rate 1 / (2 - kappa'(0) / (kappa(1) - kappa(0)))", DETERMINISTIC, false,  \
      "corrected", NOT_VIOLATED, NULL, 0, 0, kernel, centred_corrected)

#endif
