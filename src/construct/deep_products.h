#ifndef NORMA_CONSTRUCT_DEEP_PRODUCTS_H
#define NORMA_CONSTRUCT_DEEP_PRODUCTS_H
/*
 * Products with the Jacobian J of a deep linear source (src/construct/deep.h) that never form it,
 * and blocks of J and J'J. The column of scale c of layer l is the product of what lies above the
 * channel, A_l[q][i][c], with what lies below it, B_l[p][j][c], summed over taps q and p that meet
 * in tap k of the composite kernel.
 *
 * All need `below` and `above` of norma_deep_update. Everything is local and dimensionless.
 */
#include "src/construct/deep.h"

/* map[c_L][c_0][K] = J step, step[sum c_l]; room[n] is scratch. */
void norma_deep_apply(const norma_deep *deep, const double *step, double *map, double *room);

/* step[sum c_l] = J' map; room[n] is scratch. */
void norma_deep_apply_transposed(const norma_deep *deep, const double *map, double *step,
                                 double *room);

/* squares[sum c_l]: the squares of the norms of J's columns. */
void norma_deep_column_squares(const norma_deep *deep, double *squares);

/* values[n_columns][leading], column-major: J in some of its rows and columns, both ascending. */
void norma_deep_jacobian_block(const norma_deep *deep, int64_t n_rows, const int64_t *rows,
                               int64_t n_columns, const int64_t *columns, int64_t leading,
                               double *values);

/* Workspaces for a block of J'J. */
typedef struct norma_deep_block norma_deep_block;

/* Of rows[n_rows] and columns[n_columns] of J'J, ascending; both borrowed, as is deep, and must
 * outlive *out, which the caller owns. NORMA_MEMORY, NORMA_LIMIT. */
NORMA_MUST_USE norma_status norma_deep_block_create(const norma_deep *deep, int64_t n_rows,
                                                    const int64_t *rows, int64_t n_columns,
                                                    const int64_t *columns, norma_deep_block **out);
void norma_deep_block_destroy(norma_deep_block **block);

/* Bytes of the workspaces. */
double norma_deep_block_bytes(const norma_deep_shape *shape, int64_t n_rows, int64_t n_columns);

/* values[n_columns][leading], column-major: the block. The product for layers l and m is
 * sum over shifts d of (sum_q A_l[q]' A_m[q - d]) o (sum_p B_l[p - d]' B_m[p]). */
void norma_deep_block_fill(norma_deep_block *block, int64_t leading, double *values);

#endif
