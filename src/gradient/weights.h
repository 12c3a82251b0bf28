#ifndef NORMA_GRADIENT_WEIGHTS_H
#define NORMA_GRADIENT_WEIGHTS_H
/*
 * Internal to src/gradient: products with the weights of one layer, W V, W' V and the norm of V H',
 * for matrices V, H [d][N] of one replica. W is drawn from the counters of the chain
 * (src/chain/weights.h).
 *
 * Law exact (N < d): the forward pass drew Z = W Q only, H = Q R. The backward pass needs
 *
 *     W' V = Q Z'V + (1 - QQ') B,
 *
 * B drawn afresh, independent of the forward pass: with V = q r, B = F r, and F independent normals
 * of W's variance for normal laws; for Haar weights q r = (1 - ZZ')V and F a uniform frame of
 * min(N, d - N) columns in the complement of Q. Equal in law to drawing W for one cotangent.
 *
 * The functions are collective over the team of `share`; V, H and what comes out are equal on all.
 */
#include "src/chain/kernels/lanes.h"
#include "src/chain/weights.h"
#include "src/gradient/share.h"

typedef struct norma_gradient_weights {
    const norma_chain_spec *spec;       /* borrowed */
    const norma_gradient_share *share;  /* borrowed */
    norma_chain_draw draw;              /* of the current layer */
    const double *kept;                 /* its entries [d][d]; NULL: drawn; borrowed */
    const norma_lanes_kernels *kernels; /* of matrices up to NORMA_SOLO_MAX_SIZE; NULL: BLAS */
    bool haar, exact;
    bool thin; /* the norm of V H' goes through R of H = Q R */
    int64_t panel_rows, n_lapack;
    double *panel;      /* [panel_rows][d] */
    double *parts;      /* [panels]: of the norm of V H' */
    double *reflectors; /* Haar: column-major [d, d], of law exact [d, N] */
    double *tau, *sign; /* [d] */
    double *lapack;     /* [n_lapack] */
    double *columns;    /* column-major [d, N] */
    double *triangle;   /* [N][N] */
    double *q, *fresh;  /* law exact: Q and F, column-major [d, N] */
    double *image;      /* law exact: Z [d][N] */
    double *complement; /* law exact, Haar: Z in reflectors, column-major [d, N] */
    double *small;      /* law exact: [N][N] */
} norma_gradient_weights;

/* Measures or allocates the arrays: src/base/mem_place.h. `spec` is finished; both are borrowed. */
NORMA_MUST_USE norma_status norma_gradient_weights_place(norma_gradient_weights *weights,
                                                         const norma_chain_spec *spec,
                                                         const norma_gradient_share *share,
                                                         double *bytes);
void norma_gradient_weights_clear(norma_gradient_weights *weights);

/* out[d][N] = g W v, plus v for layers with a skip connection; only law pathwise. `out` and `v` do
 * not overlap. NORMA_LIBRARY when LAPACK fails. */
NORMA_MUST_USE norma_status norma_gradient_weights_apply(norma_gradient_weights *weights,
                                                         const double *v, double *out);

/* out[d][N] = g W' v, plus v for layers with a skip connection. h[d][N] is the layer's H, of use
 * for law exact. `out` and `v` do not overlap. NORMA_LIBRARY when LAPACK fails. */
NORMA_MUST_USE norma_status norma_gradient_weights_back(norma_gradient_weights *weights,
                                                        const double *h, const double *v,
                                                        double *out);

/* *norm = g || V H' ||_F, from the product itself or from V R', H = Q R, never from Gram matrices;
 * h is scaled by 2^shift on the way. NORMA_LIBRARY when LAPACK fails. */
NORMA_MUST_USE norma_status norma_gradient_weights_norm(norma_gradient_weights *weights,
                                                        const double *v, const double *h, int shift,
                                                        double *norm);

/* g of layers with a skip connection, else 1. */
double norma_gradient_weights_strength(const norma_chain_spec *spec);

/* exact.c: out = g W' v by the formula above, plus v with a skip connection. */
NORMA_MUST_USE norma_status norma_gradient_exact_back(norma_gradient_weights *weights,
                                                      const double *h, const double *v,
                                                      double *out);

/* Householder's QR of x, column-major [rows, columns], in LAPACK's form; tau holds the factors. */
NORMA_MUST_USE norma_status norma_gradient_qr(norma_gradient_weights *weights, int64_t rows,
                                              int64_t columns, double *x);

/* x[d][columns] (row-major) = W x, or W' x, for the k reflectors and signs held. */
NORMA_MUST_USE norma_status norma_gradient_reflect(norma_gradient_weights *weights, int64_t k,
                                                   bool transposed, int64_t columns, double *x);

#endif
