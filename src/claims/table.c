#include "src/claims/family.h"

static const char *const kinds[NORMA_N_CLAIM_KINDS] = {"deterministic", "expectation",
                                                       "probability", "constant"};
const norma_names norma_claim_kind_names = NORMA_NAMES("kind", "kinds", kinds);

typedef struct verdict {
    const char *name, *summary;
} verdict;
static const verdict verdicts[NORMA_N_CLAIM_VERDICTS] = {
    {"not-violated", "no case was found in which the claim is false"},
    {"violated", "a counter-example was found; the result file holds it"},
    {"vacuous", "the bound says nothing in any case"},
    {"constant-unknown", "true with a constant that the paper leaves open; one was fitted"},
    {"hypothesis-never-met", "no case meets the hypothesis"},
    {"sharper-known", "not violated, and a sharper bound is known"},
    {"not-covered", "listed without being examined"},
};
const norma_names norma_claim_verdict_names = NORMA_NAMES("verdict", "verdicts", verdicts);

#define ROW(id, where, text, kind_, equal_, form_, verdict, note, sharp_, trivial_, drawn,         \
            evaluated)                                                                             \
    {.name = (id),                                                                                 \
     .summary = (text),                                                                            \
     .place = (where),                                                                             \
     .kind = NORMA_CLAIM_##kind_,                                                                  \
     .equal = (equal_),                                                                            \
     .form = (form_),                                                                              \
     .expected = NORMA_CLAIM_##verdict,                                                            \
     .remark = (note),                                                                             \
     .sharp = (sharp_),                                                                            \
     .trivial = (trivial_),                                                                        \
     .draw = norma_claim_draw_##drawn,                                                             \
     .evaluate = norma_claim_sides_##evaluated},

/* Claims that are listed without being examined, with the reason. */
#define ABSENT(id, where, text, why)                                                               \
    {                                                                                              \
        .name = (id), .summary = (text), .place = (where), .kind = NORMA_CLAIM_DETERMINISTIC,      \
        .form = "printed", .expected = NORMA_CLAIM_NOT_COVERED, .remark = (why)                    \
    }

static const norma_claim table[] = {
    NORMA_CLAIMS(ROW) ABSENT("thesis-2.1", "THESIS Thm 2.1",
                             "E V(H_l) <= 2 (1 - 2 alpha / 3)^l + 3 n / (alpha sqrt(d))",
                             "not built; above 1, and so without content, for d below 9 n^3"),
    ABSENT("thesis-a.4", "THESIS Lemma A.4",
           "hatV(H+) lies within 1 / sqrt(d) of 1 / n - p_n in mean square",
           "not built: needs p_n by quadrature"),
    ABSENT("thesis-a.13", "THESIS (A.13)", "expected growth of the logarithm along the chain",
           "not built: needs long chains, which norma chain runs"),
    ABSENT("thesis-3.2", "THESIS Thm 3.2",
           "the Gram matrix stays within a constant times a level of its fixed point",
           "not built: constant and mixing rate are open; norma meanfield predicts the level"),
    ABSENT("thesis-3.3", "THESIS Lemma 3.3",
           "total variation to Gaussian rows falls with the width",
           "not built: needs a distance between laws; false by the variance of the entries of h'h "
           "/ d"),
    ABSENT("thesis-5.11.3", "THESIS Thm 5.11",
           "case 3: the distance falls as 1 / (alpha l) where kappa'(1) = 1",
           "not built: norma meanfield prints the sequence beside the bound"),
    ABSENT("thesis-6.1", "THESIS Thm 6.1",
           "E psi(X_l) <= psi(X_0) exp(-l / k), k = C d^2 (1 + d psi(X_0))",
           "not built: needs deep chains; norma chain measures the gap"),
    ABSENT("thesis-c.9", "THESIS Lemma C.9", "conditional bound of the isometry gap in depth",
           "not built: needs deep chains"),
    ABSENT("thesis-c.12", "THESIS Lemma C.12, C.14, C.15", "sums of Jacobian log-norms over layers",
           "not built: needs deep chains; constants are open"),
    ABSENT("thesis-6.5", "THESIS Thm 6.5", "E log ||gradient|| <= C d^5 (psi(X0)^3 + 1)",
           "needs gradients of deep networks: norma gradient measures them"),
    ABSENT("rank20-3", "RANK20 Lemma 3",
           "linear networks with skip connections collapse to rank one",
           "not built: a limit in depth; norma chain prints Lyapunov exponents"),
    ABSENT("rank20-4", "RANK20 Lemma 4", "rows of H and -H have one invariant law",
           "not built: needs an invariant law"),
    ABSENT("rank20-5", "RANK20 Lemma 5, 10, 13, Thm 14",
           "rank and Frobenius norm under the unique invariant law",
           "hypothesis never met as stated: matrices of rank one carry a law of their own"),
    ABSENT("rank20-12", "RANK20 Example 12", "alpha < 0.9 where one eigenvalue leads",
           "not built: a limit in width"),
    ABSENT("training", "all papers", "claims on accuracy, loss and rank during training",
           "needs training"),
};
const norma_names norma_claim_names = NORMA_NAMES("claim", "claims", table);

const norma_claim *norma_claim_get(int64_t i)
{
    return &table[i];
}

bool norma_claim_is_random(const norma_claim *claim)
{
    return claim->kind == NORMA_CLAIM_EXPECTATION || claim->kind == NORMA_CLAIM_PROBABILITY;
}

bool norma_claim_has_planted(const norma_claim *claim)
{
    return claim->evaluate && claim->kind != NORMA_CLAIM_CONSTANT &&
           claim->kind != NORMA_CLAIM_PROBABILITY &&
           (claim->expected == NORMA_CLAIM_NOT_VIOLATED ||
            claim->expected == NORMA_CLAIM_SHARPER_KNOWN);
}
