/* The loops of src/chain/kernels/lanes.h, included by one file per instruction set after its vector
 * type `vec` of LANES_WIDTH doubles, its operations, and LANES_COUNT, the number of replicas.
 * LANES_BLOCK rows and four columns of a product are held in registers. */
#ifndef NORMA_CHAIN_KERNELS_LANES_LOOPS_H
#define NORMA_CHAIN_KERNELS_LANES_LOOPS_H

#include "src/chain/kernels/lanes.h"

#include <stddef.h>

#define LANES_COLUMNS 4
#define LANES_INLINE static inline __attribute__((always_inline))

/* Householder vectors shorter than this (in the squared norm) are taken for zero. */
#define LANES_TINY 1e-290

typedef struct lanes_target {
    double alpha;
    const double *add;
    double *c;
    int64_t n; /* columns of c and add */
} lanes_target;

/* An mr x nr block of the product; mr and nr are constants after inlining. */
LANES_INLINE void lanes_block(int mr, int nr, int64_t k, const double *a, ptrdiff_t a_row,
                              ptrdiff_t a_column, const double *b, ptrdiff_t b_row,
                              ptrdiff_t b_column, const lanes_target *target, int64_t offset)
{
    vec sum[LANES_BLOCK][LANES_COLUMNS];
#pragma GCC unroll 4
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nr; j++)
            sum[i][j] = v_set(0);
    for (int64_t q = 0; q < k; q++) {
        vec bq[LANES_COLUMNS];
#pragma GCC unroll 4
        for (int j = 0; j < nr; j++)
            bq[j] = v_load(b + j * b_column);
#pragma GCC unroll 4
        for (int i = 0; i < mr; i++) {
            vec aq = v_load(a + i * a_row);
#pragma GCC unroll 4
            for (int j = 0; j < nr; j++)
                sum[i][j] = v_fma(aq, bq[j], sum[i][j]);
        }
        a += a_column;
        b += b_row;
    }
    vec alpha = v_set(target->alpha);
#pragma GCC unroll 4
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nr; j++) {
            int64_t at = offset + LANES_COUNT * (i * target->n + j);
            vec value = target->add ? v_fma(alpha, sum[i][j], v_load(target->add + at))
                                    : v_mul(alpha, sum[i][j]);
            v_store(target->c + at, value);
        }
}

/* Rows i .. i + mr - 1 of the product, columns up to `end`. */
LANES_INLINE void lanes_rows(int mr, int64_t end, int64_t k, const double *a, ptrdiff_t a_row,
                             ptrdiff_t a_column, const double *b, ptrdiff_t b_row,
                             ptrdiff_t b_column, const lanes_target *target, int64_t offset)
{
    int64_t j = 0;
    for (; j + LANES_COLUMNS <= end; j += LANES_COLUMNS)
        lanes_block(mr, LANES_COLUMNS, k, a, a_row, a_column, b + j * b_column, b_row, b_column,
                    target, offset + LANES_COUNT * j);
    for (; j < end; j++)
        lanes_block(mr, 1, k, a, a_row, a_column, b + j * b_column, b_row, b_column, target,
                    offset + LANES_COUNT * j);
}

static void lanes_product(int64_t m, int64_t n, int64_t k, norma_lanes_operand a,
                          norma_lanes_operand b, double alpha, const double *add, double *c,
                          int lower)
{
    lanes_target target = {alpha, add, NULL, n};
    target.c = c;
    const ptrdiff_t a_row = (ptrdiff_t)(LANES_COUNT * a.row);
    const ptrdiff_t a_column = (ptrdiff_t)(LANES_COUNT * a.column);
    const ptrdiff_t b_row = (ptrdiff_t)(LANES_COUNT * b.row);
    const ptrdiff_t b_column = (ptrdiff_t)(LANES_COUNT * b.column);
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH) {
        int64_t i = 0;
        for (; i + LANES_BLOCK <= m; i += LANES_BLOCK) {
            int64_t end = lower && i + LANES_BLOCK < n ? i + LANES_BLOCK : n;
            lanes_rows(LANES_BLOCK, end, k, a.data + part + i * a_row, a_row, a_column,
                       b.data + part, b_row, b_column, &target, part + LANES_COUNT * i * n);
        }
        for (; i < m; i++) {
            int64_t end = lower && i + 1 < n ? i + 1 : n;
            lanes_rows(1, end, k, a.data + part + i * a_row, a_row, a_column, b.data + part, b_row,
                       b_column, &target, part + LANES_COUNT * i * n);
        }
    }
}

/* Sums along one line of n elements that are `step` doubles apart. */
LANES_INLINE void lanes_line_sums(int64_t n, const double *z, ptrdiff_t step, int centered,
                                  double *mean, double *square, double *raw)
{
    vec sum = v_set(0), all = v_set(0);
    for (int64_t j = 0; j < n; j++) {
        vec x = v_load(z + j * step);
        sum = v_add(sum, x);
        all = v_fma(x, x, all);
    }
    v_store(raw, all);
    if (!centered) {
        v_store(mean, v_set(0));
        v_store(square, all);
        return;
    }
    vec m = v_div(sum, v_set((double)n));
    vec deviations = v_set(0);
    for (int64_t j = 0; j < n; j++) {
        vec x = v_sub(v_load(z + j * step), m);
        deviations = v_fma(x, x, deviations);
    }
    v_store(mean, m);
    v_store(square, deviations);
}

static void lanes_row_sums(int64_t d, int64_t n, const double *z, int centered, double *mean,
                           double *square, double *raw)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH)
        for (int64_t i = 0; i < d; i++) {
            int64_t at = part + LANES_COUNT * i;
            lanes_line_sums(n, z + part + LANES_COUNT * i * n, LANES_COUNT, centered, mean + at,
                            square + at, raw + at);
        }
}

static void lanes_column_sums(int64_t d, int64_t n, const double *z, int centered, double *mean,
                              double *square, double *raw)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH)
        for (int64_t j = 0; j < n; j++) {
            int64_t at = part + LANES_COUNT * j;
            lanes_line_sums(d, z + at, (ptrdiff_t)(LANES_COUNT * n), centered, mean + at,
                            square + at, raw + at);
        }
}

static void lanes_row_apply(int64_t d, int64_t n, double *z, const double *mean,
                            const double *factor)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH)
        for (int64_t i = 0; i < d; i++) {
            vec f = v_load(factor + part + LANES_COUNT * i);
            vec m = mean ? v_load(mean + part + LANES_COUNT * i) : v_set(0);
            double *row = z + part + LANES_COUNT * i * n;
            for (int64_t j = 0; j < n; j++)
                v_store(row + LANES_COUNT * j, v_mul(f, v_sub(v_load(row + LANES_COUNT * j), m)));
        }
}

static void lanes_column_apply(int64_t d, int64_t n, double *z, const double *mean,
                               const double *factor)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH)
        for (int64_t i = 0; i < d; i++) {
            double *row = z + part + LANES_COUNT * i * n;
            for (int64_t j = 0; j < n; j++) {
                int64_t at = part + LANES_COUNT * j;
                vec m = mean ? v_load(mean + at) : v_set(0);
                v_store(row + LANES_COUNT * j,
                        v_mul(v_load(factor + at), v_sub(v_load(row + LANES_COUNT * j), m)));
            }
        }
}

static void lanes_dot(int64_t count, const double *x, const double *y, double *out)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH) {
        vec sum[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
        int64_t i = 0;
        for (; i + 4 <= count; i += 4)
            for (int q = 0; q < 4; q++)
                sum[q] = v_fma(v_load(x + part + LANES_COUNT * (i + q)),
                               v_load(y + part + LANES_COUNT * (i + q)), sum[q]);
        for (; i < count; i++)
            sum[0] = v_fma(v_load(x + part + LANES_COUNT * i), v_load(y + part + LANES_COUNT * i),
                           sum[0]);
        v_store(out + part, v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3])));
    }
}

static void lanes_scale(int64_t count, const double *factor, double *x)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH) {
        vec f = v_load(factor + part);
        for (int64_t i = 0; i < count; i++)
            v_store(x + part + LANES_COUNT * i, v_mul(f, v_load(x + part + LANES_COUNT * i)));
    }
}

/* The Householder vector that maps column `step` below the diagonal to a multiple of its first
 * element: next[step + 1 .. m - 1]; *factor = 2 / |next|^2, or 0 for a zero column. Returns the
 * element left in place. */
LANES_INLINE vec lanes_reflector(int64_t m, int64_t step, const double *k, double *next,
                                 vec *factor)
{
    vec head = v_load(k + LANES_COUNT * ((step + 1) * m + step));
    vec tail = v_set(0);
    for (int64_t i = step + 2; i < m; i++) {
        vec x = v_load(k + LANES_COUNT * (i * m + step));
        tail = v_fma(x, x, tail);
        v_store(next + LANES_COUNT * i, x);
    }
    vec opposite = v_copysign(v_sqrt(v_fma(head, head, tail)), v_sub(v_set(0), head));
    vec first = v_sub(head, opposite);
    v_store(next + LANES_COUNT * (step + 1), first);
    vec square = v_fma(first, first, tail);
    *factor = v_div(v_set(2), v_max(square, v_set(LANES_TINY)));
    return opposite;
}

/* Element (i, j) less v_i w_j + w_i v_j, with bits that do not change when i and j do. */
LANES_INLINE vec lanes_changed(vec x, vec vi, vec wi, vec vj, vec wj)
{
    return v_sub(x, v_add(v_mul(vi, wj), v_mul(wi, vj)));
}

/* Takes the last step's update (v, w) off the trailing block from row and column `begin` on, and
 * multiplies the block by `next` on the way: p = block next. */
LANES_INLINE void lanes_update(int64_t m, int64_t begin, double *k, const double *v,
                               const double *w, const double *next, double *p)
{
    for (int64_t i = begin; i < m; i++) {
        double *row = k + LANES_COUNT * i * m;
        vec vi = v_load(v + LANES_COUNT * i), wi = v_load(w + LANES_COUNT * i);
        vec ni = v_load(next + LANES_COUNT * i), sum = v_set(0);
        for (int64_t j = begin; j < i; j++) {
            int64_t at = LANES_COUNT * j;
            vec x = lanes_changed(v_load(row + at), vi, wi, v_load(v + at), v_load(w + at));
            v_store(row + at, x);
            sum = v_fma(x, v_load(next + at), sum);
            v_store(p + at, v_fma(x, ni, v_load(p + at)));
        }
        vec x = lanes_changed(v_load(row + LANES_COUNT * i), vi, wi, vi, wi);
        v_store(row + LANES_COUNT * i, x);
        v_store(p + LANES_COUNT * i, v_fma(x, ni, sum));
    }
}

/* w = factor p - (factor / 2) (factor p . v) v, from row `begin` on, written over p. */
LANES_INLINE void lanes_finish_update(int64_t m, int64_t begin, vec factor, const double *v,
                                      double *p)
{
    vec dot = v_set(0);
    for (int64_t i = begin; i < m; i++) {
        vec x = v_mul(factor, v_load(p + LANES_COUNT * i));
        v_store(p + LANES_COUNT * i, x);
        dot = v_fma(x, v_load(v + LANES_COUNT * i), dot);
    }
    vec shift = v_mul(v_mul(v_set(0.5), factor), dot);
    for (int64_t i = begin; i < m; i++)
        v_store(p + LANES_COUNT * i,
                v_fnma(shift, v_load(v + LANES_COUNT * i), v_load(p + LANES_COUNT * i)));
}

/* Column `step` from the diagonal down, with the last update taken off. */
LANES_INLINE void lanes_update_column(int64_t m, int64_t step, double *k, const double *v,
                                      const double *w)
{
    vec vs = v_load(v + LANES_COUNT * step), ws = v_load(w + LANES_COUNT * step);
    for (int64_t i = step; i < m; i++) {
        double *x = k + LANES_COUNT * (i * m + step);
        v_store(x, lanes_changed(v_load(x), v_load(v + LANES_COUNT * i),
                                 v_load(w + LANES_COUNT * i), vs, ws));
    }
}

static void lanes_tridiagonalize(int64_t m, double *matrix, double *diagonal, double *off,
                                 double *work)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH) {
        double *k = matrix + part;
        double *v = work + part, *w = v + LANES_COUNT * m;
        double *next = w + LANES_COUNT * m, *p = next + LANES_COUNT * m;
        for (int64_t i = 0; i < m; i++) {
            v_store(v + LANES_COUNT * i, v_set(0));
            v_store(w + LANES_COUNT * i, v_set(0));
        }
        for (int64_t step = 0; step < m; step++) {
            lanes_update_column(m, step, k, v, w);
            v_store(diagonal + part + LANES_COUNT * step,
                    v_load(k + LANES_COUNT * (step * m + step)));
            if (step + 1 == m)
                break;
            vec factor;
            if (step + 2 == m) {
                v_store(off + part + LANES_COUNT * step,
                        v_load(k + LANES_COUNT * ((step + 1) * m + step)));
                continue; /* the last element still wants the same update */
            }
            v_store(off + part + LANES_COUNT * step, lanes_reflector(m, step, k, next, &factor));
            lanes_update(m, step + 1, k, v, w, next, p);
            lanes_finish_update(m, step + 1, factor, next, p);
            double *old_v = v, *old_w = w;
            v = next;
            w = p;
            next = old_v;
            p = old_w;
        }
    }
}

static void lanes_count_above(int64_t m, const double *diagonal, const double *off,
                              const double *threshold, double *count)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH) {
        const vec tiny = v_set(LANES_TINY);
        vec t = v_load(threshold + part);
        vec q = v_away_from_zero(v_sub(v_load(diagonal + part), t), tiny);
        vec n = v_nonnegative(q);
        for (int64_t i = 1; i < m; i++) {
            vec e = v_load(off + part + LANES_COUNT * (i - 1));
            vec d = v_sub(v_load(diagonal + part + LANES_COUNT * i), t);
            q = v_away_from_zero(v_sub(d, v_div(v_mul(e, e), q)), tiny);
            n = v_add(n, v_nonnegative(q));
        }
        v_store(count + part, n);
    }
}

/* Rows i .. i + mr - 1, columns j .. j + nr - 1 of k less what pivots 0 .. i - 1 take off, in u. */
LANES_INLINE void lanes_eliminate(int mr, int nr, int64_t m, int64_t i, int64_t j, const double *k,
                                  const double *l, double *u)
{
    vec x[LANES_BLOCK][LANES_COLUMNS];
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int c = 0; c < nr; c++)
            x[r][c] = v_load(k + LANES_COUNT * ((i + r) * m + j + c));
    for (int64_t q = 0; q < i; q++) {
        vec uq[LANES_COLUMNS];
#pragma GCC unroll 4
        for (int c = 0; c < nr; c++)
            uq[c] = v_load(u + LANES_COUNT * (q * m + j + c));
#pragma GCC unroll 4
        for (int r = 0; r < mr; r++) {
            vec lq = v_load(l + LANES_COUNT * (q * m + i + r));
#pragma GCC unroll 4
            for (int c = 0; c < nr; c++)
                x[r][c] = v_fnma(lq, uq[c], x[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 4
        for (int c = 0; c < nr; c++)
            v_store(u + LANES_COUNT * ((i + r) * m + j + c), x[r][c]);
}

/* Row i of U, which lacks the pivots first .. i - 1 only, and of L^T; returns the pivot. Sizes of
 * |L| |D| |L|^T are added to those of the columns. */
LANES_INLINE vec lanes_pivot(int64_t m, int64_t first, int64_t i, vec threshold, double *u,
                             double *l, double *sizes)
{
    double *row = u + LANES_COUNT * i * m;
    for (int64_t j = i; j < m; j++) {
        vec x = v_load(row + LANES_COUNT * j);
        for (int64_t q = first; q < i; q++)
            x = v_fnma(v_load(l + LANES_COUNT * (q * m + i)), v_load(u + LANES_COUNT * (q * m + j)),
                       x);
        v_store(row + LANES_COUNT * j, x);
    }
    const vec pivot = v_sub(v_load(row + LANES_COUNT * i), threshold);
    const vec inverse = v_div(v_set(1), pivot), size = v_max(inverse, v_sub(v_set(0), inverse));
    for (int64_t j = i + 1; j < m; j++) {
        const int64_t at = LANES_COUNT * j;
        vec x = v_load(row + at);
        v_store(l + LANES_COUNT * i * m + at, v_mul(x, inverse));
        v_store(sizes + at, v_fma(v_mul(x, x), size, v_load(sizes + at)));
    }
    return pivot;
}

static void lanes_count_pivots(int64_t m, const double *k, const double *threshold, double *work,
                               double *count, double *growth)
{
    for (int64_t part = 0; part < LANES_COUNT; part += LANES_WIDTH) {
        double *u = work + part, *l = u + LANES_COUNT * m * m, *sizes = l + LANES_COUNT * m * m;
        const vec t = v_load(threshold + part);
        vec n = v_set(0), sum = v_set(0);
        for (int64_t j = 0; j < m; j++)
            v_store(sizes + LANES_COUNT * j, v_set(0));
        for (int64_t i = 0; i < m;) {
            const int64_t first = i, whole = i + LANES_BLOCK <= m;
            const int64_t end = whole ? i + LANES_BLOCK : i + 1;
            int64_t j = i;
            for (; whole && j + LANES_COLUMNS <= m; j += LANES_COLUMNS)
                lanes_eliminate(LANES_BLOCK, LANES_COLUMNS, m, i, j, k + part, l, u);
            for (; j < m; j++)
                if (whole)
                    lanes_eliminate(LANES_BLOCK, 1, m, i, j, k + part, l, u);
                else
                    lanes_eliminate(1, 1, m, i, j, k + part, l, u);
            for (; i < end; i++) {
                vec pivot = lanes_pivot(m, first, i, t, u, l, sizes);
                vec size = v_max(pivot, v_sub(v_set(0), pivot));
                n = v_add(n, v_nonnegative(pivot));
                sum = v_add(sum, v_add(v_load(sizes + LANES_COUNT * i), size));
            }
        }
        v_store(count + part, n);
        v_store(growth + part, sum);
    }
}

#define LANES_TABLE                                                                                \
    {                                                                                              \
        LANES_COUNT, lanes_product, lanes_row_sums, lanes_row_apply, lanes_column_sums,            \
            lanes_column_apply, lanes_dot, lanes_scale, lanes_tridiagonalize, lanes_count_above,   \
            lanes_count_pivots                                                                     \
    }

#endif
