#ifndef NORMA_CLAIMS_EXAMINE_H
#define NORMA_CLAIMS_EXAMINE_H
/*
 * Judges a claim: draws cases in blocks, searches around the worst of them for counter-examples,
 * and brings the blocks together.
 *
 * A case violates a deterministic claim where left - right exceeds the bound of its rounding. A
 * claim on means or shares is violated in a case where the mean of left - right over replicas
 * exceeds that bound by more than budget.n_errors of its standard errors; replicas are doubled
 * until the mean lies beyond as many on either side, or the budget ends. By the normal law one look
 * at a true claim accuses it with a probability below norma_claim_accusation.
 *
 * A block depends on the claim's name, the seed, its number and the budget alone.
 */
#include "src/claims/claim.h"

/* How much is done. */
typedef struct norma_claim_budget {
    int64_t n_blocks;
    int64_t n_cases;    /* a block */
    int64_t n_steps;    /* of the search for counter-examples, a block */
    int64_t n_replicas; /* the first look at a case, at least 2 */
    int64_t n_replicas_most;
    double n_errors;             /* standard errors by which a mean must lie on the wrong side */
    bool wide;                   /* sizes of cases go up to their largest */
    bool planted;                /* right sides are those of the version that is off by 1% */
    bool (*stop)(void *context); /* asked every few milliseconds: leave the block? NULL: never */
    void *context;               /* of stop; borrowed */
} norma_claim_budget;

/* Numbers of a block; of several blocks together the same. */
typedef enum norma_claim_number {
    NORMA_CLAIM_N_CASES,
    NORMA_CLAIM_N_MET, /* cases that meet the hypothesis, those of the search included */
    NORMA_CLAIM_N_VIOLATED,
    NORMA_CLAIM_N_TRIVIAL,   /* cases in which the bound says nothing */
    NORMA_CLAIM_N_LOOKS,     /* tests that were made; 0 for deterministic claims */
    NORMA_CLAIM_N_SAMPLES,   /* evaluations of both sides: cases, steps of the search, replicas */
    NORMA_CLAIM_RATIO,       /* largest left / right */
    NORMA_CLAIM_RATIO_LEAST, /* the smallest of the blocks' largest */
    NORMA_CLAIM_EXCESS,      /* of the worst case: (left - right) / max(|left|, |right|) */
    NORMA_CLAIM_LEFT,
    NORMA_CLAIM_RIGHT,
    NORMA_CLAIM_ROUNDING,
    NORMA_CLAIM_ERROR, /* standard error of left - right; 0 for deterministic claims */
    NORMA_CLAIM_ROWS,
    NORMA_CLAIM_COLUMNS,
    NORMA_CLAIM_N, /* numbers of the worst case, which follow */
    NORMA_CLAIM_WORST,
    NORMA_CLAIM_HEAD = NORMA_CLAIM_WORST + NORMA_CLAIM_NUMBERS
} norma_claim_number;

/* Numbers of a block's record: the head above, then left, right, error, replicas [n_cases] of the
 * cases. */
int64_t norma_claim_record_size(const norma_claim_budget *budget);

/* The probability by the normal law that one look at a true equality accuses it; an inequality half
 * as often. */
double norma_claim_accusation(double n_errors);

/* record[norma_claim_record_size] = block `block` of a claim. NORMA_STOPPED where budget->stop says
 * so: nothing of the block is to be kept. NORMA_NUMERIC where a library fails, NORMA_LIMIT beyond
 * the fields of the counters. */
NORMA_MUST_USE norma_status norma_claim_examine(const norma_claim *claim, uint64_t seed,
                                                int64_t block, const norma_claim_budget *budget,
                                                double *record);

/* into[NORMA_CLAIM_HEAD] = into and `block` together; an `into` of n_cases = 0 is empty. */
void norma_claim_merge(double *into, const double *block);

/* The verdict on merged numbers. */
norma_claim_verdict norma_claim_judge(const norma_claim *claim, const double *merged);

#endif
