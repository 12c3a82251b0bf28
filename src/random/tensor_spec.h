#ifndef NORMA_RANDOM_TENSOR_SPEC_H
#define NORMA_RANDOM_TENSOR_SPEC_H
/* The parameters of a weight tensor of a source pair; src/random/tensor.h has the meaning. */
#include "src/base/rng.h"
#include "src/random/law.h"

#include <stdint.h>

/* How a tensor flattens to (out, in), which fixes its fan_in = in and its orthogonality. fan_out is
 * n_features * n_taps for the first layer and n_channels * n_taps for the second, as Glorot's law
 * is used for convolutions. The columns of a SECOND tensor as a matrix are ordered (feature, tap).
 */
typedef enum norma_tensor_role {
    NORMA_TENSOR_FIRST, /* out = n_features, in = n_channels * n_taps */
    NORMA_TENSOR_SECOND /* out = n_channels, in = n_features * n_taps */
} norma_tensor_role;

/* The source pair that a tensor belongs to, for laws of both layers together; zeros: none. */
typedef struct norma_tensor_pair {
    int64_t n_outputs, n_inputs; /* c2, c0 */
    int64_t first[2], second[2]; /* rows and columns of K1 and K2 */
} norma_tensor_pair;

typedef struct norma_tensor_spec {
    norma_distribution distribution;
    double keep_probability; /* of masked laws, in (0, 1]; 0 means the default 1/2 */
    norma_tensor_role role;
    uint64_t seed;
    norma_rng_stream stream; /* purpose, tensor, layer, replica, cell of the counters */
    int64_t n_features;
    int64_t n_channels;
    int64_t n_taps;         /* spatial positions of the kernel, 1 when fully connected */
    norma_tensor_pair pair; /* laws of pairs only */
    const double *values;   /* GIVEN only: [n_features][n_channels * n_taps]; borrowed */
} norma_tensor_spec;

#endif
