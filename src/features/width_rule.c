#include "src/features/width_rule.h"

#include "src/base/mem_place.h"

#include <math.h>
#include <string.h>

/* Beyond this a target weight leaves gamma no room within the range of doubles. */
#define LARGEST_TARGET 1e140

typedef struct choice {
    const char *name, *summary;
} choice;

static const choice widths[NORMA_N_WIDTHS] = {
    [NORMA_WIDTH_MAX] = {"max", "gamma2 = 1: as many equations as weights"},
    [NORMA_WIDTH_MIN] = {"min", "gamma2 scales the outputs: fewer equations"},
};

static const choice residuals[NORMA_N_RESIDUALS] = {
    [NORMA_RESIDUAL_NONE] = {"none", "no skip connection"},
    [NORMA_RESIDUAL_INNER] = {"inner", "the skip joins behind the second normalization: the pair "
                                       "computes the target less the skip"},
    [NORMA_RESIDUAL_OUTER] = {"outer", "the skip joins in front of it: gamma2 multiplies both; "
                                       "for activations that are linear on each side of 0"},
};

const norma_names norma_width_names = NORMA_NAMES("width rule", "width rules", widths);
const norma_names norma_residual_names = NORMA_NAMES("residual", "residuals", residuals);

norma_status norma_width_from_name(const char *name, norma_width *out)
{
    int64_t i = 0;
    NORMA_TRY(norma_names_find(&norma_width_names, name, &i));
    *out = (norma_width)i;
    return NORMA_OK;
}

const char *norma_width_name(norma_width width)
{
    return widths[width].name;
}

norma_status norma_residual_from_name(const char *name, norma_residual *out)
{
    int64_t i = 0;
    NORMA_TRY(norma_names_find(&norma_residual_names, name, &i));
    *out = (norma_residual)i;
    return NORMA_OK;
}

const char *norma_residual_name(norma_residual residual)
{
    return residuals[residual].name;
}

static int64_t length_of_row(const norma_khatri_rao_shape *shape)
{
    return shape->n_channels_in * norma_kernel_taps(shape->kernel.composite);
}

/* Position of the largest |row[s]|, the first of equals; -1 when all are zero. */
static int64_t find_pivot(const double *row, int64_t length)
{
    int64_t pivot = -1;
    double largest = 0;
    for (int64_t s = 0; s < length; s++) {
        if (fabs(row[s]) > largest) {
            largest = fabs(row[s]);
            pivot = s;
        }
    }
    return pivot;
}

/* True when a channel's target, less its skip unless that is NULL, is zero. */
static bool is_zero(const double *row, const double *skip, int64_t length)
{
    for (int64_t s = 0; s < length; s++)
        if (row[s] != (skip ? skip[s] : 0))
            return false;
    return true;
}

/* True when gamma2 multiplies the skip. */
static bool is_skip_inside(norma_width width, norma_residual residual)
{
    return width == NORMA_WIDTH_MIN && residual == NORMA_RESIDUAL_OUTER;
}

static norma_status no_equation(void)
{
    return NORMA_FAIL(NORMA_CONFIG,
                      "min rule with an outer skip: no equation is left for gamma1, since every "
                      "output channel has a single weight or none; use --width-rule max");
}

norma_status norma_width_rule_check(norma_width width, norma_residual residual,
                                    const norma_khatri_rao_shape *shape)
{
    return is_skip_inside(width, residual) && length_of_row(shape) == 1 ? no_equation() : NORMA_OK;
}

int64_t norma_width_rule_minimum(norma_width width, norma_residual residual,
                                 const norma_khatri_rao_shape *shape, const double *target,
                                 const double *skip)
{
    int64_t length = length_of_row(shape);
    int64_t n_active = 0;
    bool inside = is_skip_inside(width, residual);
    bool inner = residual != NORMA_RESIDUAL_NONE && !inside;
    bool known = target && (skip || !inner);
    if (width == NORMA_WIDTH_MAX)
        return norma_khatri_rao_n_rows(shape);
    for (int64_t i = 0; i < shape->n_channels_out; i++) {
        const double *beside = inner && skip ? skip + i * length : NULL;
        if (!known || !is_zero(target + i * length, beside, length))
            n_active++;
    }
    int64_t n_rows = n_active * (length - 1);
    return inside && n_rows > 0 ? n_rows : n_rows + 1;
}

double norma_width_rule_overparametrized(int64_t n_minimum, double overparam)
{
    double wanted = (double)n_minimum * (1 + overparam);
    return ceil(wanted * (1 - 1e-15)); /* 10% of 100 are 10 */
}

static norma_status check_weights(const char *name, const norma_khatri_rao_shape *shape,
                                  const double *target)
{
    int64_t n_taps = norma_kernel_taps(shape->kernel.composite);
    int64_t n = norma_khatri_rao_n_rows(shape);
    for (int64_t I = 0; I < n; I++) {
        if (fabs(target[I]) <= LARGEST_TARGET) /* false for NaN */
            continue;
        return NORMA_FAIL(
            NORMA_CONFIG, "%s weight [%lld, %lld, position %lld] is %g: %s", name,
            (long long)(I / n_taps / shape->n_channels_in),
            (long long)(I / n_taps % shape->n_channels_in), (long long)(I % n_taps), target[I],
            isfinite(target[I]) ? "too large for double precision" : "a finite value is expected");
    }
    return NORMA_OK;
}

/* The power of two that brings the largest target weight into [1, 2); 1 for a zero target. */
static double choose_scale(const double *target, int64_t n)
{
    int64_t pivot = find_pivot(target, n);
    return pivot < 0 ? 1 : ldexp(1, ilogb(target[pivot]));
}

/* min: pivots, ratios and the channels that stay. */
static void set_pivots(norma_width_rule *rule)
{
    for (int64_t i = 0; i < rule->shape.n_channels_out; i++) {
        const double *row = rule->target + i * rule->row_length;
        double *ratio = rule->ratio + i * rule->row_length;
        rule->pivot[i] = find_pivot(row, rule->row_length);
        for (int64_t s = 0; s < rule->row_length; s++)
            ratio[s] = rule->pivot[i] < 0 ? 0 : row[s] / row[rule->pivot[i]];
        if (rule->pivot[i] >= 0)
            rule->active[rule->n_active++] = i;
    }
    rule->n_rows = rule->n_active * (rule->row_length - 1);
    rule->n_system = rule->n_rows + (rule->closed ? 1 : 0);
}

/* ||x||, also where squares would leave the range of doubles. */
static double norm(const double *x, int64_t n)
{
    double unit = choose_scale(x, n);
    double squares = 0;
    for (int64_t I = 0; I < n; I++)
        squares += x[I] / unit * (x[I] / unit);
    return sqrt(squares) * unit;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_width_rule *rule, bool skip, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(rule->target, rule->n, bytes));
    if (skip)
        NORMA_TRY(NORMA_PLACE(rule->skip, rule->n, bytes));
    if (rule->width == NORMA_WIDTH_MAX)
        return NORMA_OK;
    NORMA_TRY(NORMA_PLACE(rule->ratio, rule->n, bytes));
    NORMA_TRY(NORMA_PLACE(rule->pivot, rule->shape.n_channels_out, bytes));
    return NORMA_PLACE(rule->active, rule->shape.n_channels_out, bytes);
}

/* Target and skip, divided by the power of two that suits the system's right-hand side. */
static void take_weights(norma_width_rule *rule, const double *target, const double *skip)
{
    memcpy(rule->target, target, (size_t)rule->n * sizeof *target);
    for (int64_t I = 0; skip && !rule->skip_inside && I < rule->n; I++)
        rule->target[I] -= skip[I];
    rule->scale = choose_scale(rule->target, rule->n);
    if (rule->skip_inside && find_pivot(skip, rule->n) >= 0)
        rule->scale = fmax(rule->scale, choose_scale(skip, rule->n));
    for (int64_t I = 0; I < rule->n; I++) {
        rule->target[I] /= rule->scale;
        if (skip)
            rule->skip[I] = skip[I] / rule->scale;
    }
    rule->size = norm(target, rule->n) / rule->scale;
}

norma_status norma_width_rule_create(norma_width width, const norma_khatri_rao_shape *shape,
                                     const double *target, norma_width_rule **out)
{
    return norma_width_rule_create_residual(width, NORMA_RESIDUAL_NONE, shape, target, NULL, out);
}

static norma_status init_rule(norma_width_rule *rule, const double *target, const double *skip)
{
    const norma_khatri_rao_shape *shape = &rule->shape;
    rule->skip_inside = is_skip_inside(rule->width, rule->residual);
    rule->closed = rule->width == NORMA_WIDTH_MIN && !rule->skip_inside;
    rule->n = norma_khatri_rao_n_rows(shape);
    rule->row_length = length_of_row(shape);
    rule->n_rows = rule->n;
    rule->n_system = rule->n;
    NORMA_TRY(place(rule, skip != NULL, NULL));
    take_weights(rule, target, skip);
    if (rule->width == NORMA_WIDTH_MAX)
        return NORMA_OK;
    set_pivots(rule);
    return rule->n_system == 0 ? no_equation() : NORMA_OK;
}

norma_status norma_width_rule_create_residual(norma_width width, norma_residual residual,
                                              const norma_khatri_rao_shape *shape,
                                              const double *target, const double *skip,
                                              norma_width_rule **out)
{
    norma_width_rule *rule = NULL;
    norma_status status = norma_khatri_rao_check(shape);
    if (residual == NORMA_RESIDUAL_NONE)
        skip = NULL;
    if (status == NORMA_OK)
        status = check_weights("target", shape, target);
    if (status == NORMA_OK && skip)
        status = check_weights("skip", shape, skip);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, NORMA_CALLOC(rule, 1));
    rule->shape = *shape;
    rule->width = width;
    rule->residual = residual;
    NORMA_GOTO(status, init_rule(rule, target, skip));
    *out = rule;
    rule = NULL;
done:
    norma_width_rule_destroy(&rule);
    return status;
}

double norma_width_rule_bytes(norma_width width, norma_residual residual,
                              const norma_khatri_rao_shape *shape)
{
    norma_width_rule rule = {.width = width, .shape = *shape, .n = norma_khatri_rao_n_rows(shape)};
    double bytes = (double)sizeof rule;
    (void)place(&rule, residual != NORMA_RESIDUAL_NONE, &bytes);
    return bytes;
}

void norma_width_rule_restrict(const norma_width_rule *rule, const double *full, double *rows)
{
    if (rule->width == NORMA_WIDTH_MAX) {
        memcpy(rows, full, (size_t)rule->n * sizeof *rows);
        return;
    }
    for (int64_t a = 0; a < rule->n_active; a++) {
        int64_t i = rule->active[a];
        const double *from = full + i * rule->row_length;
        const double *ratio = rule->ratio + i * rule->row_length;
        for (int64_t s = 0; s < rule->row_length; s++)
            if (s != rule->pivot[i])
                *rows++ = from[s] - ratio[s] * from[rule->pivot[i]];
    }
}

void norma_width_rule_expand(const norma_width_rule *rule, const double *rows, double *full)
{
    if (rule->width == NORMA_WIDTH_MAX) {
        memcpy(full, rows, (size_t)rule->n * sizeof *rows);
        return;
    }
    memset(full, 0, (size_t)rule->n * sizeof *full);
    for (int64_t a = 0; a < rule->n_active; a++) {
        int64_t i = rule->active[a];
        double *to = full + i * rule->row_length;
        const double *ratio = rule->ratio + i * rule->row_length;
        double pivot = 0;
        for (int64_t s = 0; s < rule->row_length; s++) {
            if (s == rule->pivot[i])
                continue;
            to[s] = *rows++;
            pivot -= ratio[s] * to[s];
        }
        to[rule->pivot[i]] = pivot;
    }
}

void norma_width_rule_rhs(const norma_width_rule *rule, double *rhs)
{
    if (rule->width == NORMA_WIDTH_MAX) {
        memcpy(rhs, rule->target, (size_t)rule->n * sizeof *rhs);
        return;
    }
    memset(rhs, 0, (size_t)rule->n_system * sizeof *rhs);
    if (rule->skip_inside) {
        norma_width_rule_restrict(rule, rule->skip, rhs);
        for (int64_t r = 0; r < rule->n_rows; r++)
            rhs[r] = -rhs[r];
    }
    if (rule->closed)
        rhs[rule->n_rows] = rule->closing;
}

/* Part of M's column within the a-th active channel: entries start .. start + count - 1 of its
 * row_length - 1 ones, the pivot's left out. */
static void fill_channel(const norma_width_rule *rule, const double *second, const double *first,
                         int64_t a, int64_t start, int64_t count, double *out)
{
    int64_t i = rule->active[a];
    int64_t pivot = rule->pivot[i];
    const double *ratio = rule->ratio + i * rule->row_length;
    int64_t n_before = pivot - start; /* entries in front of the pivot */
    double at_pivot = 0;
    n_before = n_before < 0 ? 0 : (n_before > count ? count : n_before);
    norma_khatri_rao_fill(&rule->shape, second, first, i, pivot, 1, &at_pivot);
    norma_khatri_rao_fill(&rule->shape, second, first, i, start, n_before, out);
    norma_khatri_rao_fill(&rule->shape, second, first, i, start + n_before + 1, count - n_before,
                          out + n_before);
    for (int64_t t = 0; t < n_before; t++)
        out[t] -= ratio[start + t] * at_pivot;
    for (int64_t t = n_before; t < count; t++)
        out[t] -= ratio[start + t + 1] * at_pivot;
}

void norma_width_rule_fill(const norma_width_rule *rule, const double *second, const double *first,
                           int64_t start, int64_t count, double *out)
{
    bool min = rule->width == NORMA_WIDTH_MIN;
    int64_t length = rule->row_length - (min ? 1 : 0);
    while (count > 0 && start < rule->n_rows) {
        int64_t position = start % length;
        int64_t n = length - position < count ? length - position : count;
        if (min)
            fill_channel(rule, second, first, start / length, position, n, out);
        else
            norma_khatri_rao_fill(&rule->shape, second, first, start / length, position, n, out);
        start += n;
        out += n;
        count -= n;
    }
    if (count > 0)
        *out = rule->closing;
}

void norma_width_rule_set_closing(norma_width_rule *rule, double sum_of_squares, int64_t n_features)
{
    if (!rule->closed)
        return;
    double mean_square = rule->n_rows > 0 ? sum_of_squares / (double)rule->n_rows : 0;
    rule->closing = mean_square > 0 ? sqrt(mean_square / (double)n_features) : 1;
}

norma_status norma_width_rule_recover(const norma_width_rule *rule, const double *full,
                                      double *gamma2)
{
    for (int64_t i = 0; i < rule->shape.n_channels_out; i++) {
        if (rule->width == NORMA_WIDTH_MAX) {
            gamma2[i] = 1;
            continue;
        }
        gamma2[i] = 0;
        if (rule->pivot[i] < 0)
            continue;
        int64_t I = i * rule->row_length + rule->pivot[i];
        double source = full[I] + (rule->skip_inside ? rule->skip[I] : 0);
        gamma2[i] = rule->target[I] / source;
        if (source == 0 || !isfinite(gamma2[i]))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "min rule: the source gives output channel %lld a pivot of %g where "
                              "the target has %g: no scale gamma2 carries one into the other",
                              (long long)i, source, rule->target[I] * rule->scale);
    }
    return NORMA_OK;
}

void norma_width_rule_error(const norma_width_rule *rule, const double *full, const double *gamma2,
                            double *error)
{
    for (int64_t I = 0; I < rule->n; I++) {
        double source = full[I] + (rule->skip_inside ? rule->skip[I] : 0);
        error[I] = gamma2[I / rule->row_length] * source - rule->target[I];
    }
}

double norma_width_rule_skip_norm(const norma_width_rule *rule, const double *gamma2)
{
    double squares = 0;
    for (int64_t I = 0; rule->skip && I < rule->n; I++) {
        double factor = rule->skip_inside ? gamma2[I / rule->row_length] : 1;
        squares += factor * rule->skip[I] * factor * rule->skip[I];
    }
    return sqrt(squares);
}

void norma_width_rule_destroy(norma_width_rule **rule)
{
    if (*rule) {
        NORMA_FREE((*rule)->target);
        NORMA_FREE((*rule)->skip);
        NORMA_FREE((*rule)->ratio);
        NORMA_FREE((*rule)->pivot);
        NORMA_FREE((*rule)->active);
        NORMA_FREE(*rule);
    }
}
