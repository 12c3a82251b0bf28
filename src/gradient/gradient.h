#ifndef NORMA_GRADIENT_GRADIENT_H
#define NORMA_GRADIENT_GRADIENT_H
/*
 * Gradients of a loss (src/gradient/loss.h) in the weights of a chain (src/chain/chain.h), one
 * replica at a time: a forward pass, then a backward pass over the layers,
 *
 *     V_Z = derivative of norm and activation, V being dL/dH_(l+1)      (src/gradient/map.h)
 *     dL/dW_l = g V_Z H_l'
 *     dL/dH_l = g W_l' V_Z (+ V_Z with a skip connection).
 *
 * H is kept at the beginning of segments of layers; inside a segment it is computed again from the
 * counters, with equal bits. V is held as v 2^e with one integer e, so that gradients of any depth
 * stay in range; their norms are returned as logarithms.
 *
 * Several processes can share a wide chain (norma_gradient_join): products with W and the norms of
 * dL/dW are dealt out, and each process keeps its share of the rows of H and Z.
 */
#include "src/chain/chain.h"
#include "src/gradient/loss.h"

typedef struct norma_gradient norma_gradient;

typedef struct norma_gradient_request {
    norma_gradient_loss_spec loss;
    int64_t depth;         /* L >= 0 layers */
    int64_t segment;       /* layers of a segment; 0: all of them where they take at most 256
                              MiB, else about sqrt(L) */
    int64_t jacobian;      /* K: spectral norms of the Jacobians of windows of K layers; 0:
                              none */
    bool per_sample;       /* cosines between gradients of single samples */
    bool isometry_gap;     /* of H_l at `layers` */
    const int64_t *layers; /* [n_layers], increasing, 0 .. L; borrowed */
    int64_t n_layers;
    int64_t n_members; /* processes that share the chain; 0 or 1: alone */
} norma_gradient_request;

typedef struct norma_gradient_needs {
    double bytes; /* of the object and its chain */
    int64_t state_bytes;
    int64_t segment;        /* layers */
    int64_t most_members;   /* processes that it can be shared by */
    const char *not_shared; /* the reason why there is 1 at most, a constant; NULL when there is
                               none */
} norma_gradient_needs;

/* Makes the object and all its workspace; spec, input and request are copied after being finished
 * (their borrowed arrays must outlive it). NORMA_CONFIG for options that exclude each other: law
 * exact with jacobian (it holds for one cotangent), single precision, windows above the depth,
 * per_sample of one sample or without layers; as norma_chain_create otherwise. NORMA_LIMIT, also
 * for more members than norma_gradient_check allows. NORMA_MEMORY. Caller owns *out. */
NORMA_MUST_USE norma_status norma_gradient_create(const norma_chain_spec *spec,
                                                  const norma_chain_input *input,
                                                  const norma_gradient_request *request,
                                                  norma_gradient **out);

/* The same checks and errors but those of n_members, nothing being allocated; needs->bytes are
 * those of the member with the largest share. */
NORMA_MUST_USE norma_status norma_gradient_check(const norma_chain_spec *spec,
                                                 const norma_chain_input *input,
                                                 const norma_gradient_request *request,
                                                 norma_gradient_needs *needs);

/* Frees and nulls; NULL is allowed. */
void norma_gradient_destroy(norma_gradient **gradient);

/* From now on start, step and set_state are collective over the team, whose members hold objects of
 * equal spec, input and request and call them alike; results and states are equal on all. Needed,
 * once, where the request has several members, as many as the team. The products W' V of matrices
 * above NORMA_SOLO_MAX_SIZE take other calls of BLAS than those of one process: they are equal to
 * rounding, everything else has equal bits. `team` is borrowed. */
void norma_gradient_join(norma_gradient *gradient, const norma_chain_team *team);

/* Puts a replica's input in place. Errors as norma_chain_start and norma_gradient_loss_start. */
NORMA_MUST_USE norma_status norma_gradient_start(norma_gradient *gradient, uint64_t seed,
                                                 int64_t cell, int64_t replica);

/* One layer further: forward, again, or backward. Errors as norma_chain_step, and of the functions
 * that the head comment names. Nothing when done. */
NORMA_MUST_USE norma_status norma_gradient_step(norma_gradient *gradient);

/* True when all gradients are known. */
bool norma_gradient_is_done(const norma_gradient *gradient);

/* Layers passed, of 2 L: once forward and once backward; what is computed again does not count. */
int64_t norma_gradient_progress(const norma_gradient *gradient);

/* The results, borrowed; those of the last `norma_gradient_progress` are there, others NaN. */
typedef struct norma_gradient_result {
    double loss;
    const double *log_norm;     /* [L]: log ||dL/dW_l||_F; -inf for a gradient of 0 */
    const double *isometry_gap; /* [n_layers] of the request, or NULL */
    const double *log_jacobian; /* [L / K]: window w holds layers w K .. w K + K - 1; NULL */
    const double *cosine;       /* [N (N - 1) / 2]: pairs (0, 1), (0, 2), .., (1, 2), ..; NULL */
    int64_t n_windows, n_pairs;
} norma_gradient_result;

void norma_gradient_get_result(const norma_gradient *gradient, norma_gradient_result *result);

/* For tests: of the layer that the last step went back through, v[d][N] = dL/dZ and h[d][N] = H,
 * and their exponents: g v h' 2^(exponents) is dL/dW. */
void norma_gradient_get_layer(const norma_gradient *gradient, const double **v, int64_t *v_exponent,
                              const double **h, int64_t *h_exponent);

/* The state between two steps, for checkpoints: a fixed number of bytes, borrowed until the next
 * step, valid on the same kind of machine for equal spec, input and request. Setting it continues
 * bit for bit; a forward pass goes on from the beginning of its segment. NORMA_CONFIG for a state
 * of another size. */
void norma_gradient_get_state(norma_gradient *gradient, const void **bytes, int64_t *size);
NORMA_MUST_USE norma_status norma_gradient_set_state(norma_gradient *gradient, const void *bytes,
                                                     int64_t size);

#endif
