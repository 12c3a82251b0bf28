/* Observables from Gram matrices, without any decomposition but a tridiagonal or LDL^T one. */
#include "src/chain/chain_state.h"
#include "src/chain/lapack.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)

/* Up to this many thresholds an LDL^T factorization for each costs less than one tridiagonal form.
 */
#define MAX_FACTORIZATIONS 2

/* Eigenvalues counted by pivots without interchanges are those of a matrix that differs by about
 * 2 u tr(|L||D||L|^T) / sqrt(m). The trace is held to where that is some 3e-13 of the sum of mean
 * eigenvalue and threshold; beyond, as happens to one random matrix in 500 for m = 8 and one in 15
 * for m = 64, the tridiagonal form is made. */
#define PIVOT_GROWTH 1500

/* Eigenvalues are counted from singular values of H, which know small ones better, where rounding
 * of H H^T may exceed this part of the threshold. */
#define GRAM_ROUNDING 1e-6

/* Columns of DSYTRF's panels: at these sizes small ones leave more to matrix products. */
#define LDL_BLOCK 16

/* Copies the lower triangle of k[m][m][lanes] to the upper one, by tiles that stay in the cache. */
static void mirror(int64_t m, int64_t lanes, double *k)
{
    const int64_t tile = 8;
    for (int64_t ib = 0; ib < m; ib += tile)
        for (int64_t jb = 0; jb <= ib; jb += tile)
            for (int64_t i = ib; i < m && i < ib + tile; i++)
                for (int64_t j = jb; j < i && j < jb + tile; j++) {
                    const double *from = k + (i * m + j) * lanes;
                    double *to = k + (j * m + i) * lanes;
                    to[0] = from[0];
                    for (int64_t l = 1; l < lanes; l++)
                        to[l] = from[l];
                }
}

/* out = H H^T (d x d) or H^T H (N x N), both triangles. */
static void make_gram(const norma_chain *chain, bool of_samples, double *out)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, m = of_samples ? n : d;
    if (!chain->kernels) {
        cblas_dsyrk(CblasRowMajor, CblasLower, of_samples ? CblasTrans : CblasNoTrans, (int)m,
                    (int)(of_samples ? d : n), 1, chain->h, (int)n, 0, out, (int)m);
    } else {
        const norma_lanes_operand h = {chain->h, n, 1}, transposed = {chain->h, 1, n};
        chain->kernels->product(m, m, of_samples ? d : n, of_samples ? transposed : h,
                                of_samples ? h : transposed, 1, NULL, out, 1);
    }
    mirror(m, chain->lanes, out);
}

/* Sums of x_ii^power, power 1 or 2, over the diagonal of x[m][m][lanes]; lanes is a constant after
 * inlining. */
static inline void add_diagonal(int64_t m, int lanes, const double *x, int power, double *out)
{
    norma_lanes_values sum = {0};
    for (int64_t i = 0; i < m; i++)
        for (int l = 0; l < lanes; l++) {
            double value = x[i * (m + 1) * lanes + l];
            sum[l] += power == 1 ? value : value * value;
        }
    for (int l = 0; l < lanes; l++)
        out[l] = sum[l];
}

static void sum_diagonal(const norma_chain *chain, int64_t m, const double *x, int power,
                         double *out)
{
    if (chain->lanes == 1)
        add_diagonal(m, 1, x, power, out);
    else if (chain->lanes == 2)
        add_diagonal(m, 2, x, power, out);
    else if (chain->lanes == 4)
        add_diagonal(m, 4, x, power, out);
    else
        add_diagonal(m, NORMA_LANES, x, power, out);
}

static void dot(const norma_chain *chain, int64_t count, const double *x, const double *y,
                double *out)
{
    if (norma_chain_is_small(chain))
        chain->kernels->dot(count, x, y, out);
    else
        out[0] = cblas_ddot((int)count, x, 1, y, 1);
}

/* out[lanes] = sum over all i, j of x_ij y_ij, symmetric with only the lower triangles read. */
static void symmetric_dot(const norma_chain *chain, int64_t m, const double *x, const double *y,
                          double *out)
{
    const int64_t lanes = chain->lanes;
    norma_lanes_values row = {0};
    for (int64_t l = 0; l < lanes; l++)
        out[l] = 0;
    for (int64_t i = 0; i < m; i++) {
        dot(chain, i, x + i * m * lanes, y + i * m * lanes, row);
        for (int64_t l = 0; l < lanes; l++) {
            int64_t at = (i * m + i) * lanes + l;
            out[l] += 2 * row[l] + x[at] * y[at];
        }
    }
}

/* out[lanes] = tr(k^3). */
static void trace_cube(norma_chain *chain, int64_t m, const double *k, double *out)
{
    double *square = chain->scratch.square;
    if (!chain->kernels) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)m, (int)m, 1, k, (int)m, 0,
                    square, (int)m);
    } else {
        const norma_lanes_operand a = {k, m, 1};
        chain->kernels->product(m, m, m, a, a, 1, NULL, square, 1);
    }
    symmetric_dot(chain, m, k, square, out);
}

/* out[lanes] = sum over rows i of ((H H^T)^2)_ii^2: by the rows of H H^T, or, where k is H^T H, by
 * h_i^T (H^T H) h_i. */
static void sum_diagonal_squares(norma_chain *chain, bool of_samples, const double *k, double *out)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch, lanes = chain->lanes;
    double *t = chain->scratch.square;
    norma_lanes_values row = {0};
    if (of_samples && !chain->kernels) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d, (int)n, (int)n, 1, chain->h,
                    (int)n, k, (int)n, 0, t, (int)n);
    } else if (of_samples) {
        const norma_lanes_operand a = {chain->h, n, 1}, b = {k, n, 1};
        chain->kernels->product(d, n, n, a, b, 1, NULL, t, 0);
    }
    for (int64_t l = 0; l < lanes; l++)
        out[l] = 0;
    for (int64_t i = 0; i < d; i++) {
        if (of_samples)
            dot(chain, n, chain->h + i * n * lanes, t + i * n * lanes, row);
        else
            dot(chain, d, k + i * d * lanes, k + i * d * lanes, row);
        for (int64_t l = 0; l < lanes; l++)
            out[l] += row[l] * row[l];
    }
}

/* Eigenvalues >= threshold of the symmetric k[m][m] (one lane): by Sylvester's law from the pivots
 * of a Bunch-Kaufman factorization. Without pivoting the count is wrong where a leading minor is
 * near singular. */
static norma_status count_by_factors(norma_chain *chain, int64_t m, const double *k,
                                     double threshold, double *count)
{
    norma_chain_scratch *s = &chain->scratch;
    double *a = s->square;
    const int64_t row = m + NORMA_CHAIN_PADDING;
    int n = (int)m, stride = (int)row, info = 0, lwork = LDL_BLOCK * n;
    for (int64_t i = 0; i < m; i++) {
        memcpy(a + i * row, k + i * m, (size_t)(i + 1) * sizeof *a);
        a[i * row + i] -= threshold;
    }
    dsytrf_("U", &n, a, &stride, s->pivots, s->work, &lwork, &info);
    if (info < 0)
        return NORMA_FAIL(NORMA_LIBRARY, "DSYTRF returned %d", info);
    int64_t below = 0;
    for (int64_t i = 0; i < m; i++) {
        if (s->pivots[i] > 0) {
            below += a[i * row + i] < 0;
            continue;
        }
        double off = a[(i + 1) * row + i], first = a[i * row + i],
               second = a[(i + 1) * row + i + 1];
        double determinant = first * second - off * off;
        below += determinant < 0 ? 1 : first + second < 0 ? 2 : 0;
        i++;
    }
    *count = (double)(m - below);
    return NORMA_OK;
}

static norma_status tridiagonalize(norma_chain *chain, int64_t m, double *k)
{
    norma_chain_scratch *s = &chain->scratch;
    int n = (int)m, info = 0, lwork = (int)(s->n_work - m);
    if (norma_chain_is_small(chain)) {
        chain->kernels->tridiagonalize(m, k, s->diagonal, s->off, s->work);
        return NORMA_OK;
    }
    dsytrd_("U", &n, k, &n, s->diagonal, s->off, s->work, s->work + m, &lwork, &info);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "DSYTRD returned %d", info);
}

/* Eigenvalues >= threshold of a tridiagonal matrix by a Sturm sequence, as in lanes_loops.h. */
static double count_plain(int64_t m, const double *diagonal, const double *off, double threshold)
{
    const double tiny = 1e-290;
    double q = 1, count = 0;
    for (int64_t i = 0; i < m; i++) {
        q = diagonal[i] - threshold - (i > 0 ? off[i - 1] * off[i - 1] / q : 0);
        q = fabs(q) >= tiny ? q : tiny;
        count += q >= 0;
    }
    return count;
}

/* Eigenvalues >= threshold of one lane by the tridiagonal form; those of k[m][m][lanes] stay. */
static double count_of_lane(const norma_chain *chain, int64_t m, const double *k, int lane,
                            double threshold)
{
    const norma_lanes_kernels *solo = norma_lanes_get_solo();
    const norma_chain_scratch *s = &chain->scratch;
    double count = 0;
    norma_chain_extract(chain, k, m * m, lane, s->matrix);
    solo->tridiagonalize(m, s->matrix, s->diagonal, s->off, s->work);
    solo->count_above(m, s->diagonal, s->off, &threshold, &count);
    return count;
}

/* Eigenvalues >= threshold of every lane, k staying; trace[lanes] is that of k. */
static void count_small(const norma_chain *chain, int64_t m, const double *k, const double *trace,
                        const double *threshold, double *count)
{
    norma_lanes_values growth = {0};
    chain->kernels->count_pivots(m, k, threshold, chain->scratch.factors, count, growth);
    for (int lane = 0; lane < chain->n_replicas; lane++) {
        double scale = (double)m * threshold[lane] + trace[lane];
        if (!(growth[lane] <= PIVOT_GROWTH / sqrt((double)m) * scale))
            count[lane] = count_of_lane(chain, m, k, lane, threshold[lane]);
    }
}

/* Counts again what k is too coarse for; trace[lanes] is that of k. */
static norma_status count_finely(norma_chain *chain, int64_t m, const double *trace,
                                 const double *threshold, double *count)
{
    const double rounding = sqrt((double)m) * DBL_EPSILON;
    for (int lane = 0; lane < chain->n_replicas; lane++)
        if (threshold[lane] > 0 && rounding * trace[lane] > GRAM_ROUNDING * threshold[lane])
            NORMA_TRY(norma_chain_count_singular(chain, lane, sqrt(threshold[lane]), &count[lane]));
    return NORMA_OK;
}

/* Destroys k. */
static norma_status measure_soft_rank(norma_chain *chain, int64_t m, double *k, double *values)
{
    const int64_t lanes = chain->lanes;
    norma_lanes_values trace = {0};
    sum_diagonal(chain, m, k, 1, trace);
    const bool factors = chain->request.n_tau <= MAX_FACTORIZATIONS;
    double *out = norma_chain_values_of(chain, NORMA_OBSERVABLE_SOFT_RANK, values);
    if (!factors)
        NORMA_TRY(tridiagonalize(chain, m, k));
    for (int t = 0; t < chain->request.n_tau; t++) {
        norma_lanes_values threshold = {0};
        norma_lanes_values count = {0};
        double tau = chain->request.tau[t];
        for (int64_t l = 0; l < lanes; l++)
            threshold[l] =
                norma_chain_scaled(tau * (double)chain->spec.batch, -2 * chain->exponent[l]);
        if (factors && norma_chain_is_small(chain))
            count_small(chain, m, k, trace, threshold, count);
        else if (factors && isfinite(threshold[0]))
            NORMA_TRY(count_by_factors(chain, m, k, threshold[0], &count[0]));
        else if (norma_chain_is_small(chain))
            chain->kernels->count_above(m, chain->scratch.diagonal, chain->scratch.off, threshold,
                                        count);
        else
            count[0] = count_plain(m, chain->scratch.diagonal, chain->scratch.off, threshold[0]);
        NORMA_TRY(count_finely(chain, m, trace, threshold, count));
        for (int lane = 0; lane < chain->n_replicas; lane++)
            out[t * lanes + lane] = tau > 0 ? count[lane] : (double)chain->spec.width;
    }
    return NORMA_OK;
}

static void store(const norma_chain *chain, norma_observable observable, const double *x,
                  int64_t power, double divisor, double *values)
{
    for (int lane = 0; lane < chain->n_replicas; lane++)
        norma_chain_values_of(chain, observable, values)[lane] =
            norma_chain_scaled(x[lane] / divisor, power * chain->exponent[lane]);
}

static norma_status measure_small(norma_chain *chain, norma_observable_set set, double *values)
{
    const int64_t d = chain->spec.width, n = chain->spec.batch;
    const bool of_samples = n < d;
    const int64_t m = of_samples ? n : d;
    const double batch = (double)n;
    double *k = chain->scratch.gram;
    norma_lanes_values x = {0};
    make_gram(chain, of_samples, k);
    const bool has_square = chain->kernels && set & BIT(TR_M3);
    if (set & BIT(TR_M3)) {
        trace_cube(chain, m, k, x);
        store(chain, NORMA_OBSERVABLE_TR_M3, x, 6, batch * batch * batch, values);
    }
    if (set & (BIT(STABLE_RANK) | BIT(FRO2))) {
        if (has_square)
            sum_diagonal(chain, m, chain->scratch.square, 1, x);
        else
            symmetric_dot(chain, m, k, k, x);
        if (set & BIT(FRO2))
            store(chain, NORMA_OBSERVABLE_FRO2, x, 4, batch * batch, values);
        norma_lanes_values trace = {0};
        if (set & BIT(STABLE_RANK))
            sum_diagonal(chain, m, k, 1, trace);
        for (int lane = 0; set & BIT(STABLE_RANK) && lane < chain->n_replicas; lane++)
            norma_chain_values_of(chain, NORMA_OBSERVABLE_STABLE_RANK, values)[lane] =
                trace[lane] / x[lane] * trace[lane];
    }
    if (set & BIT(TR_DIAG2)) {
        if (has_square && !of_samples)
            sum_diagonal(chain, m, chain->scratch.square, 2, x);
        else
            sum_diagonal_squares(chain, of_samples, k, x);
        store(chain, NORMA_OBSERVABLE_TR_DIAG2, x, 8, batch * batch * batch * batch, values);
    }
    return set & BIT(SOFT_RANK) ? measure_soft_rank(chain, m, k, values) : NORMA_OK;
}

/* Distances of G from its references, one lane. */
static void measure_distances(norma_chain *chain, norma_observable_set set, int lane,
                              double *values)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t n = spec->batch, lanes = chain->lanes;
    const double *g = chain->scratch.gram;
    const bool centered =
        spec->norm == NORMA_CHAIN_NORM_BN_CENTERED && norma_chain_spec_is_linear(spec);
    double trace = 0, gap = 0, distance = 0;
    for (int64_t i = 0; i < n; i++)
        trace += g[(i * n + i) * lanes + lane];
    double ones = centered ? 1 / ((double)n * (double)(n - 1)) : 0;
    double diagonal = 1 / (double)(centered ? n - 1 : n) - ones;
    for (int64_t i = 0; i < n * n; i++) {
        double x = g[i * lanes + lane] / trace - (i % (n + 1) == 0 ? diagonal : -ones);
        gap += x * x;
    }
    if (set & BIT(ORTHOGONALITY_GAP))
        norma_chain_values_of(chain, NORMA_OBSERVABLE_ORTHOGONALITY_GAP, values)[lane] = sqrt(gap);
    if (!(set & BIT(GRAM_DISTANCE)))
        return;
    for (int64_t i = 0; i < n * n; i++) {
        double x =
            norma_chain_scaled(spec->gram_scale * g[i * lanes + lane], 2 * chain->exponent[lane]) -
            chain->gram_reference[lane * n * n + i];
        distance = hypot(distance, x);
    }
    norma_chain_values_of(chain, NORMA_OBSERVABLE_GRAM_DISTANCE, values)[lane] = distance;
}

norma_status norma_chain_measure_gram(norma_chain *chain, norma_observable_set set, double *values)
{
    if (set & chain->family[NORMA_OBSERVABLE_FAMILY_SMALL_GRAM])
        NORMA_TRY(measure_small(chain, set, values));
    if (!(set & chain->family[NORMA_OBSERVABLE_FAMILY_SAMPLE_GRAM]))
        return NORMA_OK;
    make_gram(chain, true, chain->scratch.gram);
    for (int lane = 0; lane < chain->n_replicas; lane++)
        measure_distances(chain, set, lane, values);
    return NORMA_OK;
}
