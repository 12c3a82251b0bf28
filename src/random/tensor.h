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
#include "src/base/status.h"
#include "src/random/tensor_spec.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_tensor norma_tensor;

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

/* The tensor that has the rows of n parts, one part after the other, for specs[n] that differ in
 * their streams or values alone. Its own spec is the first of them with all features; of n = 1 it
 * is what norma_tensor_create makes. Caller owns *out. */
NORMA_MUST_USE norma_status norma_tensor_create_joined(const norma_tensor_spec *specs, int64_t n,
                                                       norma_tensor **out);

/* Part number `part` of a joined tensor; of another one, whose only part is number 0, the tensor
 * itself. Borrowed. */
const norma_tensor *norma_tensor_part(const norma_tensor *tensor, int64_t part);

/* The variance of an entry by the law: of orthogonal tensors 1 / max(rows, columns) of the
 * flattened matrix, of laws that drop entries that of kept ones times their probability. NaN for
 * given values and for id-cond, id-cond-min, ortho-cond, whose entries have no common law. Local.
 */
double norma_tensor_variance(const norma_tensor_spec *spec);

/* Can the law give a feature without any weight: masks, given values. */
bool norma_tensor_may_vanish(const norma_tensor *tensor);

/* out[count][n_channels * n_taps] = rows first .. first + count - 1. Reentrant: may be called from
 * several threads at once; uses no threads itself. */
void norma_tensor_fill(const norma_tensor *tensor, int64_t first, int64_t count, double *out);

/* The spec that the tensor was made from; borrowed. */
const norma_tensor_spec *norma_tensor_get_spec(const norma_tensor *tensor);

/* Frees and nulls; NULL is allowed. */
void norma_tensor_destroy(norma_tensor **tensor);

#endif
