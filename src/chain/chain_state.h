#ifndef NORMA_CHAIN_CHAIN_STATE_H
#define NORMA_CHAIN_CHAIN_STATE_H
/*
 * Internal to src/chain: what a chain holds, and the steps that its files share. Each step is
 * defined in the file that is named above it; calls lead from chain.c downwards only.
 */
#include "src/base/team.h"
#include "src/chain/frame.h"
#include "src/chain/input.h"
#include "src/chain/kernels/lanes.h"
#include "src/chain/observables.h"
#include "src/chain/spec.h"
#include "src/chain/weights.h"

/* Behind the rows of a matrix to be factored: rows a power of two apart share few places of the
 * cache. */
#define NORMA_CHAIN_PADDING 8

/* Workspace of the measurements; sizes are those of the request. */
typedef struct norma_chain_scratch {
    double *matrix;         /* [d][N] of one lane: copy for LAPACK and extraction */
    double *singular;       /* [min(d, N)] */
    float *matrix_single;   /* [d][N] */
    float *singular_single; /* [min(d, N)] */
    double *gram;           /* [m][m][lanes], m = max of the Gram matrices asked for */
    double *square;         /* [max(d, m)][m + NORMA_CHAIN_PADDING][lanes], or rows without it */
    double *factors;        /* [2 m + 1][m][lanes] of the count by pivots, small matrices only */
    double *diagonal, *off; /* [m][lanes] */
    double *work;           /* LAPACK's, or [4][m][lanes] of the tridiagonalization */
    int64_t n_work;
    float *work_single;
    int *pivots; /* [m] */
} norma_chain_scratch;

typedef struct norma_chain norma_chain;

struct norma_chain {
    norma_chain_spec spec;
    norma_chain_input input;
    norma_observable_request request;
    norma_observable_set family[NORMA_N_OBSERVABLE_FAMILIES]; /* the wanted ones of each */
    const norma_lanes_kernels *kernels; /* of small matrices; NULL: BLAS and LAPACK */
    int lanes;                          /* 8, 4, 2 or 1 */
    int n_replicas;                     /* lanes in use */
    const norma_chain_team *team;       /* NULL: alone */
    bool scale_free;                    /* H may be held as h 2^e */
    norma_chain_draw draw;              /* draw.layer counts the layers done */
    int64_t making;                     /* the layer that messages name: 0 for the input */
    int64_t offset[NORMA_N_OBSERVABLES + 1];
    int64_t exponent[NORMA_LANES];
    double *h, *z; /* [d][N][lanes] */
    double *trace; /* [d][N][lanes]: Z of the last step goes there; NULL: nowhere; borrowed */
    double *kept_weights; /* [d][d]: the entries of W go there; NULL: into panel; borrowed */
    double *panel;        /* [panel_rows][d][lanes]; law exact: W Q [d][N] */
    int64_t panel_rows;
    float *h_single;                      /* single precision: h again, [d][N] */
    float *panel_single;                  /* [panel_rows][d] */
    float *z_single;                      /* [panel_rows][N] */
    double *mean, *square, *raw, *factor; /* [max(d, N)][lanes] of the last normalization */
    double row_bias[NORMA_LANES], column_bias[NORMA_LANES]; /* of the last layer */
    double *triangle;                /* law exact: R of H = Q R, [N][N] row-major, upper */
    double *columns;                 /* law exact: H column-major for its QR factors */
    double *reflectors, *tau, *sign; /* Haar weights */
    double *lapack;                  /* workspace of dormqr and dgeqrf */
    int64_t n_lapack;
    int64_t n_frame_state;    /* numbers of the frame's state, 0 without one */
    norma_chain_frame *frame; /* NULL unless log_sigma_min or Lyapunov exponents are wanted */
    double *gram_reference;   /* [lanes][N][N], NULL unless gram_distance is wanted */
    bool gram_from_input;     /* it is H_0's own */
    norma_chain_scratch scratch;
};

/* chain_state.c: Has it kernels of small matrices proper? Larger chains take them for products
 * alone. */
bool norma_chain_is_small(const norma_chain *chain);

/* Does the request hold the observable? */
bool norma_chain_wants(const norma_chain *chain, norma_observable observable);

/* Are Lyapunov exponents or observables of the frame wanted? */
bool norma_chain_wants_frame(const norma_chain *chain);

/* Is every row's mean subtracted? */
bool norma_chain_is_centered(const norma_chain *chain);

/* Is G*'s value known (bn before the activation)? */
bool norma_chain_has_fixed_point(const norma_chain_spec *spec);

/* values + where an observable's values of lane 0 begin. */
double *norma_chain_values_of(const norma_chain *chain, norma_observable observable,
                              double *values);

/* Copies lane `lane` of x[count][lanes] to out[count]. */
void norma_chain_extract(const norma_chain *chain, const double *x, int64_t count, int lane,
                         double *out);

/* x 2^exponent for any exponent. */
double norma_chain_scaled(double x, int64_t exponent);

/* out[N][N] = G of one lane, true scale. */
void norma_chain_gram(const norma_chain *chain, int lane, double *out);

/* prepare.c: Everything of a zeroed chain that takes no memory; errors as norma_chain_create. */
NORMA_MUST_USE norma_status norma_chain_prepare(norma_chain *chain, const norma_chain_spec *spec,
                                                const norma_chain_input *input,
                                                const norma_observable_request *request,
                                                int64_t block);

/* The reason why a team cannot compute the chain, a constant; NULL when it can. */
const char *norma_chain_why_not_shared(const norma_chain *chain);

/* workspace.c: All arrays of a prepared chain, for products, normalization and measurements. */
NORMA_MUST_USE norma_status norma_chain_workspace_create(norma_chain *chain);
void norma_chain_workspace_destroy(norma_chain *chain);

/* *bytes = what these arrays take, counted by the code that allocates them. */
NORMA_MUST_USE norma_status norma_chain_workspace_measure(const norma_chain *chain, double *bytes);

/* product.c: z = W h, or h + residual W h; the frame follows. NORMA_NUMERIC when R cannot be made.
 */
NORMA_MUST_USE norma_status norma_chain_product(norma_chain *chain);

/* normalize.c: z = what norm, activation and scales make of it; layer_gain is alpha_l.
 * chain->factor holds the rows' factors when norm is bn, bn-centered or none and the chain is
 * linear. */
NORMA_MUST_USE norma_status norma_chain_normalize(norma_chain *chain, double layer_gain);

/* Keeps the norm of z near 1 by powers of two when the spec carries it; NORMA_NUMERIC when z is not
 * finite. */
NORMA_MUST_USE norma_status norma_chain_rescale(norma_chain *chain, double *z);

/* row_bias and column_bias of z. */
void norma_chain_measure_bias(norma_chain *chain);

/* measure.c: norma_chain_measure, of observables that are all wanted. */
NORMA_MUST_USE norma_status norma_chain_measure_set(norma_chain *chain, norma_observable_set set,
                                                    double *values);

/* measure_gram.c: Observables from the Gram matrices of all lanes. */
NORMA_MUST_USE norma_status norma_chain_measure_gram(norma_chain *chain, norma_observable_set set,
                                                     double *values);

/* measure_spectrum.c: Observables of one lane from the singular values. */
NORMA_MUST_USE norma_status norma_chain_measure_spectrum(norma_chain *chain,
                                                         norma_observable_set set, int lane,
                                                         double *values);

/* *count = number of singular values of h of one lane that are at least `least` and more than
 * rounding (max(d, N) u of the largest). */
NORMA_MUST_USE norma_status norma_chain_count_singular(norma_chain *chain, int lane, double least,
                                                       double *count);

#endif
