#ifndef NORMA_NETWORK_MAPS_H
#define NORMA_NETWORK_MAPS_H
/*
 * The affine maps of a source pair (CNN24 Thm 2.4, corrected): gamma1 and beta1 move every hidden
 * channel into the linear region phi(g z + b) = m (g z + b) + c, gamma2 and beta2 take scale and
 * shift back.
 */
#include "src/network/linear_region.h"
#include "src/network/source.h"

typedef struct norma_maps {
    int64_t n_features, n_channels_out;
    double *gamma1, *beta1; /* [c1]; owned */
    double *gamma2, *beta2; /* [c2]; owned */
    double *constant; /* [c2]: sum_{J,p} W2[i,J,p] (m b_J + c), what layer 2's convolution gives for
                       * z = 0; owned; not set where a file holds the maps */
    norma_linear_region region; /* low and high are all that a file holds */
    /* max_i |gamma2_i / (m g)| sum |W2[i,J,p]| (m (|b_J| + g max(|lo_J|, |hi_J|)) + |c|): the
     * magnitude of what cancels in an output, in units of the output. Its product with the unit
     * roundoff estimates the error that the shift costs. */
    double magnitude;
} norma_maps;

/* Room for the maps of c1 features and c2 outputs, values undefined, magnitude 0: for maps that a
 * file holds. The caller owns *out. */
NORMA_MUST_USE norma_status norma_maps_allocate(int64_t n_features, int64_t n_channels_out,
                                                norma_maps **out);

/* How exactly a layer's maps are to work. */
typedef struct norma_maps_accuracy {
    double epsilon;  /* as in norma_linear_demand; NaN: ten times the floor */
    double roundoff; /* unit roundoff of the evaluation */
} norma_maps_accuracy;

/* gamma1 = g gamma1, beta1 = b, gamma2 = gamma2 / (m g),
 * beta2_i = bias_i - gamma2_i sum_{J,p} W2[i,J,p] (m b_J + c), summed with compensation.
 * gamma1[c1], lo[c1], hi[c1] (bounds of z = gamma1 u), gamma2[c2], bias[c2] (of the target layer)
 * are copied or only read. NORMA_NUMERIC when a map is not finite, NORMA_CONFIG when epsilon is
 * below its floor. The caller owns *out. Local and deterministic. */
NORMA_MUST_USE norma_status norma_maps_create(
    const norma_source_shape *shape, const norma_tensor *w2, const norma_activation *activation,
    const norma_maps_accuracy *accuracy, const double *gamma1, const double *lo, const double *hi,
    const double *gamma2, const double *bias, norma_maps **out);

/* Points a source layer at these maps (borrowed). */
void norma_maps_use(const norma_maps *maps, norma_source_layer *source);

/* composite[n] = m g kernel + skip: the kernel that the second batch norm of a pair sees, from
 * kernel[n] = KR gamma1 and the weights skip[n] (NULL: none) that join in front of gamma2. */
void norma_maps_composite_kernel(const norma_maps *maps, int64_t n, const double *kernel,
                                 const double *skip, double *composite);

/* Statistics of a batch norm, and what the convolution in front of it adds. Arrays [n]; NULL: mean
 * 0, variance 1 - eps, bias 0. */
typedef struct norma_bn_statistics {
    const double *mean, *variance, *bias;
} norma_bn_statistics;

/* The map gamma z + beta, n channels, as a batch norm computes it in evaluation mode behind a
 * convolution z + b: weight = gamma sqrt(v + eps), bias = beta + gamma (mu - b). All arrays [n]. */
void norma_maps_to_batch_norm(int64_t n, const double *gamma, const double *beta, double eps,
                              const norma_bn_statistics *statistics, double *weight, double *bias,
                              double *running_mean, double *running_var);

void norma_maps_destroy(norma_maps **maps);

#endif
