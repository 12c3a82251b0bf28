#ifndef NORMA_CONSTRUCT_TEACHER_H
#define NORMA_CONSTRUCT_TEACHER_H
/*
 * The teacher of EXP23, appendix E: g(x) = sum over i of relu(W x)_i with W [d][d], x in R^d. As a
 * network it is a linear layer with relu and one of a single output whose weights are ones; only
 * the first is replaced by a source. Its students have the same architecture, perhaps with shifts.
 *
 * Everything is local and dimensionless.
 */
#include "src/network/network.h"

/* The network of width d without weights, enough for shapes; its input range is not declared.
 * NORMA_MEMORY. Caller owns *out. */
NORMA_MUST_USE norma_status norma_teacher_create(int64_t width, norma_network **out);

/* Memory of its own for the weights: zeros in the first layer, ones in the second. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_teacher_allocate(norma_network *teacher);

/* The same network with the weights and shifts of the only layer of `student`, a network read from
 * a file. NORMA_CONFIG unless that is linear, d x d, without a pool, with identity or relu.
 * Caller owns *out. */
NORMA_MUST_USE norma_status norma_teacher_create_student(int64_t width,
                                                         const norma_network *student,
                                                         norma_network **out);

#endif
