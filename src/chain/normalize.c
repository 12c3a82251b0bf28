#include "src/chain/chain_state.h"
#include "src/chain/single.h"

#include <cblas.h>
#include <float.h>
#include <math.h>

/* A sum of squares outside this range may have lost digits or overflowed: the line is done again,
 * scaled by its largest element. */
#define SQUARE_MIN 1e-280
#define SQUARE_MAX 1e280

static bool is_row_norm(norma_chain_norm norm)
{
    return norm == NORMA_CHAIN_NORM_BN || norm == NORMA_CHAIN_NORM_BN_CENTERED;
}

static bool is_centered(norma_chain_norm norm)
{
    return norm == NORMA_CHAIN_NORM_LN || norm == NORMA_CHAIN_NORM_BN_CENTERED;
}

/* Sums along the rows of z[d][n], single engine: as norma_lanes_kernels does for lanes. */
static void row_sums(int64_t d, int64_t n, const double *z, bool centered, double *mean,
                     double *square, double *raw)
{
    for (int64_t i = 0; i < d; i++) {
        const double *row = z + i * n;
        raw[i] = square[i] = cblas_ddot((int)n, row, 1, row, 1);
        mean[i] = 0;
        if (!centered)
            continue;
        for (int64_t j = 0; j < n; j++)
            mean[i] += row[j];
        mean[i] /= (double)n;
        square[i] = 0;
        for (int64_t j = 0; j < n; j++)
            square[i] += (row[j] - mean[i]) * (row[j] - mean[i]);
    }
}

static void row_apply(int64_t d, int64_t n, double *z, const double *mean, const double *factor)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            z[i * n + j] = factor[i] * (z[i * n + j] - mean[i]);
}

static void column_sums(int64_t d, int64_t n, const double *z, bool centered, double *mean,
                        double *square, double *raw)
{
    for (int64_t j = 0; j < n; j++)
        mean[j] = square[j] = raw[j] = 0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++) {
            mean[j] += z[i * n + j];
            raw[j] += z[i * n + j] * z[i * n + j];
        }
    for (int64_t j = 0; j < n; j++)
        mean[j] = centered ? mean[j] / (double)d : 0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            square[j] += (z[i * n + j] - mean[j]) * (z[i * n + j] - mean[j]);
}

static void column_apply(int64_t d, int64_t n, double *z, const double *mean, const double *factor)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < n; j++)
            z[i * n + j] = factor[j] * (z[i * n + j] - mean[j]);
}

/* One line (row or column) of one lane. */
typedef struct norma_line {
    const double *first;
    int64_t length, step;
    bool centered;
    double tolerance; /* deviations up to this times the norm are rounding */
} norma_line;

/* sqrt(sum of squared deviations) of a line of any magnitude, and its mean; 0 when the deviations
 * are no more than rounding, NaN when a value is not finite. */
static double line_norm(const norma_line *line, double *mean)
{
    double largest = 0, sum = 0, raw = 0, square = 0;
    for (int64_t j = 0; j < line->length; j++) {
        double x = fabs(line->first[j * line->step]);
        largest = x > largest || isnan(x) ? x : largest;
    }
    *mean = 0;
    if (largest == 0)
        return 0;
    if (!isfinite(largest))
        return NAN;
    for (int64_t j = 0; j < line->length; j++)
        sum += line->first[j * line->step] / largest;
    double m = line->centered ? sum / (double)line->length : 0;
    for (int64_t j = 0; j < line->length; j++) {
        double x = line->first[j * line->step] / largest;
        raw += x * x;
        square += (x - m) * (x - m);
    }
    *mean = m * largest;
    return square > line->tolerance * line->tolerance * raw ? largest * sqrt(square) : 0;
}

static norma_status fail_line(const norma_chain *chain, int64_t line, int lane, double norm)
{
    bool rows = is_row_norm(chain->spec.norm);
    if (isnan(norm))
        return NORMA_FAIL(NORMA_NUMERIC,
                          "layer %lld, replica %lld: %s %lld holds a value that is "
                          "not finite",
                          (long long)chain->making, (long long)(chain->draw.replica + lane),
                          rows ? "row" : "sample", (long long)line);
    return NORMA_FAIL(
        NORMA_NUMERIC,
        "layer %lld, replica %lld: %s %lld has no variance%s, so %s is undefined there; "
        "give --bn-eps,%s or an input whose samples differ",
        (long long)chain->making, (long long)(chain->draw.replica + lane), rows ? "row" : "sample",
        (long long)line, chain->spec.single ? " beyond the rounding of single precision" : "",
        norma_chain_norm_name(chain->spec.norm), chain->spec.single ? " --precision double" : "");
}

/* Is a sum of squares more than rounding, and in range? */
static bool is_plain(double square, double rounding)
{
    return square > rounding && square > SQUARE_MIN && square < SQUARE_MAX;
}

/* chain->factor from the sums, target being the norm that a line gets. */
static norma_status make_factors(norma_chain *chain, double target)
{
    const norma_chain_spec *spec = &chain->spec;
    const bool rows = is_row_norm(spec->norm), centered = is_centered(spec->norm);
    const int lanes = chain->lanes;
    const int64_t n_lines = rows ? spec->width : spec->batch;
    const int64_t length = rows ? spec->batch : spec->width;
    const double tolerance =
        spec->single ? norma_chain_single_rounding(spec) : 4 * (double)length * DBL_EPSILON;
    const double eps = (double)length * spec->bn_eps;
    int64_t n_plain = 0;
    for (int64_t at = 0; at < n_lines * lanes; at++) {
        chain->factor[at] = target / sqrt(chain->square[at] + eps);
        n_plain += is_plain(chain->square[at], tolerance * tolerance * chain->raw[at]);
    }
    for (int64_t i = 0; i < n_lines && n_plain < n_lines * lanes; i++)
        for (int lane = 0; lane < lanes; lane++) {
            int64_t at = i * lanes + lane;
            if (is_plain(chain->square[at], tolerance * tolerance * chain->raw[at]))
                continue;
            norma_line line = {chain->z + (rows ? i * length : i) * lanes + lane, length,
                               (rows ? 1 : spec->batch) * lanes, centered, tolerance};
            double norm = line_norm(&line, &chain->mean[at]);
            chain->factor[at] = norm > 0 ? target / hypot(norm, sqrt(eps)) : 0;
            if (lane < chain->n_replicas && (isnan(norm) || (norm == 0 && spec->bn_eps == 0)))
                return fail_line(chain, i, lane, norm);
        }
    return NORMA_OK;
}

static norma_status apply_norm(norma_chain *chain, double extra)
{
    const norma_chain_spec *spec = &chain->spec;
    const norma_lanes_kernels *kernels = chain->kernels;
    const bool rows = is_row_norm(spec->norm), centered = is_centered(spec->norm);
    const int64_t d = spec->width, n = spec->batch;
    const double target = extra * (spec->unit_norm ? 1 : sqrt((double)(rows ? n : d)));
    double *z = chain->z, *mean = chain->mean, *square = chain->square, *raw = chain->raw;
    if (kernels)
        (rows ? kernels->row_sums : kernels->column_sums)(d, n, z, centered, mean, square, raw);
    else
        (rows ? row_sums : column_sums)(d, n, z, centered, mean, square, raw);
    NORMA_TRY(make_factors(chain, target));
    if (kernels)
        (rows ? kernels->row_apply : kernels->column_apply)(d, n, z, centered ? mean : NULL,
                                                            chain->factor);
    else
        (rows ? row_apply : column_apply)(d, n, z, mean, chain->factor);
    for (int lane = 0; lane < chain->lanes; lane++)
        chain->exponent[lane] = 0;
    return NORMA_OK;
}

static void multiply(norma_chain *chain, double by)
{
    int64_t count = chain->spec.width * chain->spec.batch * chain->lanes;
    if (by != 1)
        for (int64_t i = 0; i < count; i++)
            chain->z[i] *= by;
}

norma_status norma_chain_normalize(norma_chain *chain, double layer_gain)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t count = spec->width * spec->batch * chain->lanes;
    const bool none = spec->norm == NORMA_CHAIN_NORM_NONE;
    if (spec->activation.kind == NORMA_ACTIVATION_IDENTITY && spec->order == NORMA_CHAIN_NORM_ACT) {
        double factor = layer_gain * spec->act_scale * spec->scale;
        if (!none)
            return apply_norm(chain, factor);
        for (int64_t i = 0; i < spec->width * chain->lanes; i++)
            chain->factor[i] = factor;
        multiply(chain, factor);
        return NORMA_OK;
    }
    if (spec->order == NORMA_CHAIN_NORM_ACT && !none)
        NORMA_TRY(apply_norm(chain, layer_gain));
    else
        multiply(chain, layer_gain);
    norma_activation_apply(&spec->activation, count, chain->z);
    if (spec->order == NORMA_CHAIN_NORM_ACT || none) {
        multiply(chain, spec->act_scale * spec->scale);
        return NORMA_OK;
    }
    multiply(chain, spec->act_scale);
    return apply_norm(chain, spec->scale);
}

norma_status norma_chain_rescale(norma_chain *chain, double *z)
{
    const int64_t count = chain->spec.width * chain->spec.batch;
    norma_lanes_values square = {0}, factor;
    bool any = false;
    if (chain->kernels)
        chain->kernels->dot(count, z, z, square);
    else
        square[0] = cblas_ddot((int)count, z, 1, z, 1);
    for (int lane = 0; lane < chain->lanes; lane++) {
        factor[lane] = 1;
        if (lane < chain->n_replicas && !isfinite(square[lane]))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "layer %lld, replica %lld: the representation is not finite",
                              (long long)chain->making, (long long)(chain->draw.replica + lane));
        if (chain->spec.carry_norm && square[lane] > 0 &&
            (square[lane] > 0x1p64 || square[lane] < 0x1p-64)) {
            int shift = ilogb(square[lane]) / 2;
            factor[lane] = ldexp(1, -shift);
            chain->exponent[lane] += shift;
            any = true;
        }
    }
    if (any && chain->kernels)
        chain->kernels->scale(count, factor, z);
    else if (any)
        cblas_dscal((int)count, factor[0], z, 1);
    return NORMA_OK;
}

/* var / mean^2 of n norms, whose squares are given. */
static double norm_variation(int64_t n, const double *squares)
{
    double mean = 0, deviations = 0;
    for (int64_t i = 0; i < n; i++)
        mean += sqrt(squares[i]) / (double)n;
    for (int64_t i = 0; i < n; i++)
        deviations += (sqrt(squares[i]) - mean) * (sqrt(squares[i]) - mean) / (double)n;
    return deviations / (mean * mean);
}

void norma_chain_measure_bias(norma_chain *chain)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, lanes = chain->lanes;
    double *rows = chain->square, *columns = chain->raw;
    for (int64_t lane = 0; lane < lanes; lane++) {
        for (int64_t i = 0; i < d; i++)
            rows[i] = 0;
        for (int64_t j = 0; j < n; j++)
            columns[j] = 0;
        for (int64_t i = 0; i < d; i++)
            for (int64_t j = 0; j < n; j++) {
                double x = chain->z[(i * n + j) * lanes + lane];
                rows[i] += x * x;
                columns[j] += x * x;
            }
        chain->row_bias[lane] = norm_variation(d, rows);
        chain->column_bias[lane] = norm_variation(n, columns);
    }
}
