/* The loops of src/chain/kernels/lanes.h for one replica, included after lanes_loops.h by one file
 * per instruction set. Vectors run along columns here; each element is computed by the same
 * operations in the same order as a lane of lanes_loops.h, so the bits are those of any lane. */
#ifndef NORMA_CHAIN_KERNELS_SOLO_LOOPS_H
#define NORMA_CHAIN_KERNELS_SOLO_LOOPS_H

#include "src/chain/kernels/lanes.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define SOLO_ROWS 4
#define SOLO_VECTORS 2
#define SOLO_COLUMNS ((ptrdiff_t)SOLO_VECTORS * LANES_WIDTH)

LANES_INLINE int64_t solo_part(int64_t left)
{
    return left < LANES_WIDTH ? left : LANES_WIDTH;
}

/* Columns first .. first + width - 1 of operand b as packed[k][columns], zeros beyond. */
LANES_INLINE void solo_pack(int64_t width, int64_t k, norma_lanes_operand b, int64_t first,
                            int64_t columns, double *packed)
{
    const double *from = b.data + first * b.column;
    if (width < columns)
        for (int64_t q = 0; q < k * columns; q++)
            packed[q] = 0;
    if (b.column == 1)
        for (int64_t q = 0; q < k; q++)
            for (int64_t j = 0; j < width; j += LANES_WIDTH)
                v_store_part(packed + q * columns + j, solo_part(width - j),
                             v_load_part(from + q * b.row + j, solo_part(width - j)));
    else
        for (int64_t j = 0; j < width; j++)
            for (int64_t q = 0; q < k; q++)
                packed[q * columns + j] = from[j * b.column + q * b.row];
}

/* Where the elements of a block go: factor, what is added, result, their columns, and how many of
 * the packed ones there are. */
typedef struct solo_target {
    double alpha;
    const double *add;
    double *c;
    int64_t n, width;
} solo_target;

/* Rows i .. i + mr - 1 of the product with nv vectors of packed columns; mr and nv are constants
 * after inlining. */
LANES_INLINE void solo_block(int mr, int nv, int64_t k, norma_lanes_operand a, int64_t i,
                             const double *packed, const solo_target *target)
{
    const double *from = a.data + i * a.row;
    vec sum[SOLO_ROWS][SOLO_VECTORS];
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 2
        for (int h = 0; h < nv; h++)
            sum[r][h] = v_set(0);
    for (int64_t q = 0; q < k; q++) {
        vec b[SOLO_VECTORS];
#pragma GCC unroll 2
        for (int h = 0; h < nv; h++)
            b[h] = v_load(packed + (ptrdiff_t)h * LANES_WIDTH);
#pragma GCC unroll 4
        for (int r = 0; r < mr; r++) {
            vec x = v_set(from[r * a.row]);
#pragma GCC unroll 2
            for (int h = 0; h < nv; h++)
                sum[r][h] = v_fma(x, b[h], sum[r][h]);
        }
        packed += (ptrdiff_t)nv * LANES_WIDTH;
        from += a.column;
    }
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 2
        for (int h = 0; h < nv; h++) {
            int64_t at = (i + r) * target->n + (int64_t)h * LANES_WIDTH;
            int64_t part = target->width - (int64_t)h * LANES_WIDTH;
            if (part <= 0)
                break;
            part = solo_part(part);
            vec value = target->add ? v_fma(v_set(target->alpha), sum[r][h],
                                            v_load_part(target->add + at, part))
                                    : v_mul(v_set(target->alpha), sum[r][h]);
            v_store_part(target->c + at, part, value);
        }
}

/* Rows `begin` on of nv vectors of columns. */
LANES_INLINE void solo_strip(int nv, int64_t begin, int64_t m, int64_t k, norma_lanes_operand a,
                             const double *packed, const solo_target *target)
{
    int64_t i = begin;
    for (; i + SOLO_ROWS <= m; i += SOLO_ROWS)
        solo_block(SOLO_ROWS, nv, k, a, i, packed, target);
    for (; i < m; i++)
        solo_block(1, nv, k, a, i, packed, target);
}

static void solo_product(int64_t m, int64_t n, int64_t k, norma_lanes_operand a,
                         norma_lanes_operand b, double alpha, const double *add, double *c,
                         int lower)
{
    double packed[NORMA_SOLO_MAX_SIZE * SOLO_COLUMNS] __attribute__((aligned(64)));
    for (int64_t j = 0; j < n; j += SOLO_COLUMNS) {
        const int64_t width = n - j < SOLO_COLUMNS ? n - j : SOLO_COLUMNS;
        const int64_t begin = lower ? j / SOLO_ROWS * SOLO_ROWS : 0;
        solo_target target = {alpha, add ? add + j : NULL, NULL, n, width};
        target.c = c + j;
        const int64_t columns = width > LANES_WIDTH ? SOLO_COLUMNS : LANES_WIDTH;
        const bool is_packed = n == columns && b.column == 1 && b.row == columns;
        const double *strip = is_packed ? b.data : packed;
        if (!is_packed)
            solo_pack(width, k, b, j, columns, packed);
        if (columns == SOLO_COLUMNS)
            solo_strip(SOLO_VECTORS, begin, m, k, a, strip, &target);
        else
            solo_strip(1, begin, m, k, a, strip, &target);
    }
}

static void solo_row_sums(int64_t d, int64_t n, const double *z, int centered, double *mean,
                          double *square, double *raw)
{
    enum { ROWS = 8 }; /* independent sums in flight */
    for (int64_t i = 0; i < d; i += ROWS) {
        int64_t rows = d - i < ROWS ? d - i : ROWS;
        double sum[ROWS] = {0}, all[ROWS] = {0}, deviations[ROWS] = {0};
        for (int64_t j = 0; j < n; j++)
            for (int64_t r = 0; r < rows; r++) {
                double x = z[(i + r) * n + j];
                sum[r] += x;
                all[r] = fma(x, x, all[r]);
            }
        for (int64_t r = 0; r < rows; r++) {
            mean[i + r] = centered ? sum[r] / (double)n : 0;
            raw[i + r] = square[i + r] = all[r];
        }
        for (int64_t j = 0; centered && j < n; j++)
            for (int64_t r = 0; r < rows; r++) {
                double x = z[(i + r) * n + j] - mean[i + r];
                deviations[r] = fma(x, x, deviations[r]);
            }
        for (int64_t r = 0; centered && r < rows; r++)
            square[i + r] = deviations[r];
    }
}

static void solo_column_sums(int64_t d, int64_t n, const double *z, int centered, double *mean,
                             double *square, double *raw)
{
    for (int64_t j = 0; j < n; j += LANES_WIDTH) {
        int64_t part = solo_part(n - j);
        vec sum = v_set(0), all = v_set(0), deviations = v_set(0);
        for (int64_t i = 0; i < d; i++) {
            vec x = v_load_part(z + i * n + j, part);
            sum = v_add(sum, x);
            all = v_fma(x, x, all);
        }
        vec m = centered ? v_div(sum, v_set((double)d)) : v_set(0);
        for (int64_t i = 0; centered && i < d; i++) {
            vec x = v_sub(v_load_part(z + i * n + j, part), m);
            deviations = v_fma(x, x, deviations);
        }
        v_store_part(mean + j, part, m);
        v_store_part(square + j, part, centered ? deviations : all);
        v_store_part(raw + j, part, all);
    }
}

static void solo_row_apply(int64_t d, int64_t n, double *z, const double *mean,
                           const double *factor)
{
    for (int64_t i = 0; i < d; i++) {
        vec f = v_set(factor[i]), m = v_set(mean ? mean[i] : 0);
        for (int64_t j = 0; j < n; j += LANES_WIDTH) {
            double *x = z + i * n + j;
            int64_t part = solo_part(n - j);
            v_store_part(x, part, v_mul(f, v_sub(v_load_part(x, part), m)));
        }
    }
}

static void solo_column_apply(int64_t d, int64_t n, double *z, const double *mean,
                              const double *factor)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j += LANES_WIDTH) {
            double *x = z + i * n + j;
            int64_t part = solo_part(n - j);
            vec m = mean ? v_load_part(mean + j, part) : v_set(0);
            v_store_part(x, part,
                         v_mul(v_load_part(factor + j, part), v_sub(v_load_part(x, part), m)));
        }
}

static void solo_dot(int64_t count, const double *x, const double *y, double *out)
{
    double sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int q = 0; q < 4; q++)
            sum[q] = fma(x[i + q], y[i + q], sum[q]);
    for (; i < count; i++)
        sum[0] = fma(x[i], y[i], sum[0]);
    out[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void solo_scale(int64_t count, const double *factor, double *x)
{
    for (int64_t i = 0; i < count; i++)
        x[i] *= factor[0];
}

/* As lanes_reflector, along row `step`: the matrix is held symmetric in both triangles. */
LANES_INLINE double solo_reflector(int64_t m, int64_t step, const double *row, double *next,
                                   double *factor)
{
    double head = row[step + 1], tail = 0;
    for (int64_t i = step + 2; i < m; i++) {
        tail = fma(row[i], row[i], tail);
        next[i] = row[i];
    }
    double opposite = copysign(sqrt(fma(head, head, tail)), -head);
    next[step + 1] = head - opposite;
    double square = fma(next[step + 1], next[step + 1], tail);
    *factor = 2 / (square > LANES_TINY ? square : LANES_TINY);
    return opposite;
}

/* The terms of an update: v, w; the vector that the rows are multiplied by; the products. */
typedef struct solo_update {
    const double *v, *w, *next;
    double *p;
} solo_update;

/* Columns j .. j + part - 1 of rows i .. i + mr - 1: updated, and p gathered. */
LANES_INLINE void solo_update_piece(const solo_update *u, int mr, int64_t m, int64_t i, int64_t j,
                                    int64_t part, double *k)
{
    double *row = k + i * m + j;
    vec v = v_load_part(u->v + j, part), w = v_load_part(u->w + j, part);
    vec p = v_load_part(u->p + j, part);
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++) {
        vec x = lanes_changed(v_load_part(row + r * m, part), v_set(u->v[i + r]),
                              v_set(u->w[i + r]), v, w);
        p = v_fma(x, v_set(u->next[i + r]), p);
        v_store_part(row + r * m, part, x);
    }
    v_store_part(u->p + j, part, p);
}

/* As lanes_update. Columns begin at a whole vector: those before `begin` are never read again. */
LANES_INLINE void solo_update_rows(const solo_update *u, int mr, int64_t m, int64_t i,
                                   int64_t begin, double *k)
{
    int64_t j = begin / LANES_WIDTH * LANES_WIDTH;
    for (; j + LANES_WIDTH <= m; j += LANES_WIDTH)
        solo_update_piece(u, mr, m, i, j, LANES_WIDTH, k);
    if (j < m)
        solo_update_piece(u, mr, m, i, j, m - j, k);
}

/* The last update taken off row `step` from the diagonal on. */
LANES_INLINE void solo_update_row(int64_t m, int64_t step, double *row, const double *v,
                                  const double *w)
{
    for (int64_t j = step; j < m; j++)
        row[j] -= v[step] * w[j] + w[step] * v[j];
}

static void solo_tridiagonalize(int64_t m, double *k, double *diagonal, double *off, double *work)
{
    double *v = work, *w = v + m, *next = w + m, *p = next + m;
    for (int64_t j = 0; j < 4 * m; j++)
        work[j] = 0;
    for (int64_t step = 0; step < m; step++) {
        double *row = k + step * m, factor = 0, dot = 0;
        solo_update_row(m, step, row, v, w);
        diagonal[step] = row[step];
        if (step + 1 == m)
            break;
        if (step + 2 == m) {
            off[step] = row[step + 1];
            continue;
        }
        off[step] = solo_reflector(m, step, row, next, &factor);
        for (int64_t i = 0; i < m; i++)
            p[i] = 0;
        const solo_update update = {v, w, next, p};
        int64_t i = step + 1;
        for (; i + SOLO_ROWS <= m; i += SOLO_ROWS)
            solo_update_rows(&update, SOLO_ROWS, m, i, step + 1, k);
        for (; i + 2 <= m; i += 2)
            solo_update_rows(&update, 2, m, i, step + 1, k);
        if (i < m)
            solo_update_rows(&update, 1, m, i, step + 1, k);
        for (i = step + 1; i < m; i++) {
            p[i] *= factor;
            dot = fma(p[i], next[i], dot);
        }
        double shift = 0.5 * factor * dot;
        for (i = step + 1; i < m; i++)
            p[i] = fma(-shift, next[i], p[i]);
        double *old_v = v, *old_w = w;
        v = next;
        w = p;
        next = old_v;
        p = old_w;
    }
}

static void solo_count_above(int64_t m, const double *diagonal, const double *off,
                             const double *threshold, double *count)
{
    double q = 0, n = 0;
    for (int64_t i = 0; i < m; i++) {
        double d = diagonal[i] - threshold[0];
        q = i > 0 ? d - off[i - 1] * off[i - 1] / q : d;
        q = fabs(q) >= LANES_TINY ? q : LANES_TINY;
        n += q >= 0;
    }
    count[0] = n;
}

/* As lanes_eliminate, with nv vectors of columns, the last one of `part`. */
LANES_INLINE void solo_eliminate(int mr, int nv, int64_t m, int64_t i, int64_t j, int64_t part,
                                 const double *k, const double *l, double *u)
{
    vec x[SOLO_ROWS][SOLO_VECTORS];
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 2
        for (int h = 0; h < nv; h++)
            x[r][h] = v_load_part(k + (i + r) * m + j + (ptrdiff_t)h * LANES_WIDTH,
                                  h + 1 < nv ? LANES_WIDTH : part);
    for (int64_t q = 0; q < i; q++) {
        vec uq[SOLO_VECTORS];
#pragma GCC unroll 2
        for (int h = 0; h < nv; h++)
            uq[h] = v_load_part(u + q * m + j + (ptrdiff_t)h * LANES_WIDTH,
                                h + 1 < nv ? LANES_WIDTH : part);
#pragma GCC unroll 4
        for (int r = 0; r < mr; r++) {
            vec lq = v_set(l[q * m + i + r]);
#pragma GCC unroll 2
            for (int h = 0; h < nv; h++)
                x[r][h] = v_fnma(lq, uq[h], x[r][h]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < mr; r++)
#pragma GCC unroll 2
        for (int h = 0; h < nv; h++)
            v_store_part(u + (i + r) * m + j + (ptrdiff_t)h * LANES_WIDTH,
                         h + 1 < nv ? LANES_WIDTH : part, x[r][h]);
}

/* As lanes_pivot. Columns begin at a whole vector: those before the diagonal are never read. */
LANES_INLINE double solo_pivot(int64_t m, int64_t first, int64_t i, double threshold, double *u,
                               double *l, double *sizes)
{
    double *row = u + i * m;
    const int64_t begin = i / LANES_WIDTH * LANES_WIDTH;
    for (int64_t j = begin; j < m; j += LANES_WIDTH) {
        const int64_t part = solo_part(m - j);
        vec x = v_load_part(row + j, part);
        for (int64_t q = first; q < i; q++)
            x = v_fnma(v_set(l[q * m + i]), v_load_part(u + q * m + j, part), x);
        v_store_part(row + j, part, x);
    }
    const double pivot = row[i] - threshold, inverse = 1 / pivot;
    const vec scale = v_set(inverse), size = v_set(fabs(inverse));
    const double size_of_pivot = sizes[i] + fabs(pivot);
    for (int64_t j = begin; j < m; j += LANES_WIDTH) {
        const int64_t part = solo_part(m - j);
        vec x = v_load_part(row + j, part);
        v_store_part(l + i * m + j, part, v_mul(x, scale));
        v_store_part(sizes + j, part, v_fma(v_mul(x, x), size, v_load_part(sizes + j, part)));
    }
    sizes[i] = size_of_pivot;
    return pivot;
}

static void solo_count_pivots(int64_t m, const double *k, const double *threshold, double *work,
                              double *count, double *growth)
{
    double *u = work, *l = u + m * m, *sizes = l + m * m;
    double n = 0, sum = 0;
    for (int64_t j = 0; j < m; j++)
        sizes[j] = 0;
    for (int64_t i = 0; i < m;) {
        const int64_t first = i, whole = i + SOLO_ROWS <= m;
        const int64_t end = whole ? i + SOLO_ROWS : i + 1;
        for (int64_t j = i / LANES_WIDTH * LANES_WIDTH; j < m;) {
            const bool two = j + LANES_WIDTH < m;
            const int64_t part = solo_part(two ? m - j - LANES_WIDTH : m - j);
            if (whole && two)
                solo_eliminate(SOLO_ROWS, 2, m, i, j, part, k, l, u);
            else if (whole)
                solo_eliminate(SOLO_ROWS, 1, m, i, j, part, k, l, u);
            else if (two)
                solo_eliminate(1, 2, m, i, j, part, k, l, u);
            else
                solo_eliminate(1, 1, m, i, j, part, k, l, u);
            j += two ? 2 * LANES_WIDTH : LANES_WIDTH;
        }
        for (; i < end; i++) {
            double pivot = solo_pivot(m, first, i, threshold[0], u, l, sizes);
            n += pivot >= 0;
            sum += sizes[i];
        }
    }
    count[0] = n;
    growth[0] = sum;
}

#define SOLO_TABLE                                                                                 \
    {                                                                                              \
        1, solo_product, solo_row_sums, solo_row_apply, solo_column_sums, solo_column_apply,       \
            solo_dot, solo_scale, solo_tridiagonalize, solo_count_above, solo_count_pivots         \
    }

#endif
