#include "mpi/spectrum/spectrum.h"

#include "mpi/krylov/bidiagonal.h"
#include "mpi/krylov/quadrature.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/assemble.h"
#include "src/base/mem.h"
#include "src/features/feature_sums.h"
#include "src/stats/spectral.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

/* Exact fourth powers are summed up to so many operations. */
static const double most_flops_of_fourths = 1e14;
/* auto takes svd up to so many operations of a thread. */
static const double most_flops_of_svd = 1e13;
/* Relative difference of the sum of squared values to the one that needs no value: a hundred times
 * the rounding of either at a million values. */
static const double most_error_of_sums = 1e-11;
/* Steps of the process that looks for both edges, at most. */
#define MOST_EDGE_STEPS 20000

typedef struct measurement {
    MPI_Comm comm;
    int rank, n_ranks;
    const norma_spectrum_problem *problem;
    const norma_spectrum_options *options;
    norma_width_rule *rule;
    norma_product *product; /* NULL for svd */
    norma_spectrum_result *result;
} measurement;

static int64_t fewer(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#define LINE(number, name, summary) {name, summary},
static const struct {
    const char *name, *summary;
} methods[] = {NORMA_SPECTRUM_METHODS(LINE)};
const norma_names norma_spectrum_method_names = NORMA_NAMES("method", "methods", methods);

const char *norma_spectrum_method_name(norma_spectrum_method method)
{
    return methods[method].name;
}

static int64_t count_rows(const norma_spectrum_problem *problem)
{
    int64_t n = norma_khatri_rao_n_rows(&problem->shape);
    return problem->width == NORMA_WIDTH_MIN ? n - problem->shape.n_channels_out : n;
}

static norma_product_mode product_mode(bool regenerated)
{
    return (norma_product_mode){.regenerated = regenerated};
}

/* Bytes of a matrix-free method. */
static double product_bytes(const norma_spectrum_problem *problem, const norma_spectrum_choice *c,
                            int n_ranks, bool regenerated)
{
    const norma_product_mode mode = product_mode(regenerated);
    double bytes = norma_product_bytes_local(&problem->shape, problem->n_features, n_ranks, &mode);
    if (c->method == NORMA_SPECTRUM_QUADRATURE)
        return bytes +
               norma_quadrature_bytes_local(c->n_rows, problem->n_features, c->n_steps, n_ranks);
    return bytes + 8 * (4 * (double)c->n_rows + 2 * (double)c->n_steps +
                        2 * (double)problem->n_features / n_ranks);
}

static double svd_bytes(const norma_spectrum_problem *problem,
                        const norma_spectrum_options *options, const norma_spectrum_choice *c,
                        int n_threads)
{
    int64_t block = norma_singular_block_local(options->singular, c->n_rows, problem->n_features);
    return norma_singular_bytes_local(options->singular, c->n_rows, problem->n_features, c->grid,
                                      n_threads) +
           norma_assemble_bytes_local(&problem->shape, block, false, n_threads) +
           8 * (double)c->n_values;
}

/* auto: svd where it fits and ends in minutes. */
static void choose_method(const norma_spectrum_problem *problem,
                          const norma_spectrum_options *options, int n_ranks, int n_threads,
                          norma_spectrum_choice *c)
{
    double flops = norma_singular_flops_local(c->n_rows, problem->n_features);
    bool allowed = norma_singular_check_local(options->singular, c->n_rows, problem->n_features,
                                              n_ranks) == NORMA_OK;
    if (!allowed)
        norma_status_clear();
    bool fits = options->memory_per_rank <= 0 ||
                svd_bytes(problem, options, c, n_threads) <= options->memory_per_rank;
    bool quick = flops <= most_flops_of_svd * n_ranks * n_threads;
    c->method = allowed && fits && quick ? NORMA_SPECTRUM_SVD : NORMA_SPECTRUM_QUADRATURE;
    snprintf(c->reason, sizeof c->reason, "%s",
             c->method == NORMA_SPECTRUM_SVD ? "all singular values fit and take minutes"
             : !allowed                      ? "the matrix is beyond 32-bit counts on these ranks"
             : !fits                         ? "the matrix does not fit the memory"
                                             : "all singular values would take long");
}

norma_status norma_spectrum_choose_local(const norma_spectrum_problem *problem,
                                         const norma_spectrum_options *options, int n_ranks,
                                         int n_threads, norma_spectrum_choice *out)
{
    memset(out, 0, sizeof *out);
    NORMA_TRY(norma_khatri_rao_check(&problem->shape));
    int64_t c1 = problem->n_features;
    double sums = 2 * norma_feature_sums_flops(&problem->shape, c1);
    out->method = options->method;
    out->n_rows = count_rows(problem);
    out->n_values = fewer(out->n_rows, c1);
    if (out->n_rows < 1)
        return NORMA_FAIL(NORMA_CONFIG, "the min rule leaves no row of M: every output channel has "
                                        "a single weight, its pivot");
    out->grid = norma_singular_grid_local(options->singular, out->n_rows, c1, n_ranks);
    if (out->method == NORMA_SPECTRUM_AUTO)
        choose_method(problem, options, n_ranks, n_threads, out);
    out->fourths = sums <= most_flops_of_fourths;
    out->flops = out->fourths ? sums / 2 : 0;
    out->bytes = norma_width_rule_bytes(problem->width, NORMA_RESIDUAL_NONE, &problem->shape) +
                 norma_feature_sums_bytes(&problem->shape);
    if (out->method == NORMA_SPECTRUM_SVD) {
        NORMA_TRY(norma_singular_check_local(options->singular, out->n_rows, c1, n_ranks));
        out->bytes += svd_bytes(problem, options, out, n_threads);
        out->flops += norma_singular_flops_local(out->n_rows, c1);
        return NORMA_OK;
    }
    bool edges = out->method == NORMA_SPECTRUM_EDGES;
    out->n_steps = fewer(edges ? MOST_EDGE_STEPS : options->n_steps, out->n_values);
    double stored = product_bytes(problem, out, n_ranks, false);
    out->regenerated = problem->regenerable && options->memory_per_rank > 0 &&
                       out->bytes + stored > options->memory_per_rank;
    out->bytes += out->regenerated ? product_bytes(problem, out, n_ranks, true) : stored;
    double n_products = 2 * (double)out->n_steps * (edges ? 1 : (double)options->n_probes);
    out->flops += n_products * norma_khatri_rao_flops(&problem->shape, c1);
    return NORMA_OK;
}

norma_status norma_spectrum_result_create(int64_t n_probes, int64_t n_steps,
                                          norma_spectrum_result *result)
{
    NORMA_TRY(NORMA_CALLOC(result->nodes, n_probes * n_steps));
    NORMA_TRY(NORMA_CALLOC(result->weights, n_probes * n_steps));
    return NORMA_CALLOC(result->n_nodes, n_probes);
}

void norma_spectrum_result_clear(norma_spectrum_result *result)
{
    NORMA_FREE(result->values);
    NORMA_FREE(result->nodes);
    NORMA_FREE(result->weights);
    NORMA_FREE(result->n_nodes);
    memset(result, 0, sizeof *result);
}

/* Weights of a range of features, for the sums. */
static void fill_weights(const void *context, int64_t start, int64_t count, double *first,
                         double *second)
{
    const norma_spectrum_problem *problem = context;
    norma_tensor_fill(problem->w1, start, count, first);
    norma_tensor_fill(problem->w2, start, count, second);
}

static norma_status add_up(const measurement *m)
{
    norma_feature_sums sums = {0, 0};
    norma_spectrum_result *r = m->result;
    const norma_khatri_rao_source source = {fill_weights, m->problem};
    double start = norma_progress_clock_local();
    norma_status status = norma_feature_sums_compute(m->rule, &source, m->problem->n_features,
                                                     r->choice.fourths, m->rank, m->n_ranks, &sums);
    NORMA_TRY(norma_agree(m->comm, status));
    double both[2] = {sums.squares, sums.fourths};
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_DOUBLE, MPI_SUM, m->comm);
    MPI_Bcast(both, 2, MPI_DOUBLE, 0, m->comm);
    r->trace2 = both[0];
    r->trace4 = r->choice.fourths ? both[1] : NAN;
    r->seconds_sums = norma_progress_clock_local() - start;
    if (!isfinite(r->trace2))
        return NORMA_FAIL(NORMA_CONFIG, "the source weights are not finite, or too large for "
                                        "their squares");
    return NORMA_OK;
}

/* Zeros, extremes and sums of all values, and whether these sums are right. */
static norma_status judge_values(const measurement *m)
{
    norma_spectrum_result *r = m->result;
    int64_t c1 = m->problem->n_features;
    int64_t longest = r->n_rows > c1 ? r->n_rows : c1;
    double tolerance = (double)longest * DBL_EPSILON * r->values[0];
    int64_t n_kept = r->n_values;
    while (n_kept > 0 && !(r->values[n_kept - 1] > tolerance))
        n_kept--;
    r->n_zero = r->n_values - n_kept;
    r->sigma_max = r->values[0];
    r->sigma_min = n_kept > 0 ? r->values[n_kept - 1] : 0;
    r->condition_number = r->n_zero > 0 ? INFINITY : r->sigma_max / r->sigma_min;
    r->trace2_measured = r->trace4_measured = 0;
    r->trace2_stderr = r->trace4_stderr = 0;
    for (int64_t k = r->n_values - 1; k >= 0; k--) {
        double square = r->values[k] * r->values[k];
        r->trace2_measured += square;
        r->trace4_measured += square * square;
    }
    if (!(fabs(r->trace2_measured - r->trace2) <= most_error_of_sums * r->trace2))
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the squares of the singular values add up to %.17g, those of the "
                          "entries to %.17g: the values are wrong",
                          r->trace2_measured, r->trace2);
    return NORMA_OK;
}

static norma_status measure_all(const measurement *m)
{
    norma_spectrum_result *r = m->result;
    norma_grid *grid = NULL;
    norma_dmat *a = NULL;
    int64_t c1 = m->problem->n_features;
    norma_singular_method method = m->options->singular;
    norma_status status = norma_agree(m->comm, NORMA_ALLOC(r->values, r->n_values));
    NORMA_GOTO(status, status);
    NORMA_GOTO(status,
               norma_grid_create(
                   m->comm, norma_singular_grid_local(method, r->n_rows, c1, m->n_ranks), &grid));
    NORMA_GOTO(status,
               norma_dmat_create_rectangle(grid, r->n_rows, c1,
                                           norma_singular_block_local(method, r->n_rows, c1), &a));
    double start = norma_progress_clock_local();
    NORMA_GOTO(status, norma_assemble_system(m->rule, m->problem->w1, m->problem->w2, a));
    MPI_Barrier(m->comm);
    double assembled = norma_progress_clock_local();
    NORMA_GOTO(status, norma_singular_compute(method, a, r->values));
    r->seconds_assembly = assembled - start;
    r->seconds = norma_progress_clock_local() - assembled;
    status = norma_agree(m->comm, judge_values(m));
done:
    norma_dmat_destroy_local(&a);
    norma_grid_destroy(&grid);
    return status;
}

/* Extremes and moments of the probes. The smallest node is no bound of the smallest value. */
static void judge_probes(const measurement *m)
{
    norma_spectrum_result *r = m->result;
    int64_t n_probes = m->options->n_probes;
    int64_t n_steps = m->options->n_steps;
    const norma_spectral_rules rules = {.n_probes = n_probes,
                                        .n_steps = n_steps,
                                        .n_nodes = r->n_nodes,
                                        .nodes = r->nodes,
                                        .weights = r->weights};
    double n = (double)r->n_values;
    r->sigma_max = 0;
    r->sigma_min = INFINITY;
    for (int64_t p = 0; p < n_probes; p++) {
        r->sigma_max = fmax(r->sigma_max, r->nodes[p * n_steps]);
        r->sigma_min = fmin(r->sigma_min, r->nodes[p * n_steps + r->n_nodes[p] - 1]);
    }
    norma_spectral_moment(&rules, 2, &r->trace2_measured, &r->trace2_stderr);
    norma_spectral_moment(&rules, 4, &r->trace4_measured, &r->trace4_stderr);
    r->trace2_measured *= n;
    r->trace2_stderr *= n;
    r->trace4_measured *= n;
    r->trace4_stderr *= n;
}

static norma_status measure_distribution(const measurement *m, int64_t n_done,
                                         norma_spectrum_after_probe after_probe, void *context)
{
    norma_spectrum_result *r = m->result;
    norma_quadrature *q = NULL;
    int64_t n_steps = m->options->n_steps;
    norma_status status = NORMA_OK;
    if (!r->nodes)
        status = norma_spectrum_result_create(m->options->n_probes, n_steps, r);
    NORMA_GOTO(status, norma_agree(m->comm, status));
    NORMA_GOTO(status, norma_quadrature_create(m->product, NORMA_PRODUCT_ROWS, n_steps, &q));
    double start = norma_progress_clock_local();
    for (int64_t p = n_done; p < m->options->n_probes; p++) {
        const norma_rng_stream stream = {.purpose = NORMA_RNG_START_VECTOR,
                                         .tensor = 1,
                                         .layer = p,
                                         .replica = m->options->replica,
                                         .cell = m->options->cell};
        NORMA_GOTO(status,
                   norma_quadrature_run(q, m->options->seed, &stream, r->nodes + p * n_steps,
                                        r->weights + p * n_steps, r->n_nodes + p));
        r->seconds = norma_progress_clock_local() - start;
        if (after_probe)
            NORMA_GOTO(status, after_probe(context, r, p + 1));
    }
    judge_probes(m);
done:
    norma_quadrature_destroy_local(&q);
    return status;
}

static norma_status measure_edges(const measurement *m)
{
    norma_spectrum_result *r = m->result;
    double start = norma_progress_clock_local();
    double error = 0;
    r->sigma_max = r->sigma_min = NAN;
    NORMA_TRY(norma_bidiagonal_measure(m->comm, m->product, NORMA_PRODUCT_ROWS, r->choice.n_steps,
                                       m->options->seed, norma_bidiagonal_full, &r->sigma_max,
                                       &r->sigma_min, &error));
    r->condition_number = r->sigma_max / r->sigma_min;
    r->seconds = norma_progress_clock_local() - start;
    return NORMA_OK;
}

/* The width rule: with the max rule no target has a part in M. */
static norma_status create_rule(const norma_spectrum_problem *problem, norma_width_rule **out)
{
    double *zeros = NULL;
    norma_status status = NORMA_OK;
    if (!problem->target)
        NORMA_GOTO(status, NORMA_CALLOC(zeros, norma_khatri_rao_n_rows(&problem->shape)));
    status = norma_width_rule_create(problem->width, &problem->shape,
                                     problem->target ? problem->target : zeros, out);
done:
    NORMA_FREE(zeros);
    return status;
}

static void init_result(const measurement *m)
{
    norma_spectrum_result *r = m->result;
    r->n_rows = m->rule->n_rows;
    r->n_values = fewer(r->n_rows, m->problem->n_features);
    r->n_zero = -1;
    r->condition_number = r->trace2 = r->trace4 = NAN;
    r->trace2_measured = r->trace4_measured = r->trace2_stderr = r->trace4_stderr = NAN;
}

static norma_status measure(measurement *m, int64_t n_done, norma_spectrum_after_probe after_probe,
                            void *context)
{
    norma_spectrum_result *r = m->result;
    NORMA_TRY(norma_agree(m->comm, create_rule(m->problem, &m->rule)));
    init_result(m);
    if (r->n_rows < 1)
        return NORMA_FAIL(NORMA_CONFIG, "the target leaves no row of M: no output channel has a "
                                        "second weight beside its pivot");
    if (r->choice.method == NORMA_SPECTRUM_SVD) {
        NORMA_TRY(add_up(m));
        return measure_all(m);
    }
    const norma_product_mode mode = product_mode(r->choice.regenerated);
    NORMA_TRY(norma_product_create(m->comm, m->rule, m->problem->w1, m->problem->w2,
                                   m->problem->n_features, &mode, &m->product));
    NORMA_TRY(add_up(m));
    if (r->choice.method == NORMA_SPECTRUM_EDGES)
        return measure_edges(m);
    return measure_distribution(m, n_done, after_probe, context);
}

norma_status norma_spectrum_measure(MPI_Comm comm, const norma_spectrum_problem *problem,
                                    const norma_spectrum_options *options, int64_t n_done,
                                    norma_spectrum_after_probe after_probe, void *context,
                                    norma_spectrum_result *result)
{
    measurement m = {.comm = comm, .problem = problem, .options = options, .result = result};
    MPI_Comm_rank(comm, &m.rank);
    MPI_Comm_size(comm, &m.n_ranks);
    NORMA_TRY(
        norma_agree(comm, norma_spectrum_choose_local(problem, options, m.n_ranks,
                                                      omp_get_max_threads(), &result->choice)));
    norma_status status = measure(&m, n_done, after_probe, context);
    norma_product_destroy_local(&m.product);
    norma_width_rule_destroy(&m.rule);
    return status;
}
