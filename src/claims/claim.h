#ifndef NORMA_CLAIMS_CLAIM_H
#define NORMA_CLAIMS_CLAIM_H
/*
 * The papers' claims, each held against both sides of its own inequality (or equality).
 *
 * A claim draws cases (matrices, spectra, coefficients and parameters, all of them plain numbers),
 * says where its hypothesis is met, and evaluates its two sides. src/claims/examine.h judges. The
 * claims of a paper stand in files by family; src/claims/table.c is the one table.
 */
#include "src/base/names.h"
#include "src/base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* Largest extent of a matrix, and most numbers of a case. */
enum { NORMA_CLAIM_WIDTH = 12, NORMA_CLAIM_NUMBERS = 320 };

typedef enum norma_claim_kind {
    NORMA_CLAIM_DETERMINISTIC, /* left <= right (or =) in every case */
    NORMA_CLAIM_EXPECTATION,   /* the same for means over replicas of a case */
    NORMA_CLAIM_PROBABILITY,   /* the same for a share of replicas */
    NORMA_CLAIM_CONSTANT,      /* left <= C right with a constant C that the paper leaves open */
    NORMA_N_CLAIM_KINDS
} norma_claim_kind;

/* The six verdicts, and the claims that are listed without being examined. */
typedef enum norma_claim_verdict {
    NORMA_CLAIM_NOT_VIOLATED,
    NORMA_CLAIM_VIOLATED,
    NORMA_CLAIM_VACUOUS,          /* the bound says nothing in any case */
    NORMA_CLAIM_CONSTANT_UNKNOWN, /* a constant was fitted */
    NORMA_CLAIM_NEVER_MET,        /* no case meets the hypothesis */
    NORMA_CLAIM_SHARPER_KNOWN,    /* not violated, and a sharper bound is known */
    NORMA_CLAIM_NOT_COVERED,
    NORMA_N_CLAIM_VERDICTS
} norma_claim_verdict;

/* A case: a matrix of rows x columns, row-major, then further numbers. */
typedef struct norma_claim_case {
    int64_t rows, columns;
    int64_t n_free; /* numbers that the search for counter-examples may change: the first ones */
    int64_t n;      /* numbers in all */
    double x[NORMA_CLAIM_NUMBERS];
} norma_claim_case;

typedef struct norma_claim_sides {
    bool met; /* the hypothesis holds; otherwise the rest is not looked at */
    double left, right;
    double rounding; /* bound of the rounding of left - right */
} norma_claim_sides;

/* Numbers of one stream, one behind the other. */
typedef struct norma_claim_random {
    uint64_t seed;
    norma_rng_stream stream;
    int64_t next; /* element */
    bool wide;    /* sizes of cases go up to their largest: norma_claim_size */
} norma_claim_random;

typedef struct norma_claim {
    const char *name;    /* "thesis-4.3-bound" */
    const char *summary; /* the statement, without a stop at its end */
    const char *place;   /* in the paper: "THESIS Thm 4.3" */
    norma_claim_kind kind;
    bool equal;       /* left = right, not left <= right */
    const char *form; /* "printed", "corrected" or "restricted" */
    norma_claim_verdict expected;
    const char *remark; /* a sharper form, a counter-example, the reason for no cover; or NULL */
    double sharp;       /* largest known left / right; 0: 1 */
    double trivial;     /* a right side from here on says nothing; 0: never */
    /* Draws case `number`, of which the first ones are corners. */
    void (*draw)(norma_claim_random *random, int64_t number, norma_claim_case *out);
    /* Both sides of a case; of kinds with replicas one sample of each. */
    norma_status (*evaluate)(const norma_claim_case *c, norma_claim_random *random,
                             norma_claim_sides *out);
} norma_claim;

extern const norma_names norma_claim_names;         /* all */
extern const norma_names norma_claim_kind_names;    /* indices: norma_claim_kind */
extern const norma_names norma_claim_verdict_names; /* indices: norma_claim_verdict */

/* Claim i of norma_claim_names. */
const norma_claim *norma_claim_get(int64_t i);

/* Do its two sides hold random samples? */
bool norma_claim_is_random(const norma_claim *claim);

/* Would a version of the claim that is off by 1% be false? Claims that are false as they stand, or
 * that have an open constant, have no such version. */
bool norma_claim_has_planted(const norma_claim *claim);

#endif
