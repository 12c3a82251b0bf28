#ifndef NORMA_THEORY_KERNEL_MAP_H
#define NORMA_THEORY_KERNEL_MAP_H
/*
 * The kernel map of an activation (THESIS Def. 5.3),
 *
 *     kappa(rho) = E psi(X) psi(Y),   X, Y standard normal with correlation rho,
 *
 * with its derivatives kappa'(rho) = E psi'(X) psi'(Y) and kappa''(rho) = E psi''(X) psi''(Y) on
 * [-1, 1], and differences of kappa without cancellation. Closed forms: identity and Hermite sums
 * sum c_k^2 rho^k, relu and leaky-relu by the arc-cosine, erf by the arc-sine, exp, sin; all others
 * by two-dimensional quadrature to 1e-13.
 */
#include "src/base/status.h"
#include "src/theory/transfer.h"

#include <stdbool.h>

#define NORMA_KERNEL_MAP_N_CHEBYSHEV 96

typedef struct norma_kernel_map {
    norma_transfer psi;
    norma_transfer_moments moments; /* of psi: kappa(1), kappa'(1) and kappa''(1) */
    bool closed;                    /* kappa' by a closed form */
    /* kappa'(cos theta) for theta in [0, pi]: Chebyshev coefficients, unused when closed */
    double chebyshev[NORMA_KERNEL_MAP_N_CHEBYSHEV];
} norma_kernel_map;

/* The networks of THESIS (5.1), (5.11), (5.12): how the layer normalizes phi. */
typedef enum norma_kernel_variant {
    NORMA_KERNEL_NONE,
    NORMA_KERNEL_PRE_RMS,
    NORMA_KERNEL_POST_RMS,
    NORMA_KERNEL_PRE_LN,
    NORMA_KERNEL_POST_LN,
    NORMA_N_KERNEL_VARIANTS
} norma_kernel_variant;

/* The map of psi as it stands. NORMA_MEMORY when out of memory. */
NORMA_MUST_USE norma_status norma_kernel_map_init(const norma_transfer *psi, norma_kernel_map *out);

/* The map of a variant: of phi / sqrt(E phi^2), and of (phi - E phi) / standard deviation for
 * post-ln. NORMA_CONFIG as norma_transfer_normalize. */
NORMA_MUST_USE norma_status norma_kernel_map_init_variant(const norma_transfer *phi,
                                                          norma_kernel_variant variant,
                                                          norma_kernel_map *out);

/* kappa, kappa', kappa'' at rho in [-1, 1]; the last is infinite where psi' jumps and |rho| = 1. */
double norma_kernel_map_value(const norma_kernel_map *map, double rho);
double norma_kernel_map_slope(const norma_kernel_map *map, double rho);
double norma_kernel_map_curvature(const norma_kernel_map *map, double rho);

/* kappa(1) - kappa(1 - x), 0 <= x <= 2, with relative error 1e-13 for every x. */
double norma_kernel_map_gap(const norma_kernel_map *map, double x);

/* kappa(rho + x) - kappa(rho), to 1e-12 of itself however small x is; rho + x in [-1, 1]. */
double norma_kernel_map_rise(const norma_kernel_map *map, double rho, double x);

#endif
