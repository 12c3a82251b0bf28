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
 * A frozen skip connection Ws beside the pair (CNN24 section 2.2, "Residual blocks") joins it
 * behind gamma2 (inner: diag(gamma2) KR gamma1 + Ws = Wt) or in front of it (outer: diag(gamma2)
 * (KR gamma1 + Ws) = Wt). Inner, and outer with the max rule, whose gamma2 is 1: the same systems
 * for the target Wt - Ws. Outer with the min rule: gamma2_i (KR[piv(i),:] gamma1 + Ws_piv(i)) =
 * Wt_piv(i) turns the rows into M gamma1 = c with c_I = r_I Ws_piv(i) - Ws_I, r and piv those of Wt
 * (CNN24 Eq. (3) with its right-hand side corrected); there is no closing row and gamma1 is not
 * normalized.
 *
 * "Rows" below are M's in the order of I; the "system" is M with the closing row, if any, last.
 */
#include "src/base/names.h"
#include "src/base/status.h"
#include "src/features/khatri_rao.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_width { NORMA_WIDTH_MAX, NORMA_WIDTH_MIN, NORMA_N_WIDTHS } norma_width;

extern const norma_names norma_width_names;

/* The rule named `name` ("max", "min"); NORMA_CONFIG otherwise. */
NORMA_MUST_USE norma_status norma_width_from_name(const char *name, norma_width *out);

/* The name of a rule; a constant string. */
const char *norma_width_name(norma_width width);

typedef enum norma_residual {
    NORMA_RESIDUAL_NONE,
    NORMA_RESIDUAL_INNER, /* the skip joins behind gamma2 */
    NORMA_RESIDUAL_OUTER, /* the skip joins in front of gamma2 */
    NORMA_N_RESIDUALS
} norma_residual;

extern const norma_names norma_residual_names;

/* "none", "inner", "outer"; NORMA_CONFIG otherwise. */
NORMA_MUST_USE norma_status norma_residual_from_name(const char *name, norma_residual *out);
const char *norma_residual_name(norma_residual residual);

typedef struct norma_width_rule {
    norma_khatri_rao_shape shape;
    norma_width width;
    norma_residual residual;
    bool closed;        /* the system has a closing row, and gamma1 sums to 1 */
    bool skip_inside;   /* gamma2 multiplies the skip as well (outer, min) */
    int64_t n;          /* rows of KR, c2 c0 |K| */
    int64_t row_length; /* of one output channel, c0 |K| */
    int64_t n_active;   /* output channels in the system */
    int64_t n_rows;     /* rows of M */
    int64_t n_system;   /* n_rows, and 1 for the closing row */
    double scale;       /* power of two that the target was divided by */
    double closing;     /* the entries of the closing row; 0 without one */
    double size;        /* ||Wt|| / scale */
    double *target;     /* [n], owned; Wt / scale (Wt - Ws where gamma2 does not multiply Ws); the
                           largest entry (of both where gamma2 multiplies Ws) is in [1, 2) */
    double *skip;       /* [n], owned; Ws / scale; NULL without a skip connection */
    double *ratio;      /* [n], owned; min rule only */
    int64_t *pivot;     /* [c2], owned; position in the channel's row, -1 when it has left */
    int64_t *active;    /* [n_active], owned; the channels in the system, in order */
} norma_width_rule;

/* The smallest c1 for which the rule promises an exact answer: n (max), n - c2 + 1 with c2 and n
 * counting the channels whose target is not zero (min). target [c2][c0][|K|], embedded in K; NULL
 * counts every channel. Beside a skip connection `skip`, embedded like the target, the channels
 * count whose Wt - Ws is not zero, where that decides (every one while skip is NULL, not yet
 * known); outer with the min rule: n - c2, at least 1. */
int64_t norma_width_rule_minimum(norma_width width, norma_residual residual,
                                 const norma_khatri_rao_shape *shape, const double *target,
                                 const double *skip);

/* (1 + overparam) n_minimum features, rounded up; rounding of the product adds none. */
double norma_width_rule_overparametrized(int64_t n_minimum, double overparam);

/* NORMA_CONFIG where the rule leaves no equation for gamma1, whatever the target: outer with the
 * min rule and rows of one entry. */
NORMA_MUST_USE norma_status norma_width_rule_check(norma_width width, norma_residual residual,
                                                   const norma_khatri_rao_shape *shape);

/* Builds the rule for an embedded target [c2][c0][|K|], which is copied and divided by a power of
 * two, so that no square of it leaves the range of doubles: with the max rule gamma1, with the min
 * rule gamma2, is to be multiplied by `scale` in the end. NORMA_CONFIG, naming the index, for a
 * value that is not finite or above 1e140. Caller owns *out. */
NORMA_MUST_USE norma_status norma_width_rule_create(norma_width width,
                                                    const norma_khatri_rao_shape *shape,
                                                    const double *target, norma_width_rule **out);

/* The same beside a skip connection Ws, `skip` [c2][c0][|K|] embedded in K like the target (ignored
 * and may be NULL with NORMA_RESIDUAL_NONE). With outer and the min rule gamma1 is to be multiplied
 * by `scale` in the end, as with the max rule; gamma2 is right as it is. NORMA_CONFIG also where no
 * equation is left (outer, min, rows of one entry). */
NORMA_MUST_USE norma_status norma_width_rule_create_residual(
    norma_width width, norma_residual residual, const norma_khatri_rao_shape *shape,
    const double *target, const double *skip, norma_width_rule **out);

/* rows[n_rows] = the rows of M g, from full[n] = KR g. */
void norma_width_rule_restrict(const norma_width_rule *rule, const double *full, double *rows);

/* full[n] such that KR' full = M' rows, from rows[n_rows]. */
void norma_width_rule_expand(const norma_width_rule *rule, const double *rows, double *full);

/* rhs[n_system]: the target (max), zeros closed by `closing` (min), c (min, outer). */
void norma_width_rule_rhs(const norma_width_rule *rule, double *rhs);

/* out[count] = entries start .. start + count - 1 of a feature's column of the system. `second`
 * [c2][|K2|] and `first` [c0][|K1|] are its weights. Equal weights give equal bits whatever the
 * range. Reentrant. */
void norma_width_rule_fill(const norma_width_rule *rule, const double *second, const double *first,
                           int64_t start, int64_t count, double *out);

/* Sets `closing` from the sum of squares of all n_features columns of M: the entries of a row as
 * long as M's root-mean-square one. Nothing to do without a closing row. */
void norma_width_rule_set_closing(norma_width_rule *rule, double sum_of_squares,
                                  int64_t n_features);

/* error[n] = what the pair and its skip compute of the scaled target, less that target, from
 * full[n] = KR gamma1. */
void norma_width_rule_error(const norma_width_rule *rule, const double *full, const double *gamma2,
                            double *error);

/* ||Ws|| of the scaled target, its rows multiplied by gamma2[c2] where that multiplies the skip; 0
 * without one. */
double norma_width_rule_skip_norm(const norma_width_rule *rule, const double *gamma2);

/* gamma2[c2] of the scaled target from full[n] = KR gamma1. NORMA_NUMERIC, naming the channel, when
 * a pivot that should carry an output channel is zero or not finite: no gamma2 can rescale it. */
NORMA_MUST_USE norma_status norma_width_rule_recover(const norma_width_rule *rule,
                                                     const double *full, double *gamma2);

/* Bytes that norma_width_rule_create_residual allocates for these shapes. Pure. */
double norma_width_rule_bytes(norma_width width, norma_residual residual,
                              const norma_khatri_rao_shape *shape);

/* Frees and nulls; NULL is allowed. */
void norma_width_rule_destroy(norma_width_rule **rule);

#endif
