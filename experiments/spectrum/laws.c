#include "experiments/spectrum/laws.h"

#include "src/base/mem.h"
#include "src/random/law.h"
#include "src/stats/ks.h"

#include <math.h>
#include <string.h>

const char *const norma_spectrum_law_names[] = {"none", "rows", "population", "pivots", NULL};

static norma_spectrum_law find_kind(const norma_spectrum_cell *cell)
{
    const norma_kernel *kernel = &cell->problem.shape.kernel;
    bool single = norma_kernel_taps(kernel->first) == 1 || norma_kernel_taps(kernel->second) == 1;
    if (cell->pair.distribution == NORMA_DISTRIBUTION_GIVEN ||
        cell->pair.distribution == NORMA_DISTRIBUTION_UNIFORM_POSITIVE ||
        norma_law_get(cell->pair.distribution)->source == NORMA_LAW_PAIRS)
        return NORMA_SPECTRUM_LAW_NONE;
    if (cell->problem.width == NORMA_WIDTH_MIN)
        return single ? NORMA_SPECTRUM_LAW_PIVOTS : NORMA_SPECTRUM_LAW_NONE;
    return single ? NORMA_SPECTRUM_LAW_ROWS : NORMA_SPECTRUM_LAW_POPULATION;
}

/* The outliers of the min rule: those of rows with large ratios, in order. */
static norma_status predict_outliers(const norma_spectrum_cell *cell, int64_t n_rows,
                                     norma_spectrum_laws *laws)
{
    const norma_spectrum_problem *problem = &cell->problem;
    norma_width_rule *rule = NULL;
    double c1 = (double)problem->n_features;
    NORMA_TRY(norma_width_rule_create(problem->width, &problem->shape, problem->target, &rule));
    for (int64_t k = 0; k < rule->n_active; k++) {
        int64_t i = rule->active[k];
        double theta = -1; /* the pivot's own square */
        for (int64_t s = 0; s < rule->row_length; s++) {
            double ratio = rule->ratio[i * rule->row_length + s];
            theta += ratio * ratio;
        }
        double place = norma_limit_outlier(theta, (double)n_rows / c1, c1 / (double)rule->n);
        if (isnan(place))
            continue;
        int64_t at = laws->n_outliers++;
        for (; at > 0 && laws->outliers[at - 1] < place; at--)
            laws->outliers[at] = laws->outliers[at - 1];
        laws->outliers[at] = place;
    }
    norma_width_rule_destroy(&rule);
    return NORMA_OK;
}

norma_status norma_spectrum_laws_init(const norma_spectrum_cell *cell, int64_t n_rows,
                                      norma_spectrum_laws *laws)
{
    const norma_khatri_rao_shape *shape = &cell->problem.shape;
    norma_limit_population population = {.n_kinds = 1, .share = {1}, .variance = {1}};
    double n = (double)norma_khatri_rao_n_rows(shape);
    double c1 = (double)cell->problem.n_features;
    memset(laws, 0, sizeof *laws);
    laws->low = laws->high = NAN;
    laws->kind = find_kind(cell);
    NORMA_TRY(NORMA_ALLOC(laws->outliers, shape->n_channels_out));
    for (int64_t i = 0; i < shape->n_channels_out; i++)
        laws->outliers[i] = NAN;
    if (laws->kind == NORMA_SPECTRUM_LAW_NONE)
        return NORMA_OK;
    if (laws->kind == NORMA_SPECTRUM_LAW_POPULATION)
        NORMA_TRY(norma_limit_population_init(&shape->kernel, &population));
    if (laws->kind == NORMA_SPECTRUM_LAW_PIVOTS)
        NORMA_TRY(predict_outliers(cell, n_rows, laws));
    /* M of n_rows rows with entries of variance 1 / n is that of its own law, scaled. */
    NORMA_TRY(norma_limit_law_create(&population, c1 / (double)n_rows, sqrt((double)n_rows / n),
                                     &laws->law));
    laws->low = norma_limit_law_low(laws->law);
    laws->high = norma_limit_law_high(laws->law);
    laws->hard_edge = laws->kind == NORMA_SPECTRUM_LAW_ROWS && cell->problem.n_features == n_rows;
    if (laws->hard_edge)
        laws->low = norma_limit_hard_edge_quantile(0.5) / n;
    return NORMA_OK;
}

static double cdf_of(double value, const void *law)
{
    return norma_limit_law_cdf(law, value);
}

norma_status norma_spectrum_laws_distance(const norma_spectrum_laws *laws, const double *values,
                                          int64_t n, double *distance)
{
    double *sorted = NULL;
    int64_t n_bulk = n - laws->n_outliers;
    *distance = NAN;
    if (!laws->law || n_bulk < 1)
        return NORMA_OK;
    NORMA_TRY(NORMA_ALLOC(sorted, n_bulk));
    memcpy(sorted, values + laws->n_outliers, (size_t)n_bulk * sizeof *sorted);
    *distance = norma_ks_distance(sorted, n_bulk, cdf_of, laws->law);
    NORMA_FREE(sorted);
    return NORMA_OK;
}

double norma_spectrum_laws_difference(const norma_spectrum_laws *laws, const double *grid,
                                      const double *cdf, int64_t n)
{
    double largest = 0;
    if (!laws->law)
        return NAN;
    for (int64_t g = 0; g < n; g++)
        largest = fmax(largest, fabs(cdf[g] - norma_limit_law_cdf(laws->law, grid[g])));
    return largest;
}

void norma_spectrum_laws_clear(norma_spectrum_laws *laws)
{
    norma_limit_law_destroy(&laws->law);
    NORMA_FREE(laws->outliers);
    memset(laws, 0, sizeof *laws);
}
