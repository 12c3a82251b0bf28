#ifndef NORMA_NETWORK_BOUNDS_H
#define NORMA_NETWORK_BOUNDS_H
/*
 * Bounds [lo_J, hi_J] of the pre-activations z_J = gamma1_J u_J, u_J = W1[J] * x, from measured
 * or declared ranges of x. Bounds of u are found first (they do not depend on the solution), then
 * scaled.
 */
#include "src/base/names.h"
#include "src/network/network.h"
#include "src/network/source.h"

typedef enum norma_bound {
    NORMA_BOUND_DATA,          /* u measured on the samples */
    NORMA_BOUND_INTERVAL,      /* x measured per channel, interval arithmetic inside the layer */
    NORMA_BOUND_INTERVAL_DEEP, /* interval arithmetic from the declared input range on */
    NORMA_N_BOUNDS
} norma_bound;

extern const norma_names norma_bound_names;

/* "data", "interval", "interval-deep"; NORMA_CONFIG with the nearest known one otherwise. */
NORMA_MUST_USE norma_status norma_bound_from_name(const char *name, norma_bound *out);
const char *norma_bound_name(norma_bound bound);

/* lo[c1], hi[c1] = interval image of u_J for inputs in [range_lo[c], range_hi[c]] per channel
 * (joined with 0 where there is padding), widened by the rounding of the sums. */
NORMA_MUST_USE norma_status norma_bounds_interval(const norma_source_shape *shape,
                                                  const norma_tensor *w1, const double *range_lo,
                                                  const double *range_hi, double *lo, double *hi);

/* Rigorous ranges of the input channels of layer number `layer` when every input of the network
 * lies in its declared [input_min, input_max]: range_lo, range_hi[layers[layer].n_channels_in].
 * NORMA_CONFIG when no range is declared. */
NORMA_MUST_USE norma_status norma_bounds_propagate(const norma_network *network, int64_t layer,
                                                   double *range_lo, double *range_hi);

/* lo, hi[n] = bounds of gamma1_J u_J from those of u_J, widened on both sides by 1e-6 of hi - lo
 * and 1e-9 of the larger magnitude, or 200 times the unit roundoff of the evaluation where that is
 * more, so that rounding clips nothing. In place allowed. */
void norma_bounds_scale(int64_t n, const double *gamma1, const double *u_lo, const double *u_hi,
                        double roundoff, double *lo, double *hi);

#endif
