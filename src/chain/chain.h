#ifndef NORMA_CHAIN_CHAIN_H
#define NORMA_CHAIN_CHAIN_H
/*
 * The Markov chain H_0, H_1, .. of a batch of samples through random layers (src/chain/spec.h),
 * for a block of replicas that one core computes together: 8, 4 or 2 of them in vector lanes
 * where width and batch are at most 64, one otherwise (with kernels of our own for matrices up to
 * 256, with BLAS beyond). A replica's numbers
 * depend on seed, cell and its own index only, not on the block it is computed in.
 *
 * H is kept as h 2^e with one integer e a replica, so that inputs scaled by 1e150 and unnormalized
 * chains of any depth stay in range.
 */
#include "src/base/team.h"
#include "src/chain/input.h"
#include "src/chain/observables.h"
#include "src/chain/spec.h"

#include <stdint.h>

typedef struct norma_chain norma_chain;

/* Makes a chain and all its workspace; spec and input are copied after being finished (their
 * borrowed arrays must outlive the chain), the request is copied. The chain takes the largest block
 * of at most `block` replicas that it can (norma_lanes_get_block): 8, 4, 2 or 1, with equal bits.
 * Defaults of gram_distance: the fixed point of src/theory/gram_map.h for bn and bn-centered,
 * H_0's own Gram matrix for unnormalized linear chains. NORMA_CONFIG where an observable is not
 * defined for the chain: log_sigma_min and Lyapunov exponents of nonlinear chains, ln and rms, or a
 * batch above the width; gram_distance without a reference; cosine and gram_12 of a batch of 1.
 * NORMA_LIMIT, NORMA_MEMORY. Caller owns *out. */
NORMA_MUST_USE norma_status norma_chain_create(const norma_chain_spec *spec,
                                               const norma_chain_input *input,
                                               const norma_observable_request *request,
                                               int64_t block, norma_chain **out);

/* Sizes of a chain: replicas of a block, bytes of the chain and of its state. */
typedef struct norma_chain_needs {
    int lanes;
    double bytes;
    int64_t state_bytes;
    const char *not_shared; /* why a team cannot compute it, a constant; NULL when it can */
} norma_chain_needs;

/* The same checks and errors as norma_chain_create, nothing being allocated. */
NORMA_MUST_USE norma_status norma_chain_check(const norma_chain_spec *spec,
                                              const norma_chain_input *input,
                                              const norma_observable_request *request,
                                              int64_t block, norma_chain_needs *needs);

/* From now on start, step and measure are collective over the team, whose members hold equal chains
 * and call them alike; values and states are equal on all. Panels of W's rows are dealt out, and
 * observables to be measured; every number has the bits that one process alone gives it. The chain
 * must be one that can be shared (norma_chain_needs). `team` is borrowed. */
void norma_chain_join(norma_chain *chain, const norma_chain_team *team);

/* Frees and nulls; NULL is allowed. */
void norma_chain_destroy(norma_chain **chain);

/* Replicas of a block: 8, 4, 2 or 1. Values of `norma_chain_measure` have this many lanes. */
int norma_chain_n_lanes(const norma_chain *chain);

/* Puts H_0 of replicas first .. first + count - 1 in place, 1 <= count <= n_lanes. layer = 0.
 * NORMA_LIMIT for a cell or replica beyond the counters, NORMA_NUMERIC as norma_chain_step. */
NORMA_MUST_USE norma_status norma_chain_start(norma_chain *chain, uint64_t seed, int64_t cell,
                                              int64_t first_replica, int64_t count);

/* H_l to H_(l+1), W_l drawn with l as its layer. NORMA_NUMERIC, naming layer, replica and row (or
 * column), when a row has no variance and bn_eps is 0, or a value is not finite; NORMA_LIMIT beyond
 * the counters' layers; NORMA_CONFIG beyond the given weights. */
NORMA_MUST_USE norma_status norma_chain_step(norma_chain *chain);

/* Its finished spec; borrowed. */
const norma_chain_spec *norma_chain_get_spec(const norma_chain *chain);

/* From now on every step copies Z_l = W H (or H + residual W H), as it is before normalization, to
 * z[d][N][lanes], in the scale that H_l is held in. NULL ends that. `z` is borrowed. */
void norma_chain_trace(norma_chain *chain, double *z);

/* From now on every step leaves the entries of W that it drew in w[d][d], before they are scaled.
 * NULL ends that. Only for chains of one lane, not shared, for which norma_chain_draws_rows is
 * true. `w` is borrowed. */
void norma_chain_keep_weights(norma_chain *chain, double *w);

/* Are the weights drawn by rows (law pathwise, double precision, entries drawn one by one)? */
bool norma_chain_draws_rows(const norma_chain_spec *spec);

/* Layers done since start. */
int64_t norma_chain_get_layer(const norma_chain *chain);

/* Where the values of an observable begin among all those requested. */
int64_t norma_chain_offset(const norma_chain *chain, norma_observable observable);

/* Length of the array below, without lanes. */
int64_t norma_chain_n_values_all(const norma_chain *chain);

/* values[n_values_all][n_lanes]: the observables of `set`, a subset of the request, at their
 * offsets; others are left alone, and so are lanes without a replica. An undefined ratio (H = 0) is
 * NaN, an infinite gap or a value beyond the range +inf. Does not change the chain. NORMA_LIBRARY
 * when LAPACK fails. */
NORMA_MUST_USE norma_status norma_chain_measure(norma_chain *chain, norma_observable_set set,
                                                double *values);

/* out[d][N] = h of one lane, *exponent = e: H = out * 2^e. */
void norma_chain_get_matrix(const norma_chain *chain, int lane, double *out, int64_t *exponent);

/* Lyapunov exponents of a lane: out[min(d, N)] = mean of log R_kk over the layers since start (or
 * since norma_chain_reset_lyapunov, for burn-in); NaN before the first. Only when requested. */
void norma_chain_get_lyapunov(const norma_chain *chain, int lane, double *out);
void norma_chain_reset_lyapunov(norma_chain *chain);

/* The state between two layers, for checkpoints: a fixed number of bytes, valid on the same kind of
 * machine for an equal spec, input and request; `bytes` is aligned for double. Setting it continues
 * bit for bit. */
int64_t norma_chain_state_size(const norma_chain *chain);
void norma_chain_get_state(const norma_chain *chain, void *bytes);
void norma_chain_set_state(norma_chain *chain, const void *bytes);

#endif
