#ifndef NORMA_CONSTRUCT_DEEP_H
#define NORMA_CONSTRUCT_DEEP_H
/*
 * Deeper linear sources (CNN24 Theorem 2.5). A target T [c_L][c_0][K] is a product of L frozen
 * layers W_l [c_l][c_(l-1)][K_l] between scales:
 *     diag(gamma_L) W_L * ... * diag(gamma_1) W_1 = T,
 * n = c_L c_0 |K| equations, of degree L, in sum c_l unknowns, of which L - 1 are only scales moved
 * between layers. The theorem asks for sum c_l >= n + L. The column of the Jacobian for gamma_l[J]
 * is the product of what lies above channel J of layer l with what lies below it. Its rank at
 * random scales shows layers that are too thin for any solution.
 *
 * Levenberg-Marquardt from random starts solves it. Everything is local and dimensionless.
 */
#include "src/features/kernel.h"
#include "src/network/activation.h"
#include "src/random/tensor_spec.h"

#include <stdbool.h>

enum { NORMA_DEEP_MOST = 16 }; /* layers */

typedef struct norma_deep_shape {
    int64_t n_layers;                               /* L >= 2 */
    int64_t width[NORMA_DEEP_MOST + 1];             /* c_0 ... c_L */
    norma_kernel_shape kernel[NORMA_DEEP_MOST + 1]; /* [1 ... L] */
} norma_deep_shape;

typedef struct norma_deep_engine norma_deep_engine; /* src/construct/deep_engine.h */

/* How scales are searched. */
typedef struct norma_deep_search {
    int64_t n_starts; /* at most */
    uint64_t seed;    /* of their scales, with the stream */
    norma_rng_stream stream;
    bool (*stops)(void *context); /* asked before every step: must it end? NULL: never */
    void *context;                /* borrowed */
    bool takes_any_rank; /* search for least squares where the Jacobian is deficient, too */
    const norma_deep_engine *engine; /* borrowed; NULL: dense factors on this rank */
} norma_deep_search;

typedef struct norma_deep_report {
    int64_t n_starts, n_iterations; /* of the search; iterations of all starts */
    int64_t rank;                   /* of the Jacobian at random scales, at most n */
    bool solved;                    /* rmse is within 100 times the floor */
    double rmse, floor;             /* of the weights; the floor is that of rounding */
    double condition;               /* of the Jacobian at the solution; +inf: singular */
} norma_deep_report;

typedef struct norma_deep {
    norma_deep_shape shape;
    int64_t n_equations, n_unknowns;
    norma_kernel_shape composite;        /* K */
    double *storage;                     /* owned: */
    double *weight[NORMA_DEEP_MOST + 1]; /*   W_l by taps: [|K_l|][c_l][c_(l-1)] */
    double *gamma[NORMA_DEEP_MOST + 1];  /*   [c_l], all of them behind each other */
    double *beta[NORMA_DEEP_MOST + 1];   /*   [c_l], the same */
    double *below[NORMA_DEEP_MOST + 1];  /*   [taps below and of l][c_0][c_l] */
    double *above[NORMA_DEEP_MOST + 1];  /*   [taps above l][c_L][c_l] */
    double *room[NORMA_DEEP_MOST + 1];   /*   [max(c_0, c_L)][c_l], scratch */
    norma_kernel_shape below_kernel[NORMA_DEEP_MOST + 1], above_kernel[NORMA_DEEP_MOST + 1];
} norma_deep;

/* Equations and unknowns, the kernel of the product. */
int64_t norma_deep_equations(const norma_deep_shape *shape);
int64_t norma_deep_unknowns(const norma_deep_shape *shape);
norma_kernel_shape norma_deep_composite(const norma_deep_shape *shape);

/* below[l], above[l], l = 1 ... L: kernels of the product of layers 1 ... l, and of those above l.
 * Both have NORMA_DEEP_MOST + 1 places. */
void norma_deep_kernels(const norma_deep_shape *shape, norma_kernel_shape *below,
                        norma_kernel_shape *above);

/* Bytes of a source, and of its solution by dense factors on one rank; operations of an iteration
 * of that. */
double norma_deep_source_bytes(const norma_deep_shape *shape);
double norma_deep_bytes(const norma_deep_shape *shape);
double norma_deep_flops(const norma_deep_shape *shape);

/* Allocates; NORMA_MEMORY, NORMA_LIMIT. Caller owns *out. */
NORMA_MUST_USE norma_status norma_deep_create(const norma_deep_shape *shape, norma_deep **out);
void norma_deep_destroy(norma_deep **deep);

/* Draws all W_l from spec's distribution, seed, replica and cell, for target layer `layer`, with
 * tensor 5 of the counters. NORMA_LIMIT from 4096 layers on. */
NORMA_MUST_USE norma_status norma_deep_draw(norma_deep *deep, const norma_tensor_spec *spec,
                                            int64_t layer);

/* below and above from weights and scales. */
void norma_deep_update(norma_deep *deep);

/* map[c_L][c_0][K] of the product, after norma_deep_update. */
void norma_deep_compose(const norma_deep *deep, double *map);

/* rows[n][stride]: the Jacobian in the order of map, unknowns layer by layer, after an update;
 * columns from sum c_l on are left alone. */
void norma_deep_jacobian(const norma_deep *deep, int64_t stride, double *rows);

/* Searches scales for target[c_L][c_0][K] from random starts: the best answer stays in gamma. A
 * rank below n where sum c_l >= n + L - 1 leaves gamma undefined and is in the report, unless
 * search->takes_any_rank. Collective over the ranks of search->engine, where there is one.
 * NORMA_STOPPED, with gamma undefined, when search->stops asks for it. */
NORMA_MUST_USE norma_status norma_deep_solve(norma_deep *deep, const double *target,
                                             const norma_deep_search *search,
                                             norma_deep_report *report);

/* Shifts for inputs in [lo, hi][c_0 |K|], equal for all taps of a channel, and the target's bias
 * [c_L]; *magnitude and *rounding as norma_blocks_open. NORMA_CONFIG for activations other than
 * identity, relu, leaky-relu. */
NORMA_MUST_USE norma_status norma_deep_open(norma_deep *deep, const norma_activation *activation,
                                            const double *lo, const double *hi, const double *bias,
                                            double *magnitude, double *rounding);

/* y[n][c_L] of patches x[n][c_0][K], by convolutions layer by layer; adds pre-activations below 0
 * of relu and leaky-relu to *n_clipped. */
NORMA_MUST_USE norma_status norma_deep_run(const norma_deep *deep,
                                           const norma_activation *activation, int64_t n,
                                           const double *x, double *y, int64_t *n_clipped);

#endif
