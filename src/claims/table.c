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
    NORMA_CLAIMS(ROW) ABSENT("training", "all papers",
                             "claims on accuracy, loss and rank during training", "needs training"),
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
