#ifndef NORMA_FEATURES_WIDTH_RULE_H
#define NORMA_FEATURES_WIDTH_RULE_H
/*
 * The linear system for gamma1 that a target and a width rule make of KR.
 *
 * max (CNN24 Theorem 2.3): KR gamma1 = vec(Wt), gamma2 = 1; n = c2 c0 |K| rows.
 * min (CNN24 Theorem 2.2): with the pivot piv(i) = argmax |Wt[i,.,.]| of every output channel and
 * the ratios r_I = Wt_I / Wt_piv(i), the rows M[I,J] = KR[I,J] - r_I KR[piv(i),J], I no pivot,
 * give M gamma1 = 0. One closing row of equal entries, as long as the root-mean-square row of M,
 * asks for sum(gamma1) = 1; then gamma2_i = Wt_piv(i) / (KR[piv(i),:] gamma1). An output channel
 * whose target is zero gets gamma2_i = 0 and leaves the system.
 *
 * "Rows" below are M's in the order of I; the "system" is M with the closing row, if any, last.
 */
#include "src/base/status.h"
#include "src/features/khatri_rao.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_width { NORMA_WIDTH_MAX, NORMA_WIDTH_MIN, NORMA_N_WIDTHS } norma_width;

/* The rule named `name` ("max", "min"); NORMA_CONFIG otherwise. */
NORMA_MUST_USE norma_status norma_width_from_name(const char *name, norma_width *out);

/* The name of a rule; a constant string. */
const char *norma_width_name(norma_width width);

typedef struct norma_width_rule {
    norma_khatri_rao_shape shape;
    norma_width width;
    int64_t n;          /* rows of KR, c2 c0 |K| */
    int64_t row_length; /* of one output channel, c0 |K| */
    int64_t n_active;   /* output channels in the system */
    int64_t n_rows;     /* rows of M */
    int64_t n_system;   /* n_rows, and 1 for the closing row of the min rule */
    double scale;       /* power of two that the target was divided by */
    double closing;     /* the entries of the closing row; 0 with the max rule */
    double *target;     /* [n], owned; Wt / scale, its largest entry in [1, 2) */
    double *ratio;      /* [n], owned; min rule only */
    int64_t *pivot;     /* [c2], owned; position in the channel's row, -1 when it has left */
    int64_t *active;    /* [n_active], owned; the channels in the system, in order */
} norma_width_rule;

/* The smallest c1 for which the rule promises an exact answer: n (max), n - c2 + 1 with c2 and n
 * counting the channels whose target is not zero (min). target [c2][c0][|K|], embedded in K; NULL
 * counts every channel. */
int64_t norma_width_rule_minimum(norma_width width, const norma_khatri_rao_shape *shape,
                                 const double *target);

/* Builds the rule for an embedded target [c2][c0][|K|], which is copied and divided by a power of
 * two, so that no square of it leaves the range of doubles: with the max rule gamma1, with the min
 * rule gamma2, is to be multiplied by `scale` in the end. NORMA_CONFIG, naming the index, for a
 * value that is not finite or above 1e140. Caller owns *out. */
NORMA_MUST_USE norma_status norma_width_rule_create(norma_width width,
                                                    const norma_khatri_rao_shape *shape,
                                                    const double *target, norma_width_rule **out);

/* rows[n_rows] = the rows of M g, from full[n] = KR g. */
void norma_width_rule_restrict(const norma_width_rule *rule, const double *full, double *rows);

/* full[n] such that KR' full = M' rows, from rows[n_rows]. */
void norma_width_rule_expand(const norma_width_rule *rule, const double *rows, double *full);

/* rhs[n_system]: the target (max), or zeros closed by `closing` (min). */
void norma_width_rule_rhs(const norma_width_rule *rule, double *rhs);

/* out[count] = entries start .. start + count - 1 of a feature's column of the system. `second`
 * [c2][|K2|] and `first` [c0][|K1|] are its weights. Equal weights give equal bits whatever the
 * range. Reentrant. */
void norma_width_rule_fill(const norma_width_rule *rule, const double *second, const double *first,
                           int64_t start, int64_t count, double *out);

/* Sets `closing` from the sum of squares of all n_features columns of M (min rule): the entries of
 * a row as long as M's root-mean-square one. Nothing to do with the max rule. */
void norma_width_rule_set_closing(norma_width_rule *rule, double sum_of_squares,
                                  int64_t n_features);

/* gamma2[c2] of the scaled target from full[n] = KR gamma1. NORMA_NUMERIC, naming the channel, when
 * a pivot that should carry an output channel is zero or not finite: no gamma2 can rescale it. */
NORMA_MUST_USE norma_status norma_width_rule_recover(const norma_width_rule *rule,
                                                     const double *full, double *gamma2);

/* Bytes that norma_width_rule_create allocates for these shapes. */
double norma_width_rule_bytes(norma_width width, const norma_khatri_rao_shape *shape);

/* Frees and nulls; NULL is allowed. */
void norma_width_rule_destroy(norma_width_rule **rule);

#endif
