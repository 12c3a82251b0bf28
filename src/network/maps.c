#include "src/network/maps.h"

#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Features whose weights are held at once. */
#define BLOCK 256

/* *sum + *error += x exactly up to the rounding of *error (Knuth's two-sum). */
static void add_compensated(double *sum, double *error, double x)
{
    double s = *sum + x;
    double part = s - *sum;
    *error += (*sum - (s - part)) + (x - part);
    *sum = s;
}

/* Of all features: shift[i] = sum_{J,p} W2[i,J,p] t_J with compensation error[i], and magnitude[i],
 * the same sum of absolute values with reach_J for t_J. */
typedef struct shift_sums {
    double *shift, *error, *magnitude; /* [c2] */
    const double *t, *reach;           /* [c1] */
} shift_sums;

static void add_rows(const norma_source_shape *shape, const double *rows, int64_t first,
                     int64_t count, const shift_sums *sums)
{
    int64_t n_taps = norma_kernel_taps(shape->kernel.second);
    int64_t n_features = shape->n_features / shape->groups;
    int64_t n_outputs = shape->n_channels_out / shape->groups;
    for (int64_t j = first; j < first + count; j++)
        for (int64_t k = 0; k < n_outputs; k++) {
            int64_t i = j / n_features * n_outputs + k;
            for (int64_t p = 0; p < n_taps; p++) {
                double w = *rows++;
                add_compensated(&sums->shift[i], &sums->error[i], w * sums->t[j]);
                sums->magnitude[i] += fabs(w) * sums->reach[j];
            }
        }
}

static norma_status sum_shifts(const norma_source_shape *shape, const norma_tensor *w2,
                               const shift_sums *sums)
{
    double *rows = NULL;
    int64_t row_size =
        shape->n_channels_out / shape->groups * norma_kernel_taps(shape->kernel.second);
    NORMA_TRY(NORMA_ALLOC(rows, BLOCK * row_size));
    for (int64_t first = 0; first < shape->n_features; first += BLOCK) {
        int64_t count = shape->n_features - first < BLOCK ? shape->n_features - first : BLOCK;
        norma_tensor_fill(w2, first, count, rows);
        add_rows(shape, rows, first, count, sums);
    }
    NORMA_FREE(rows);
    return NORMA_OK;
}

norma_status norma_maps_allocate(int64_t n_features, int64_t n_channels_out, norma_maps **out)
{
    norma_status status = NORMA_OK;
    norma_maps *maps = NULL;
    NORMA_GOTO(status, NORMA_CALLOC(maps, 1));
    maps->n_features = n_features;
    maps->n_channels_out = n_channels_out;
    NORMA_GOTO(status, NORMA_ALLOC(maps->gamma1, maps->n_features));
    NORMA_GOTO(status, NORMA_ALLOC(maps->beta1, maps->n_features));
    NORMA_GOTO(status, NORMA_ALLOC(maps->gamma2, maps->n_channels_out));
    NORMA_GOTO(status, NORMA_ALLOC(maps->beta2, maps->n_channels_out));
    NORMA_GOTO(status, NORMA_CALLOC(maps->constant, maps->n_channels_out));
    *out = maps;
    return NORMA_OK;
done:
    norma_maps_destroy(&maps);
    return status;
}

static norma_status check_finite(const norma_maps *maps)
{
    for (int64_t j = 0; j < maps->n_features; j++)
        if (!isfinite(maps->gamma1[j]) || !isfinite(maps->beta1[j]))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "the affine map of feature %" PRId64 " is not finite: gamma1 %g, "
                              "beta1 %g",
                              j, maps->gamma1[j], maps->beta1[j]);
    for (int64_t i = 0; i < maps->n_channels_out; i++)
        if (!isfinite(maps->gamma2[i]) || !isfinite(maps->beta2[i]))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "the affine map of output channel %" PRId64 " is not finite: gamma2 "
                              "%g, beta2 %g",
                              i, maps->gamma2[i], maps->beta2[i]);
    return NORMA_OK;
}

/* The linear region of the layer. reach[c1] holds max(|lo|, |hi|), ones[c1] is overwritten;
 * sums[3 c2] is zero before and after. */
static norma_status find_region(const norma_source_shape *shape, const norma_tensor *w2,
                                const norma_activation *activation,
                                const norma_maps_accuracy *accuracy, const double *reach,
                                const double *gamma2, double *ones, double *sums,
                                norma_linear_region *region)
{
    int64_t c2 = shape->n_channels_out;
    norma_linear_demand demand = {.epsilon = accuracy->epsilon, .roundoff = accuracy->roundoff};
    if (norma_linear_region_needs_demand(activation)) {
        for (int64_t j = 0; j < shape->n_features; j++) {
            demand.reach = fmax(demand.reach, reach[j]);
            ones[j] = 1;
        }
        shift_sums all = {sums, sums + c2, sums + 2 * c2, ones, ones};
        NORMA_TRY(sum_shifts(shape, w2, &all));
        for (int64_t i = 0; i < c2; i++)
            demand.gain = fmax(demand.gain, fabs(gamma2[i]) * all.magnitude[i]);
        memset(sums, 0, (size_t)(3 * c2) * sizeof *sums);
    }
    return norma_linear_region_init(region, activation, &demand);
}

/* gamma2, beta2 and the magnitude from the sums over all features. */
static void close_maps(norma_maps *maps, const shift_sums *all, const double *gamma2,
                       const double *bias)
{
    double scale = maps->region.slope * maps->region.scale;
    for (int64_t i = 0; i < maps->n_channels_out; i++) {
        maps->gamma2[i] = gamma2[i] / scale;
        maps->constant[i] = all->shift[i] + all->error[i];
        maps->beta2[i] = bias[i] - maps->gamma2[i] * maps->constant[i];
        maps->magnitude = fmax(maps->magnitude, fabs(maps->gamma2[i]) * all->magnitude[i]);
    }
}

norma_status norma_maps_create(const norma_source_shape *shape, const norma_tensor *w2,
                               const norma_activation *activation,
                               const norma_maps_accuracy *accuracy, const double *gamma1,
                               const double *lo, const double *hi, const double *gamma2,
                               const double *bias, norma_maps **out)
{
    norma_status status = NORMA_OK;
    norma_maps *maps = NULL;
    double *t = NULL;
    double *sums = NULL;
    int64_t c1 = shape->n_features;
    int64_t c2 = shape->n_channels_out;
    NORMA_GOTO(status, norma_maps_allocate(shape->n_features, shape->n_channels_out, &maps));
    NORMA_GOTO(status, NORMA_ALLOC(t, 2 * c1));
    NORMA_GOTO(status, NORMA_CALLOC(sums, 3 * c2));
    double *reach = t + c1;
    for (int64_t j = 0; j < c1; j++)
        reach[j] = fmax(fabs(lo[j]), fabs(hi[j]));
    const norma_linear_region *region = &maps->region;
    NORMA_GOTO(status,
               find_region(shape, w2, activation, accuracy, reach, gamma2, t, sums, &maps->region));
    for (int64_t j = 0; j < c1; j++) {
        double b = norma_linear_region_shift(region, lo[j]);
        maps->gamma1[j] = region->scale * gamma1[j];
        maps->beta1[j] = b;
        t[j] = region->slope * b + region->constant;
        reach[j] = region->slope * (fabs(b) + region->scale * reach[j]) + region->constant;
    }
    shift_sums all = {sums, sums + c2, sums + 2 * c2, t, reach};
    NORMA_GOTO(status, sum_shifts(shape, w2, &all));
    close_maps(maps, &all, gamma2, bias);
    NORMA_GOTO(status, check_finite(maps));
    *out = maps;
    maps = NULL;
done:
    NORMA_FREE(t);
    NORMA_FREE(sums);
    norma_maps_destroy(&maps);
    return status;
}

void norma_maps_use(const norma_maps *maps, norma_source_layer *source)
{
    source->gamma1 = maps->gamma1;
    source->beta1 = maps->beta1;
    source->gamma2 = maps->gamma2;
    source->beta2 = maps->beta2;
    source->region[0] = maps->region.low;
    source->region[1] = maps->region.high;
}

void norma_maps_composite_kernel(const norma_maps *maps, int64_t n, const double *kernel,
                                 const double *skip, double *composite)
{
    const norma_linear_region *region = &maps->region;
    for (int64_t i = 0; i < n; i++) {
        composite[i] = region->slope * region->scale * kernel[i];
        if (skip)
            composite[i] += skip[i];
    }
}

void norma_maps_to_batch_norm(int64_t n, const double *gamma, const double *beta, double eps,
                              const norma_bn_statistics *statistics, double *weight, double *bias,
                              double *running_mean, double *running_var)
{
    for (int64_t k = 0; k < n; k++) {
        double mu = statistics->mean ? statistics->mean[k] : 0;
        double v = statistics->variance ? statistics->variance[k] : 1 - eps;
        double b = statistics->bias ? statistics->bias[k] : 0;
        running_mean[k] = mu;
        running_var[k] = v;
        weight[k] = gamma[k] * sqrt(v + eps);
        bias[k] = beta[k] + gamma[k] * (mu - b);
    }
}

void norma_maps_destroy(norma_maps **maps)
{
    if (!*maps)
        return;
    NORMA_FREE((*maps)->gamma1);
    NORMA_FREE((*maps)->beta1);
    NORMA_FREE((*maps)->gamma2);
    NORMA_FREE((*maps)->beta2);
    NORMA_FREE((*maps)->constant);
    NORMA_FREE(*maps);
}
