#ifndef NORMA_FEATURES_STRUCTURAL_RANK_H
#define NORMA_FEATURES_STRUCTURAL_RANK_H
/*
 * The rank that the zeros of the source weights leave to the system of a width rule (EXP23 Theorem
 * 3): a maximum matching of rows (i,j,k) and features in the support of KR.
 *
 * Row (i,j,k) meets feature J where W2[i,J,p] W1[J,j,q] is nonzero for some p + q = k. Each such
 * product names its row, so that no two permutations share a monomial of a determinant: for weights
 * of continuous laws and any K1, K2 the matching has the size of the rank with probability 1.
 * Weights of a discrete law, such as er-sign, may have a smaller rank.
 *
 * With the min rule each output channel has a virtual column, joined to those of its rows whose
 * target is not zero: the rank of M is the matching's size less the number of these columns. A
 * solution that scales channel i to its target exists where some maximum matching leaves the
 * channel's virtual column out.
 *
 * Features are added one after the other; each begins one search for an augmenting path. Rows that
 * a failed search reached can never become free again and are not visited any more. No list of
 * edges is kept: one byte a weight, and five numbers a row.
 */
#include "src/features/width_rule.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_structural norma_structural;

typedef struct norma_structural_rank {
    int64_t n_features;  /* features added so far */
    int64_t n_system;    /* rows of the system, the closing row included */
    int64_t rank;        /* of the system */
    int64_t deficiency;  /* min(n_system, n_features) - rank */
    int64_t n_lost;      /* min rule: output channels that no solution scales to their target;
                            0 while there are fewer features than rows */
    int64_t least_width; /* features after which the rank was n_system and no channel lost for the
                            first time; 0 while there are too few */
} norma_structural_rank;

/* Makes the empty system of a rule, which is borrowed and must outlive *out. NORMA_MEMORY. Caller
 * owns *out. */
NORMA_MUST_USE norma_status norma_structural_create(const norma_width_rule *rule,
                                                    norma_structural **out);

/* Adds n features with weights second [n][c2][|K2|] and first [n][c0][|K1|], of which only the
 * zeros count. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_structural_add(norma_structural *structural, int64_t n,
                                                 const double *second, const double *first);

/* The rank of the system with the features added so far. */
norma_structural_rank norma_structural_get(const norma_structural *structural);

/* Bytes that the system holds at most while it grows to n_features features. Pure. */
double norma_structural_bytes(const norma_khatri_rao_shape *shape, int64_t n_features);

/* Frees and nulls; NULL is allowed. */
void norma_structural_destroy(norma_structural **structural);

#endif
