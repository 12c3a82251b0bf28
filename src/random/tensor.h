#ifndef NORMA_RANDOM_TENSOR_H
#define NORMA_RANDOM_TENSOR_H
/*
 * Random (or given) weight tensors of a source pair, addressed by feature.
 *
 * A tensor is a matrix [n_features][n_channels * n_taps]: row J holds everything that belongs to
 * feature J. First layer W1[J, j, q]: channels are the c0 inputs. Second layer W2[i, J, p], stored
 * as [J][i][p]: channels are the c2 outputs. Any rank can fill any rows, in any order, with the
 * same bits; laws whose entries are not independent (Haar) prepare a small replicated factor at
 * creation.
 *
 * Entry e = J * n_channels * n_taps + position of a tensor is made from element e of its stream, so
 * that a wider layer keeps its first features: exactly where the scale does not depend on
 * n_features, up to that scale where it does, not for the orthogonal law, whose features depend on
 * each other. A mask decides entry e by the uniform element 2^40 + e of the same stream; such a
 * tensor has at most 2^40 entries, others 2^41.
 */
#include "src/base/rng.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_distribution {
    NORMA_DISTRIBUTION_NORMAL,           /* variance 1 */
    NORMA_DISTRIBUTION_UNIFORM,          /* on [-sqrt 3, sqrt 3], variance 1 */
    NORMA_DISTRIBUTION_HE_NORMAL,        /* variance 2 / fan_in */
    NORMA_DISTRIBUTION_HE_UNIFORM,       /* variance 2 / fan_in */
    NORMA_DISTRIBUTION_XAVIER,           /* normal, variance 2 / (fan_in + fan_out) */
    NORMA_DISTRIBUTION_ORTHOGONAL,       /* Haar, semi-orthogonal when not square, no gain */
    NORMA_DISTRIBUTION_SPARSE_HE_NORMAL, /* he-normal, each entry kept with keep_probability */
    NORMA_DISTRIBUTION_ER_NORMAL,        /* normal under an Erdos-Renyi mask */
    NORMA_DISTRIBUTION_ER_SIGN,          /* +-1 under an Erdos-Renyi mask */
    NORMA_DISTRIBUTION_UNIFORM_POSITIVE, /* on [0, 2 / sqrt(fan_in)] */
    NORMA_DISTRIBUTION_ID_COND,          /* of pairs: src/random/conditioned.h */
    NORMA_DISTRIBUTION_ID_COND_MIN,
    NORMA_DISTRIBUTION_ORTHO_COND,
    NORMA_DISTRIBUTION_GIVEN, /* values handed over by the caller (from a file) */
    NORMA_N_DISTRIBUTIONS
} norma_distribution;

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
    double keep_probability; /* of the sparse and er- laws, in (0, 1]; 0 means the default 1/2 */
    norma_tensor_role role;
    uint64_t seed;
    norma_rng_stream stream; /* purpose, tensor, layer, replica, cell of the counters */
    int64_t n_features;
    int64_t n_channels;
    int64_t n_taps;         /* spatial positions of the kernel, 1 when fully connected */
    norma_tensor_pair pair; /* id-cond, id-cond-min, ortho-cond only */
    const double *values;   /* GIVEN only: [n_features][n_channels * n_taps]; borrowed */
} norma_tensor_spec;

typedef struct norma_tensor norma_tensor;

/* Whether entries are zero at random, kept with keep_probability: the sparse and er- laws. */
bool norma_distribution_drops_entries(norma_distribution distribution);

/* The law named `name` ("he-normal"); NORMA_CONFIG with the nearest known name otherwise. */
NORMA_MUST_USE norma_status norma_distribution_from_name(const char *name, norma_distribution *out);

/* The name of a law; a constant string. */
const char *norma_distribution_name(norma_distribution distribution);

/* Checks the spec (NORMA_LIMIT beyond the counter fields, NORMA_CONFIG for extents below 1, a
 * probability outside (0, 1] or missing values) and prepares what the law needs. Local,
 * deterministic: equal specs give equal tensors on every rank. The orthogonal law costs two passes
 * over the whole tensor here and keeps twice the square of its shorter side (src/random/haar.h).
 * Caller owns *out. */
NORMA_MUST_USE norma_status norma_tensor_create(const norma_tensor_spec *spec, norma_tensor **out);

/* The tensor that has rows rows[0], rows[1], ... of `base` (n of them, each within base), which it
 * borrows; the list is copied. Its spec differs from base's in n_features only. Caller owns *out.
 */
NORMA_MUST_USE norma_status norma_tensor_create_selected(const norma_tensor *base,
                                                         const int64_t *rows, int64_t n,
                                                         norma_tensor **out);

/* Whether the law can give a feature without any weight: masks, given values. */
bool norma_tensor_may_vanish(const norma_tensor *tensor);

/* out[count][n_channels * n_taps] = rows first .. first + count - 1. Reentrant: may be called from
 * several threads at once; uses no threads itself. */
void norma_tensor_fill(const norma_tensor *tensor, int64_t first, int64_t count, double *out);

/* The spec that the tensor was made from; borrowed. */
const norma_tensor_spec *norma_tensor_get_spec(const norma_tensor *tensor);

/* Frees and nulls; NULL is allowed. */
void norma_tensor_destroy(norma_tensor **tensor);

#endif
