#ifndef NORMA_GRADIENT_MAP_H
#define NORMA_GRADIENT_MAP_H
/*
 * Internal to src/gradient: the derivative of the part of a layer behind the product,
 *
 *     Z -> H' = scale act_scale phi(alpha norm(Z))   or   scale norm(act_scale phi(alpha Z)),
 *
 * at one Z (src/chain/spec.h). A line (row for bn, column for ln and rms) with mean m and norm s =
 * sqrt(sum (x - m)^2 + length eps) becomes t w, w = (x - m) / s, so that its derivative is the
 * symmetric matrix
 *
 *     (t / s) (P - w w'),
 *
 * P the projection off the vector of ones where the norm is centred, else 1. Everything is taken in
 * the scale that Z is held in.
 */
#include "src/chain/spec.h"

typedef struct norma_gradient_map {
    const norma_chain_spec *spec; /* borrowed */
    double gain;                  /* alpha_l */
    const double *z;              /* [d][N], borrowed */
    double *w;                    /* [d][N]: normalized lines of norm at most 1; owned */
    double *factor;               /* [max(d, N)]: t / s of each line; owned */
    double *mean, *dot;           /* [N]; owned */
} norma_gradient_map;

/* Measures or allocates the arrays: src/base/mem_place.h. `spec` is finished. */
NORMA_MUST_USE norma_status norma_gradient_map_place(norma_gradient_map *map,
                                                     const norma_chain_spec *spec, double *bytes);
void norma_gradient_map_clear(norma_gradient_map *map);

/* Sets the point: Z of layer `layer`, z[d][N], borrowed until the next call. */
void norma_gradient_map_set(norma_gradient_map *map, int64_t layer, const double *z);

/* v[d][N] = dL/dH' becomes dL/dZ, in place. */
void norma_gradient_map_back(const norma_gradient_map *map, double *v);

/* v[d][N] = a tangent at Z becomes the tangent at H', in place. */
void norma_gradient_map_forward(const norma_gradient_map *map, double *v);

/* back for the N cotangents that hold one sample each of v[d][N]: out[N][N] = row `row` of dL/dZ,
 * out[j] that of sample j alone. Only norms of rows or none. */
void norma_gradient_map_back_samples(const norma_gradient_map *map, const double *v, int64_t row,
                                     double *out);

/* Does the map mix samples: bn, bn-centered? */
bool norma_gradient_map_mixes(const norma_chain_spec *spec);

#endif
