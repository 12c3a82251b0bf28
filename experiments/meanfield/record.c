#include "experiments/meanfield/record.h"

#include "src/base/mem.h"

#include <math.h>

norma_status norma_meanfield_record_create(const norma_meanfield_sizes *sizes,
                                           norma_meanfield_record *out)
{
    *out = (norma_meanfield_record){.n_values = norma_meanfield_total(sizes)};
    NORMA_TRY(NORMA_ALLOC(out->values, out->n_values));
    int64_t at = 0;
    for (int v = 0; v < NORMA_N_MEANFIELD_VARIABLES; v++) {
        out->variable[v] = out->values + at;
        at += norma_meanfield_count(sizes, v);
    }
    return NORMA_OK;
}

void norma_meanfield_record_destroy(norma_meanfield_record *record)
{
    NORMA_FREE(record->values);
}

double norma_meanfield_grid_point(int64_t n_grid, int64_t i)
{
    return (double)(2 * i - (n_grid - 1)) / (double)(n_grid - 1);
}

static void set(norma_meanfield_record *record, int variable, double value)
{
    record->variable[variable][0] = value;
}

static void tabulate_map(const norma_kernel_map *map, const norma_meanfield_sizes *sizes,
                         norma_meanfield_record *record)
{
    for (int64_t i = 0; i < sizes->n_grid; i++) {
        const double rho = norma_meanfield_grid_point(sizes->n_grid, i);
        record->variable[NORMA_MEANFIELD_KAPPA][i] = norma_kernel_map_value(map, rho);
        record->variable[NORMA_MEANFIELD_KAPPA_PRIME][i] = norma_kernel_map_slope(map, rho);
        record->variable[NORMA_MEANFIELD_KAPPA_SECOND][i] = norma_kernel_map_curvature(map, rho);
    }
    set(record, NORMA_MEANFIELD_AT_ZERO, map->moments.mean * map->moments.mean);
    set(record, NORMA_MEANFIELD_SLOPE_ZERO, norma_kernel_map_slope(map, 0));
    set(record, NORMA_MEANFIELD_AT_ONE, map->moments.second);
    set(record, NORMA_MEANFIELD_SLOPE_ONE, map->moments.slope_second);
    set(record, NORMA_MEANFIELD_CURVATURE_ONE, map->moments.curvature_second);
}

static norma_status tabulate_hermite(const norma_kernel_map *map,
                                     const norma_meanfield_sizes *sizes,
                                     norma_meanfield_record *record)
{
    double *c = record->variable[NORMA_MEANFIELD_HERMITE], sum = 0, slope = 0;
    NORMA_TRY(norma_transfer_hermite(&map->psi, (int)sizes->n_coefficients, c));
    for (int64_t k = 0; k < sizes->n_coefficients; k++) {
        sum += c[k] * c[k];
        slope += (double)k * c[k] * c[k];
    }
    set(record, NORMA_MEANFIELD_HERMITE_TAIL, map->moments.second - sum);
    set(record, NORMA_MEANFIELD_SLOPE_TRUNCATED, slope);
    return NORMA_OK;
}

static void follow_sequence(const norma_meanfield_request *r, const norma_kernel_map *map,
                            const norma_kernel_dynamics *d, norma_meanfield_record *record)
{
    const int64_t depth = r->sizes.n_layers - 1;
    double *distance = record->variable[NORMA_MEANFIELD_DISTANCE];
    norma_kernel_dynamics_iterate(map, d, r->rho0, depth, record->variable[NORMA_MEANFIELD_RHO],
                                  distance);
    for (int64_t l = 0; l <= depth; l++) {
        record->variable[NORMA_MEANFIELD_BOUND_PRINTED][l] =
            norma_kernel_dynamics_bound(d, r->rho0, true, l);
        record->variable[NORMA_MEANFIELD_BOUND_CORRECTED][l] =
            norma_kernel_dynamics_bound(d, r->rho0, false, l);
    }
    const int64_t last = norma_kernel_dynamics_last_layer(depth, distance);
    if (last == 0)
        return;
    set(record, NORMA_MEANFIELD_RATE_PREDICTED, norma_kernel_dynamics_factor(d, last));
    set(record, NORMA_MEANFIELD_RATE_MEASURED, distance[last] / distance[last - 1]);
    if (d->decay_power > 0)
        set(record, NORMA_MEANFIELD_CONSTANT_MEASURED,
            distance[last] * pow((double)last, d->decay_power));
}

static norma_status compute_kernel(const norma_meanfield_request *r, norma_meanfield_record *record)
{
    norma_kernel_map map;
    norma_kernel_dynamics d;
    NORMA_TRY(norma_kernel_map_init_variant(&r->activation, r->variant, &map));
    NORMA_TRY(norma_kernel_dynamics_init(&map, &d));
    tabulate_map(&map, &r->sizes, record);
    NORMA_TRY(tabulate_hermite(&map, &r->sizes, record));
    set(record, NORMA_MEANFIELD_CASE, (double)d.kernel_case);
    set(record, NORMA_MEANFIELD_FIXED_POINT, d.attractor);
    for (int i = 0; i < d.n_fixed_points; i++)
        record->variable[NORMA_MEANFIELD_FIXED_POINTS][i] = d.fixed_point[i];
    set(record, NORMA_MEANFIELD_RATE_PRINTED, d.rate_printed);
    set(record, NORMA_MEANFIELD_RATE_CORRECTED, d.rate_corrected);
    set(record, NORMA_MEANFIELD_RATE_ASYMPTOTIC, d.rate_asymptotic);
    if (d.kernel_case != NORMA_KERNEL_CASE_IDENTITY)
        set(record, NORMA_MEANFIELD_DECAY_POWER, d.decay_power);
    follow_sequence(r, &map, &d, record);
    return NORMA_OK;
}

/* The Gram matrix from (1 - rho0) I + rho0 11^T on; from the layer on where rounding is all that
 * changes, the fixed point itself, and no distance. */
static norma_status follow_gram(const norma_meanfield_request *r, const norma_gram *fixed,
                                norma_meanfield_record *record)
{
    const double n = (double)r->batch, floor = 1e-12 * n * fixed->diagonal;
    norma_gram gram = {1, r->rho0};
    bool settled = false;
    for (int64_t l = 0; l < r->sizes.n_layers; l++) {
        double *entry = record->variable[NORMA_MEANFIELD_GRAM] + 2 * l;
        double a = gram.diagonal - fixed->diagonal, b = gram.off - fixed->off;
        double distance = sqrt(n * a * a + n * (n - 1) * b * b);
        settled = settled || (l > 0 && distance < floor);
        entry[0] = settled ? fixed->diagonal : gram.diagonal;
        entry[1] = settled ? fixed->off : gram.off;
        if (settled)
            continue;
        record->variable[NORMA_MEANFIELD_DISTANCE][l] = distance;
        if (l + 1 < r->sizes.n_layers)
            NORMA_TRY(norma_gram_map_apply(&r->activation, r->batch, r->centered, sqrt(n),
                                           fmax(0, norma_gram_ratio(r->batch, &gram)), &gram));
    }
    return NORMA_OK;
}

static norma_status compute_batch(const norma_meanfield_request *r, norma_meanfield_record *record)
{
    const double d = (double)r->width;
    norma_gram_fluctuation f;
    NORMA_TRY(norma_gram_fluctuation_compute(&r->activation, r->batch, r->centered, &f));
    record->variable[NORMA_MEANFIELD_GRAM_FIXED_POINT][0] = f.fixed.gram.diagonal;
    record->variable[NORMA_MEANFIELD_GRAM_FIXED_POINT][1] = f.fixed.gram.off;
    for (int k = 0; k < NORMA_N_GRAM_KINDS; k++) {
        int64_t times = norma_gram_multiplicity((norma_gram_kind)k, r->batch);
        record->variable[NORMA_MEANFIELD_GRAM_CONTRACTION][k] = f.contraction[k];
        record->variable[NORMA_MEANFIELD_GRAM_MULTIPLICITY][k] = (double)times;
        for (int i = 0; i < 4 && times > 0; i++)
            record->variable[NORMA_MEANFIELD_GRAM_COVARIANCE][4 * k + i] =
                f.stationary[k][i / 2][i % 2] / d;
    }
    set(record, NORMA_MEANFIELD_GRAM_ONE_LAYER, sqrt(f.one_layer2 / d));
    set(record, NORMA_MEANFIELD_GRAM_STATIONARY, sqrt(f.stationary2 / d));
    set(record, NORMA_MEANFIELD_GRADIENT_RATE, f.gradient_rate);
    return follow_gram(r, &f.fixed.gram, record);
}

norma_status norma_meanfield_record_compute(const norma_meanfield_request *request,
                                            norma_meanfield_record *record)
{
    norma_transfer_moments moments;
    for (int64_t i = 0; i < record->n_values; i++)
        record->values[i] = NAN;
    NORMA_TRY(norma_transfer_measure(&request->activation, &moments));
    set(record, NORMA_MEANFIELD_MEAN, moments.mean);
    set(record, NORMA_MEANFIELD_SECOND, moments.second);
    return request->batched ? compute_batch(request, record) : compute_kernel(request, record);
}
