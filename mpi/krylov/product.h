#ifndef NORMA_MPI_KRYLOV_PRODUCT_H
#define NORMA_MPI_KRYLOV_PRODUCT_H
/*
 * KR, M and the closed system as operators, their features distributed over ranks.
 *
 * Every rank has a contiguous share of the features and multiplies with their weights by
 * src/features/khatri_rao; it stores them, or draws them again in every product. Vectors over
 * features are distributed likewise; vectors over equations are replicated, and one all-reduce of
 * n + 2 numbers makes them. On a fixed number of ranks and threads results have the same bits in
 * every run.
 *
 * Products are in double precision. Where the operator has single-precision weights as well,
 * norma_product_set_single_local chooses them for the products that follow: 2^-24 for 2^-53, at
 * twice the speed. Vectors are of doubles in either case.
 */
#include "src/base/status.h"
#include "src/features/width_rule.h"
#include "src/random/tensor.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Which equations a product is about; see src/features/width_rule.h. */
typedef enum norma_product_form {
    NORMA_PRODUCT_FULL,  /* KR: n rows */
    NORMA_PRODUCT_ROWS,  /* M: n_rows */
    NORMA_PRODUCT_SYSTEM /* M and its closing row: n_system */
} norma_product_form;

/* How the weights are kept. Zeros: stored, in double precision. */
typedef struct norma_product_mode {
    bool single;      /* in single precision as well */
    bool regenerated; /* not stored: each product draws them again, with the same bits */
} norma_product_mode;

/* Numbers that travel with the n rows of KR in every sum over ranks. */
#define NORMA_PRODUCT_EXTRA 2

typedef struct norma_product norma_product;

/* The operator of the leading n_features features of w1 [.][c0 |K1|] and w2 [.][c2 |K2|]; settles
 * the closing row of `rule` from all of them. Collective over comm. rule, tensors and comm are
 * borrowed and must outlive *out, which the caller owns. mode NULL: zeros. NORMA_CONFIG, naming
 * tensor and feature, for weights that are not finite or too large to be squared. */
NORMA_MUST_USE norma_status norma_product_create(MPI_Comm comm, norma_width_rule *rule,
                                                 const norma_tensor *w1, const norma_tensor *w2,
                                                 int64_t n_features, const norma_product_mode *mode,
                                                 norma_product **out);

/* Bytes that norma_product_create allocates on the rank that holds most. mode NULL: zeros. */
double norma_product_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_features,
                                 int n_ranks, const norma_product_mode *mode);

/* Sets the precision of the products that follow; returns false where the operator lacks it. */
bool norma_product_set_single_local(norma_product *product, bool single);

/* Equations of a form, and features in all. */
int64_t norma_product_n_rows_local(const norma_product *product, norma_product_form form);
int64_t norma_product_n_features_local(const norma_product *product);

/* The communicator that it was made over. */
MPI_Comm norma_product_comm_local(const norma_product *product);

/* The features of this rank: *first .. *first + returned count - 1. */
int64_t norma_product_share_local(const norma_product *product, int64_t *first);

/* Features whose column of KR is zero (all of their weights in one of the layers are), and the
 * first of them, -1 if there is none. */
int64_t norma_product_zero_features_local(const norma_product *product, int64_t *first);

/* Flops of one product with KR or its transpose, over all ranks. */
double norma_product_flops_local(const norma_product *product);

/* y[rows of the form] = operator times x[share]. Collective. */
void norma_product_apply(norma_product *product, norma_product_form form, const double *x,
                         double *y);

/* x[share] = transpose times y[rows of the form], y equal on all ranks. No communication. */
void norma_product_apply_transpose_local(norma_product *product, norma_product_form form,
                                         const double *y, double *x);

/* One pass over the features: x[share] <- transpose times u + keep x, then y = operator times x,
 * and the square of the norm of x over all ranks is returned. u and y may be the same array; with
 * keep = 0 x is not read. Collective: one all-reduce. */
double norma_product_apply_both(norma_product *product, norma_product_form form, const double *u,
                                double keep, double *x, double *y);

/* all[n_features] = the shares x of all ranks, on all ranks. Collective. */
void norma_product_gather(const norma_product *product, const double *x, double *all);

/* Frees and nulls; NULL is allowed. Local. */
void norma_product_destroy_local(norma_product **product);

#endif
