#ifndef NORMA_THEORY_KERNEL_DYNAMICS_H
#define NORMA_THEORY_KERNEL_DYNAMICS_H
/*
 * The sequence rho_(l+1) = kappa(rho_l) of a normalized kernel map, kappa(1) = 1: its fixed points,
 * the four cases of THESIS Thm 5.11, its rates, and its iteration without cancellation.
 */
#include "src/theory/kernel_map.h"

#include <stdint.h>

#define NORMA_KERNEL_MAX_FIXED_POINTS 8

/* The cases of THESIS Thm 5.11; 0: kappa(rho) = rho, where every point is fixed. */
typedef enum norma_kernel_case {
    NORMA_KERNEL_CASE_IDENTITY = 0,
    NORMA_KERNEL_CASE_CENTERED = 1, /* kappa(0) = 0 */
    NORMA_KERNEL_CASE_FAST = 2,     /* kappa(0) > 0, kappa'(1) < 1 */
    NORMA_KERNEL_CASE_CRITICAL = 3, /* kappa(0) > 0, kappa'(1) = 1 */
    NORMA_KERNEL_CASE_INNER = 4     /* kappa(0) > 0, kappa'(1) > 1 */
} norma_kernel_case;

typedef struct norma_kernel_dynamics {
    norma_kernel_case kernel_case; /* kappa(0) and kappa'(1) - 1 count as 0 below 1e-12 */
    double attractor;              /* rho*, NaN in case 0 */
    int n_fixed_points;            /* all in [-1, 1], ascending; 0 in case 0 */
    double fixed_point[NORMA_KERNEL_MAX_FIXED_POINTS];
    /* The constant of the theorem: a factor a layer in cases 1, 2, 4; alpha of (5.9) in case 3. As
     * printed: 1 / kappa'(1), kappa'(1), 1 - kappa(0) - kappa'(0), and the largest of 1 - kappa(0),
     * kappa'(rho*), (1 - rho*) / (2 - kappa'(rho*)). Corrected: case 1 has 1 / (2 - kappa'(0)),
     * case 4 the larger of 1 - kappa(0) and 1 / (2 - kappa'(rho*)). */
    double rate_printed, rate_corrected;
    /* The true asymptotic behaviour of the distance x_l from rho*: decay_power 0: x_(l+1) / x_l
     * tends to rate_asymptotic = kappa'(rho*); decay_power p = 1 or 2 (case 3): x_l l^p tends to
     * rate_asymptotic, 2 / kappa''(1) for p = 1 and 4 / b^2 for p = 2, where psi' jumps by J and
     * 1 - kappa(1 - x) = x - b x^1.5 with b = J^2 sqrt(2) / (3 pi). */
    int decay_power;
    double rate_asymptotic;
} norma_kernel_dynamics;

/* Analyses a map with kappa(1) = 1 to 1e-12 (norma_kernel_map_init_variant makes such). */
NORMA_MUST_USE norma_status norma_kernel_dynamics_init(const norma_kernel_map *map,
                                                       norma_kernel_dynamics *out);

/* rho[n_layers + 1] = the sequence from rho[0] = start in [-1, 1]; distance[n_layers + 1] =
 * |rho_l - rho*| (NaN in case 0), iterated as such and so with all digits however small it is. */
void norma_kernel_dynamics_iterate(const norma_kernel_map *map,
                                   const norma_kernel_dynamics *dynamics, double start,
                                   int64_t n_layers, double *rho, double *distance);

/* The theorem's bound on |rho_l - rho*|, with the constant as printed or corrected; infinite where
 * the theorem has no bound (|start| = 1 in cases 1 and 4). Cases 1: psi / (1 + psi) with
 * psi = |rho_0| / (1 - |rho_0|) rate^l, which is (5.7) solved for |rho_l|. NaN in case 0. */
double norma_kernel_dynamics_bound(const norma_kernel_dynamics *dynamics, double start,
                                   bool printed, int64_t layer);

/* The prediction by rate_asymptotic for distance[layer] / distance[layer - 1]. */
double norma_kernel_dynamics_factor(const norma_kernel_dynamics *dynamics, int64_t layer);

/* The last layer whose distance is a positive normal number, at least 1; 0 when there is none. */
int64_t norma_kernel_dynamics_last_layer(int64_t n_layers, const double *distance);

#endif
