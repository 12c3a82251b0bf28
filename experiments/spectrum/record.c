#include "experiments/spectrum/record.h"

#include "src/base/mem.h"
#include "src/stats/spectral.h"

#include <math.h>
#include <string.h>

/* Level of the intervals around a distribution function. */
static const double level = 0.95;
/* Part of the largest value that grids go beyond it. */
static const double margin = 0.1;

#define NAME(number, name, summary) name,
static const char *const method_names[] = {NORMA_SPECTRUM_METHODS(NAME)};

#define SCALAR(label, kind, unit, text)                                                            \
    {                                                                                              \
        .name = (label), .type = (kind), .units = (unit), .long_name = (text)                      \
    }
#define NAMED(label, count, list, text)                                                            \
    {                                                                                              \
        .name = (label), .type = NORMA_NAME, .units = "1", .long_name = (text), .names = {         \
            (count),                                                                               \
            (list)                                                                                 \
        }                                                                                          \
    }

const norma_variable norma_spectrum_scalars[NORMA_N_SPECTRUM_SCALARS] = {
    NAMED("method_used", NORMA_N_SPECTRUM_METHODS, method_names, "how the values were measured"),
    NAMED("ks_limit", NORMA_N_SPECTRUM_LAWS, norma_spectrum_law_names,
          "the limit law that ks_distance refers to"),
    SCALAR("n_rows", NORMA_INT64, "1", "rows of M"),
    SCALAR("n_features", NORMA_INT64, "1", "columns of M, c1"),
    SCALAR("n_values", NORMA_INT64, "1", "singular values of M, the fewer of rows and columns"),
    SCALAR("n_zero", NORMA_INT64, "1",
           "singular values within rounding of zero: max(rows, columns) 2^-52 of the largest"),
    SCALAR("scale", NORMA_FLOAT64, "1", "what singular values were divided by"),
    SCALAR("sigma_max", NORMA_FLOAT64, "1", "largest singular value (quadrature: largest node)"),
    SCALAR("sigma_min", NORMA_FLOAT64, "1",
           "smallest singular value above rounding (quadrature: smallest node)"),
    SCALAR("condition_number", NORMA_FLOAT64, "1",
           "largest over smallest singular value, infinite where n_zero is positive"),
    SCALAR("ks_distance", NORMA_FLOAT64, "1",
           "Kolmogorov-Smirnov distance of the nonzero values without outliers to the limit law"),
    SCALAR("edge_low", NORMA_FLOAT64, "1", "smallest value above rounding"),
    SCALAR("edge_low_predicted", NORMA_FLOAT64, "1",
           "lower edge of the limit law; of c1 = n the median of the smallest value"),
    SCALAR("edge_high", NORMA_FLOAT64, "1", "largest value without the predicted outliers"),
    SCALAR("edge_high_predicted", NORMA_FLOAT64, "1", "upper edge of the limit law"),
    SCALAR("n_outliers", NORMA_INT64, "1", "predicted outliers"),
    SCALAR("trace2", NORMA_FLOAT64, "1", "sum of squared values, from the source layers"),
    SCALAR("trace2_measured", NORMA_FLOAT64, "1", "the same by the method"),
    SCALAR("trace2_stderr", NORMA_FLOAT64, "1", "standard error of trace2_measured over probes"),
    SCALAR("trace4", NORMA_FLOAT64, "1", "sum of fourth powers, from the source layers"),
    SCALAR("trace4_measured", NORMA_FLOAT64, "1", "the same by the method"),
    SCALAR("trace4_stderr", NORMA_FLOAT64, "1", "standard error of trace4_measured over probes"),
    SCALAR("density_width", NORMA_FLOAT64, "1",
           "standard deviation of the Gaussians (quadrature) or width of the bins (svd) of "
           "spectral_density"),
    SCALAR("seconds", NORMA_FLOAT64, "s", "time of the singular values"),
    SCALAR("seconds_assembly", NORMA_FLOAT64, "s", "time of assembling M"),
    SCALAR("seconds_sums", NORMA_FLOAT64, "s", "time of trace2 and trace4"),
};

const norma_variable norma_spectrum_curves[NORMA_N_SPECTRUM_CURVES] = {
    SCALAR("s_grid", NORMA_FLOAT64, "1", "singular value"),
    SCALAR("spectral_density", NORMA_FLOAT64, "1", "density of the nonzero values"),
    SCALAR("spectral_cdf", NORMA_FLOAT64, "1", "distribution function of all values"),
    SCALAR("spectral_cdf_low", NORMA_FLOAT64, "1",
           "lower bound of spectral_cdf: brackets and 95% interval of the probes' spread"),
    SCALAR("spectral_cdf_high", NORMA_FLOAT64, "1", "upper bound of spectral_cdf"),
    SCALAR("limit_density", NORMA_FLOAT64, "1", "density of the limit law"),
    SCALAR("limit_cdf", NORMA_FLOAT64, "1", "distribution function of the limit law"),
};

norma_status norma_spectrum_record_init(int64_t n_bins, int64_t n_outliers, int64_t n_saved,
                                        norma_spectrum_record *record)
{
    memset(record, 0, sizeof *record);
    record->n_bins = n_bins;
    record->n_outliers = n_outliers;
    record->n_saved = n_saved;
    record->n_numbers =
        NORMA_N_SPECTRUM_SCALARS + NORMA_N_SPECTRUM_CURVES * n_bins + 2 * n_outliers + n_saved;
    NORMA_TRY(NORMA_ALLOC(record->numbers, record->n_numbers));
    for (int64_t i = 0; i < record->n_numbers; i++)
        record->numbers[i] = NAN;
    record->scalars = record->numbers;
    record->curves = record->scalars + NORMA_N_SPECTRUM_SCALARS;
    record->outlier = record->curves + NORMA_N_SPECTRUM_CURVES * n_bins;
    record->predicted = record->outlier + n_outliers;
    record->values = record->predicted + n_outliers;
    return NORMA_OK;
}

static double *curve(const norma_spectrum_record *record, norma_spectrum_curve which)
{
    return record->curves + (int64_t)which * record->n_bins;
}

static void fill_scalars(const norma_spectrum_cell *cell, const norma_spectrum_result *r,
                         const norma_spectrum_laws *laws, double *s)
{
    double scale = cell->scale;
    double square = scale * scale;
    s[NORMA_SPECTRUM_METHOD_USED] = r->choice.method;
    s[NORMA_SPECTRUM_LAW_USED] = laws->kind;
    s[NORMA_SPECTRUM_N_ROWS] = (double)r->n_rows;
    s[NORMA_SPECTRUM_N_FEATURES] = (double)cell->problem.n_features;
    s[NORMA_SPECTRUM_N_VALUES] = (double)r->n_values;
    s[NORMA_SPECTRUM_N_ZERO] = r->n_zero < 0 ? NAN : (double)r->n_zero;
    s[NORMA_SPECTRUM_SCALE] = scale;
    s[NORMA_SPECTRUM_SIGMA_MAX] = r->sigma_max / scale;
    s[NORMA_SPECTRUM_SIGMA_MIN] = r->sigma_min / scale;
    s[NORMA_SPECTRUM_CONDITION] = r->condition_number;
    s[NORMA_SPECTRUM_EDGE_LOW] = r->sigma_min / scale;
    s[NORMA_SPECTRUM_EDGE_LOW_PREDICTED] = laws->low;
    s[NORMA_SPECTRUM_EDGE_HIGH] = r->sigma_max / scale;
    s[NORMA_SPECTRUM_EDGE_HIGH_PREDICTED] = laws->high;
    s[NORMA_SPECTRUM_N_OUTLIERS] = (double)laws->n_outliers;
    s[NORMA_SPECTRUM_TRACE2] = r->trace2 / square;
    s[NORMA_SPECTRUM_TRACE2_MEASURED] = r->trace2_measured / square;
    s[NORMA_SPECTRUM_TRACE2_STDERR] = r->trace2_stderr / square;
    s[NORMA_SPECTRUM_TRACE4] = r->trace4 / square / square;
    s[NORMA_SPECTRUM_TRACE4_MEASURED] = r->trace4_measured / square / square;
    s[NORMA_SPECTRUM_TRACE4_STDERR] = r->trace4_stderr / square / square;
    s[NORMA_SPECTRUM_SECONDS] = r->seconds;
    s[NORMA_SPECTRUM_SECONDS_ASSEMBLY] = r->seconds_assembly;
    s[NORMA_SPECTRUM_SECONDS_SUMS] = r->seconds_sums;
}

static void fill_grid(const norma_spectrum_laws *laws, norma_spectrum_record *record)
{
    double largest = record->scalars[NORMA_SPECTRUM_SIGMA_MAX];
    double high = isnan(laws->high) ? largest : fmax(largest, laws->high);
    for (int64_t g = 0; g < record->n_bins; g++) {
        double s = high * (1 + margin) * ((double)g + 0.5) / (double)record->n_bins;
        curve(record, NORMA_SPECTRUM_GRID)[g] = s;
        if (!laws->law)
            continue;
        curve(record, NORMA_SPECTRUM_LIMIT_DENSITY)[g] = norma_limit_law_density(laws->law, s);
        curve(record, NORMA_SPECTRUM_LIMIT_CDF)[g] = norma_limit_law_cdf(laws->law, s);
    }
}

/* Histogram, distribution function and distance of all values. */
static norma_status fill_values(const norma_spectrum_laws *laws, const norma_spectrum_result *r,
                                double scale, norma_spectrum_record *record)
{
    double *s = NULL;
    const double *grid = curve(record, NORMA_SPECTRUM_GRID);
    double width = 2 * grid[0];
    int64_t n_kept = r->n_values - r->n_zero;
    int64_t place = r->n_values; /* values at or below a bin's middle, from the end */
    NORMA_TRY(NORMA_ALLOC(s, r->n_values));
    for (int64_t i = 0; i < r->n_values; i++)
        s[i] = r->values[i] / scale;
    for (int64_t g = 0; g < record->n_bins; g++) {
        while (place > 0 && s[place - 1] <= grid[g])
            place--;
        curve(record, NORMA_SPECTRUM_CDF)[g] = (double)(r->n_values - place) / (double)r->n_values;
        curve(record, NORMA_SPECTRUM_DENSITY)[g] = 0;
    }
    for (int64_t i = 0; i < n_kept; i++) {
        int64_t bin = (int64_t)(s[i] / width);
        bin = bin < record->n_bins ? bin : record->n_bins - 1;
        curve(record, NORMA_SPECTRUM_DENSITY)[bin] += 1 / ((double)n_kept * width);
    }
    memcpy(curve(record, NORMA_SPECTRUM_CDF_LOW), curve(record, NORMA_SPECTRUM_CDF),
           (size_t)record->n_bins * sizeof *s);
    memcpy(curve(record, NORMA_SPECTRUM_CDF_HIGH), curve(record, NORMA_SPECTRUM_CDF),
           (size_t)record->n_bins * sizeof *s);
    record->scalars[NORMA_SPECTRUM_DENSITY_WIDTH] = width;
    if (laws->n_outliers < r->n_values)
        record->scalars[NORMA_SPECTRUM_EDGE_HIGH] = s[laws->n_outliers];
    for (int64_t i = 0; i < laws->n_outliers && i < r->n_values; i++)
        record->outlier[i] = s[i];
    memcpy(record->values, s,
           (size_t)(record->n_saved < r->n_values ? record->n_saved : r->n_values) * sizeof *s);
    norma_status status =
        norma_spectrum_laws_distance(laws, s, n_kept, record->scalars + NORMA_SPECTRUM_KS);
    NORMA_FREE(s);
    return status;
}

/* The same from the rules of all probes. */
static norma_status fill_rules(const norma_spectrum_cell *cell, const norma_spectrum_laws *laws,
                               const norma_spectrum_result *r, norma_spectrum_record *record)
{
    int64_t n_probes = cell->options.n_probes;
    int64_t n_steps = cell->options.n_steps;
    double *nodes = NULL;
    const double *grid = curve(record, NORMA_SPECTRUM_GRID);
    double *scalars = record->scalars;
    NORMA_TRY(NORMA_ALLOC(nodes, n_probes * n_steps));
    for (int64_t i = 0; i < n_probes * n_steps; i++)
        nodes[i] = r->nodes[i] / cell->scale;
    const norma_spectral_rules rules = {.n_probes = n_probes,
                                        .n_steps = n_steps,
                                        .n_nodes = r->n_nodes,
                                        .nodes = nodes,
                                        .weights = r->weights};
    double range = scalars[NORMA_SPECTRUM_SIGMA_MAX] - scalars[NORMA_SPECTRUM_SIGMA_MIN];
    double width = fmax(range / (double)r->choice.n_steps, grid[0]);
    scalars[NORMA_SPECTRUM_DENSITY_WIDTH] = width;
    norma_spectral_cdf(&rules, level, record->n_bins, grid, curve(record, NORMA_SPECTRUM_CDF),
                       curve(record, NORMA_SPECTRUM_CDF_LOW),
                       curve(record, NORMA_SPECTRUM_CDF_HIGH));
    norma_spectral_density(&rules, width, record->n_bins, grid,
                           curve(record, NORMA_SPECTRUM_DENSITY));
    if (laws->n_outliers == 0)
        scalars[NORMA_SPECTRUM_KS] = norma_spectrum_laws_difference(
            laws, grid, curve(record, NORMA_SPECTRUM_CDF), record->n_bins);
    NORMA_FREE(nodes);
    return NORMA_OK;
}

norma_status norma_spectrum_record_fill(const norma_spectrum_cell *cell,
                                        const norma_spectrum_result *result,
                                        norma_spectrum_record *record)
{
    norma_spectrum_laws laws;
    norma_status status = norma_spectrum_laws_init(cell, result->n_rows, &laws);
    NORMA_GOTO(status, status);
    fill_scalars(cell, result, &laws, record->scalars);
    for (int64_t i = 0; i < laws.n_outliers; i++)
        record->predicted[i] = laws.outliers[i];
    if (result->choice.method == NORMA_SPECTRUM_EDGES)
        goto done;
    fill_grid(&laws, record);
    if (result->choice.method == NORMA_SPECTRUM_SVD)
        status = fill_values(&laws, result, cell->scale, record);
    else
        status = fill_rules(cell, &laws, result, record);
done:
    norma_spectrum_laws_clear(&laws);
    return status;
}

void norma_spectrum_record_clear(norma_spectrum_record *record)
{
    NORMA_FREE(record->numbers);
    memset(record, 0, sizeof *record);
}
