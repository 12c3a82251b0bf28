#include "src/gradient/map.h"

#include "src/base/largest.h"
#include "src/base/mem_place.h"

#include <math.h>
#include <string.h>

/* Rows that are taken together: their sums do not wait for each other. */
enum { TOGETHER = 4 };

bool norma_gradient_map_mixes(const norma_chain_spec *spec)
{
    return spec->norm == NORMA_CHAIN_NORM_BN || spec->norm == NORMA_CHAIN_NORM_BN_CENTERED;
}

static bool is_centered(const norma_chain_spec *spec)
{
    return spec->norm == NORMA_CHAIN_NORM_LN || spec->norm == NORMA_CHAIN_NORM_BN_CENTERED;
}

static bool is_plain(const norma_chain_spec *spec)
{
    return spec->norm == NORMA_CHAIN_NORM_NONE;
}

/* Is the activation in front of a norm? */
static bool is_act_first(const norma_chain_spec *spec)
{
    return spec->order == NORMA_CHAIN_ACT_NORM || is_plain(spec);
}

norma_status norma_gradient_map_place(norma_gradient_map *map, const norma_chain_spec *spec,
                                      double *bytes)
{
    const int64_t d = spec->width, n = spec->batch;
    map->spec = spec;
    if (!is_plain(spec))
        NORMA_TRY(NORMA_PLACE(map->w, d * n, bytes));
    NORMA_TRY(NORMA_PLACE(map->factor, d > n ? d : n, bytes));
    NORMA_TRY(NORMA_PLACE(map->mean, n, bytes));
    return NORMA_PLACE(map->dot, n, bytes);
}

void norma_gradient_map_clear(norma_gradient_map *map)
{
    NORMA_FREE(map->w);
    NORMA_FREE(map->factor);
    NORMA_FREE(map->mean);
    NORMA_FREE(map->dot);
}

/* x[count][n] to w[count][n] and s[count]; w may be x. The largest elements are taken out, so that
 * squares stay in range. */
static inline __attribute__((always_inline)) void normalize_some(const int count, int64_t n,
                                                                 bool centered, double eps,
                                                                 const double *x, double *w,
                                                                 double *s)
{
    double unit[TOGETHER] = {0}, mean[TOGETHER] = {0}, square[TOGETHER] = {0};
    int shift[TOGETHER] = {0};
    for (int r = 0; r < count; r++) {
        const double largest = norma_largest_magnitude(n, x + r * n);
        shift[r] = largest > 0 ? ilogb(largest) : 0;
        unit[r] = ldexp(1, -shift[r]);
    }
    for (int64_t j = 0; j < n; j++)
        for (int r = 0; r < count; r++) {
            const double scaled = x[r * n + j] * unit[r];
            w[r * n + j] = scaled;
            if (centered)
                mean[r] += scaled;
            else
                square[r] += scaled * scaled;
        }
    for (int r = 0; r < count; r++)
        mean[r] /= (double)n;
    for (int64_t j = 0; centered && j < n; j++)
        for (int r = 0; r < count; r++) {
            const double deviation = w[r * n + j] - mean[r];
            w[r * n + j] = deviation;
            square[r] += deviation * deviation;
        }
    for (int r = 0; r < count; r++) {
        const double length = hypot(sqrt(square[r]), sqrt((double)n * eps) * unit[r]);
        for (int64_t j = 0; length > 0 && j < n; j++)
            w[r * n + j] /= length;
        s[r] = ldexp(length, shift[r]);
    }
}

/* map->w[d][N] and map->factor[d] from x[d][N], which may be map->w. */
static void normalize_rows(norma_gradient_map *map, const double *x)
{
    const norma_chain_spec *spec = map->spec;
    const int64_t d = spec->width, n = spec->batch;
    const bool centered = is_centered(spec);
    const double eps = spec->bn_eps;
    int64_t i = 0;
    for (; i + TOGETHER <= d; i += TOGETHER)
        normalize_some(TOGETHER, n, centered, eps, x + i * n, map->w + i * n, map->factor + i);
    for (; i < d; i++)
        normalize_some(1, n, centered, eps, x + i * n, map->w + i * n, map->factor + i);
}

/* The same along columns; map->dot holds the largest elements' powers of two. */
static void normalize_columns(norma_gradient_map *map)
{
    const norma_chain_spec *spec = map->spec;
    const int64_t d = spec->width, n = spec->batch;
    double *w = map->w, *mean = map->mean, *unit = map->dot, *square = map->factor;
    for (int64_t j = 0; j < n; j++)
        unit[j] = mean[j] = square[j] = 0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            unit[j] = fabs(w[i * n + j]) > unit[j] ? fabs(w[i * n + j]) : unit[j];
    for (int64_t j = 0; j < n; j++)
        unit[j] = unit[j] > 0 ? ldexp(1, -ilogb(unit[j])) : 1;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            mean[j] += w[i * n + j] *= unit[j];
    for (int64_t j = 0; j < n; j++)
        mean[j] = is_centered(spec) ? mean[j] / (double)d : 0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++) {
            w[i * n + j] -= mean[j];
            square[j] += w[i * n + j] * w[i * n + j];
        }
    for (int64_t j = 0; j < n; j++)
        square[j] = hypot(sqrt(square[j]), sqrt((double)d * spec->bn_eps) * unit[j]);
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            w[i * n + j] /= square[j] > 0 ? square[j] : 1;
    for (int64_t j = 0; j < n; j++)
        square[j] /= unit[j];
}

/* The norm of a normalized line, t. */
static double target(const norma_chain_spec *spec)
{
    double length = (double)(norma_gradient_map_mixes(spec) ? spec->batch : spec->width);
    return spec->unit_norm ? 1 : sqrt(length);
}

void norma_gradient_map_set(norma_gradient_map *map, int64_t layer, const double *z)
{
    const norma_chain_spec *spec = map->spec;
    const int64_t count = spec->width * spec->batch;
    const bool rows = norma_gradient_map_mixes(spec);
    const int64_t n_lines = rows ? spec->width : spec->batch;
    map->z = z;
    map->gain = norma_chain_spec_gain(spec, layer);
    if (is_plain(spec))
        return;
    if (is_act_first(spec) || !rows)
        memcpy(map->w, z, (size_t)count * sizeof *z);
    if (is_act_first(spec)) {
        for (int64_t k = 0; k < count; k++)
            map->w[k] *= map->gain;
        norma_activation_apply(&spec->activation, count, map->w);
        for (int64_t k = 0; k < count; k++)
            map->w[k] *= spec->act_scale;
    }
    if (rows)
        normalize_rows(map, is_act_first(spec) ? map->w : z);
    else
        normalize_columns(map);
    for (int64_t i = 0; i < n_lines; i++)
        map->factor[i] = map->factor[i] > 0 ? target(spec) / map->factor[i] : 0;
}

/* v[count][n] = factor (P v - w (w v)) of each row. */
static inline __attribute__((always_inline)) void derive_some(const int count, int64_t n,
                                                              bool centered, const double *factor,
                                                              const double *w, double *v)
{
    double mean[TOGETHER] = {0}, dot[TOGETHER] = {0};
    for (int64_t j = 0; j < n; j++)
        for (int r = 0; r < count; r++) {
            if (centered)
                mean[r] += v[r * n + j];
            dot[r] += w[r * n + j] * v[r * n + j];
        }
    for (int r = 0; r < count; r++) {
        const double middle = mean[r] / (double)n;
        for (int64_t j = 0; j < n; j++)
            v[r * n + j] = factor[r] * ((v[r * n + j] - middle) - w[r * n + j] * dot[r]);
    }
}

static void row_derivatives(const norma_gradient_map *map, double *v)
{
    const int64_t d = map->spec->width, n = map->spec->batch;
    const bool centered = is_centered(map->spec);
    int64_t i = 0;
    for (; i + TOGETHER <= d; i += TOGETHER)
        derive_some(TOGETHER, n, centered, map->factor + i, map->w + i * n, v + i * n);
    for (; i < d; i++)
        derive_some(1, n, centered, map->factor + i, map->w + i * n, v + i * n);
}

static void norm_derivative(const norma_gradient_map *map, double *v)
{
    const norma_chain_spec *spec = map->spec;
    const int64_t d = spec->width, n = spec->batch;
    const bool centered = is_centered(spec);
    double *mean = map->mean, *dot = map->dot;
    if (norma_gradient_map_mixes(spec)) {
        row_derivatives(map, v);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        mean[j] = dot[j] = 0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++) {
            mean[j] += centered ? v[i * n + j] / (double)d : 0;
            dot[j] += map->w[i * n + j] * v[i * n + j];
        }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++) {
            double *x = v + i * n + j;
            *x = map->factor[j] * ((*x - mean[j]) - map->w[i * n + j] * dot[j]);
        }
}

/* v[count] *= scale times the derivative of the activation at element first + k. */
static void act_derivative(const norma_gradient_map *map, int64_t first, int64_t count, double *v)
{
    const norma_chain_spec *spec = map->spec;
    const bool before = is_act_first(spec);
    const double *x = before ? map->z : map->w;
    const double inner = map->gain * (before ? 1 : target(spec));
    const double outer = map->gain * spec->act_scale * spec->scale;
    if (spec->activation.kind == NORMA_ACTIVATION_IDENTITY) {
        for (int64_t k = 0; k < count && outer != 1; k++)
            v[k] *= outer;
        return;
    }
    for (int64_t k = 0; k < count; k++)
        v[k] *= outer * norma_activation_derivative(&spec->activation, inner * x[first + k]);
}

void norma_gradient_map_back(const norma_gradient_map *map, double *v)
{
    const int64_t count = map->spec->width * map->spec->batch;
    const bool before = is_act_first(map->spec);
    if (!before)
        act_derivative(map, 0, count, v);
    if (!is_plain(map->spec))
        norm_derivative(map, v);
    if (before)
        act_derivative(map, 0, count, v);
}

void norma_gradient_map_forward(const norma_gradient_map *map, double *v)
{
    const int64_t count = map->spec->width * map->spec->batch;
    const bool before = is_act_first(map->spec);
    if (before)
        act_derivative(map, 0, count, v);
    if (!is_plain(map->spec))
        norm_derivative(map, v);
    if (!before)
        act_derivative(map, 0, count, v);
}

void norma_gradient_map_back_samples(const norma_gradient_map *map, const double *v, int64_t row,
                                     double *out)
{
    const norma_chain_spec *spec = map->spec;
    const int64_t n = spec->batch;
    const bool before = is_act_first(spec);
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int64_t j = 0; j < n; j++) {
        double *x = out + j * n;
        x[j] = v[row * n + j];
        if (!before)
            act_derivative(map, row * n, n, x);
        if (!is_plain(spec))
            derive_some(1, n, is_centered(spec), map->factor + row, map->w + row * n, x);
        if (before)
            act_derivative(map, row * n, n, x);
    }
}
