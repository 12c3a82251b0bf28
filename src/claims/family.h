#ifndef NORMA_CLAIMS_FAMILY_H
#define NORMA_CLAIMS_FAMILY_H
/* Internal to src/claims: the families of claims, and what their draws and sides share. Matrices
 * are row-major, of at most NORMA_CLAIM_WIDTH rows and columns. */
#include "src/claims/claim.h"
#include "src/claims/depth.h"
#include "src/claims/feature_matrix.h"
#include "src/claims/invariant.h"
#include "src/claims/isometry.h"
#include "src/claims/kernel.h"
#include "src/claims/mean_field.h"
#include "src/claims/orthogonality.h"
#include "src/claims/rank.h"
#include "src/claims/region.h"
#include "src/claims/source.h"
#include "src/claims/sparse.h"

/* All claims that are examined; a row is
 * X(name, place in the paper, statement, kind, equality, form, expected verdict, remark, sharpest
 * known left / right (0: 1), right side that says nothing (0: none), draw, sides). */
#define NORMA_CLAIMS(X)                                                                            \
    NORMA_CLAIMS_DEPTH(X)                                                                          \
    NORMA_CLAIMS_FEATURES(X)                                                                       \
    NORMA_CLAIMS_INVARIANT(X)                                                                      \
    NORMA_CLAIMS_ISOMETRY(X)                                                                       \
    NORMA_CLAIMS_KERNEL(X)                                                                         \
    NORMA_CLAIMS_MEAN_FIELD(X)                                                                     \
    NORMA_CLAIMS_ORTHOGONALITY(X)                                                                  \
    NORMA_CLAIMS_RANK(X)                                                                           \
    NORMA_CLAIMS_REGION(X)                                                                         \
    NORMA_CLAIMS_SOURCE(X)                                                                         \
    NORMA_CLAIMS_SPARSE(X)

/* A family defines two functions: one draws cases, the other evaluates both sides. */
#define NORMA_CLAIM_DRAW(label)                                                                    \
    void norma_claim_draw_##label(norma_claim_random *random, int64_t number, norma_claim_case *out)
#define NORMA_CLAIM_SIDES(label)                                                                   \
    norma_status norma_claim_sides_##label(const norma_claim_case *c, norma_claim_random *random,  \
                                           norma_claim_sides *out)

/* Sides that another function computes: in one of several forms of a claim, or of several claims.
 */
#define NORMA_CLAIM_FORM(label, call)                                                              \
    NORMA_CLAIM_SIDES(label)                                                                       \
    {                                                                                              \
        (void)random;                                                                              \
        return call;                                                                               \
    }

#define NORMA_CLAIM_DECLARE(id, where, text, kind_, equal_, form_, verdict, note, sharp_,          \
                            trivial_, drawn, evaluated)                                            \
    NORMA_CLAIM_DRAW(drawn);                                                                       \
    NORMA_CLAIM_SIDES(evaluated);
NORMA_CLAIMS(NORMA_CLAIM_DECLARE)

/* --- random numbers --------------------------------------------------------------------------- */

double norma_claim_uniform(norma_claim_random *random);
double norma_claim_normal(norma_claim_random *random);

/* out[n]. */
void norma_claim_uniforms(norma_claim_random *random, int64_t n, double *out);
void norma_claim_normals(norma_claim_random *random, int64_t n, double *out);

/* low .. high, each with the same probability. */
int64_t norma_claim_integer(norma_claim_random *random, int64_t low, int64_t high);

/* A size of a case: the same, with `most` in the place of `high` where random->wide. */
int64_t norma_claim_size(norma_claim_random *random, int64_t low, int64_t high, int64_t most);

/* q [n][n] = a Haar orthogonal matrix. */
norma_status norma_claim_haar(norma_claim_random *random, int64_t n, double *q);

/* --- matrices --------------------------------------------------------------------------------- */

/* c[m][n] = a[m][k] b[k][n]; a or b transposed where asked: a is then [k][m], b [n][k]. */
void norma_claim_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                         const double *a, const double *b, double *c);

/* values[min(rows, columns)] = the singular values, descending. */
norma_status norma_claim_singular(int64_t rows, int64_t columns, const double *a, double *values);

/* u [rows][rows] = left singular vectors as columns, for rows <= columns. */
norma_status norma_claim_left_vectors(int64_t rows, int64_t columns, const double *a, double *u);

/* x[n] = the solution of a x = b, a [n][n]; false where a is singular. */
bool norma_claim_solve(int64_t n, const double *a, const double *b, double *x);

/* q [n][n] = the orthogonal factor of a's QR with a positive diagonal; false where a is singular.
 */
bool norma_claim_orthogonalize(int64_t n, const double *a, double *q);

/* Rows to the norm `norm`, in place; false where one vanishes. */
bool norma_claim_normalize_rows(int64_t rows, int64_t columns, double norm, double *a);

/* to[columns][rows] = the transpose. */
void norma_claim_transpose(int64_t rows, int64_t columns, const double *a, double *to);

/* Isometry of a a' (rows <= columns) by singular values: det(a a')^(1/rows) / (tr / rows). *gap =
 * -log of it, *rounding = bound of the gap's error; infinite where a is singular to rounding. */
norma_status norma_claim_isometry(int64_t rows, int64_t columns, const double *a, double *gap,
                                  double *rounding);

/* 1 + variance / mean^2 of n positive numbers. */
double norma_claim_spread(int64_t n, const double *values);

/* The right side is the entry of target[n] of largest size, the left one that entry plus the
 * largest deviation of source[n] from target[n]; scale[n] bounds the terms that were summed. The
 * hypothesis is not met where rounding comes near the target. */
void norma_claim_compare(int64_t n, const double *source, const double *target, const double *scale,
                         norma_claim_sides *out);

/* product[c2 c0 taps][c1] = the composed weights of each middle channel of a source pair alone, at
 * the positions p + q of second [c2][c1][k2] and first [c1][c0][k1]; taps = k1 + k2 - 1. shape: c2,
 * c1, c0, k2, k1. */
void norma_claim_compose(const int64_t shape[5], const double *second, const double *first,
                         double *product);

/* v[n] without its components along basis[count], orthonormal, row k of which begins at k stride.
 * In two passes. */
void norma_claim_project_out(int64_t n, int64_t count, int64_t stride, const double *basis,
                             double *v);

/* RANK20: next[d][d] = BN((1 + gamma W) h), rows of norm 1; false where a row vanishes. */
bool norma_claim_residual_layer(int64_t d, double gamma, const double *w, const double *h,
                                double *next);

/* Tr M^3 and Tr diag(M^2)^2 of m [d][d]. */
void norma_claim_traces(int64_t d, const double *m, double *cube, double *diagonal);

/* All orders of three rows, of which the first two are those of two. */
extern const int norma_claim_orders[6][3];

/* max |x[i]| of n numbers. */
double norma_claim_largest(int64_t n, const double *x);

/* Is a [n][n] regular, with a condition below 1e4? */
bool norma_claim_regular(int64_t n, const double *a);

/* n normal numbers behind those of the case. */
void norma_claim_append_normals(norma_claim_random *random, int64_t n, norma_claim_case *out);

/* --- cases ------------------------------------------------------------------------------------ */

/* c2, c1, c0, k2, k1 as norma_claim_compose, with as many middle channels as there are composed
 * weights, 2 to NORMA_CLAIM_WIDTH. Returns their number. */
int64_t norma_claim_draw_shape(norma_claim_random *random, int64_t shape[5]);

/* A matrix of rows x columns as cases need it: by `number` the identity, nearly rank one, rows of
 * very different or of huge and tiny scales, nearly orthogonal, else normal numbers. */
void norma_claim_draw_matrix(norma_claim_random *random, int64_t number, int64_t rows,
                             int64_t columns, norma_claim_case *out);

#endif
