#include "mpi/layer/layer_solve.h"

#include "mpi/layer/layer_choice.h"
#include "mpi/layer/layer_select.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/system.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* An answer this many times above the floor is no answer. */
#define TOLERATED 100

/* An exact answer with a larger residual, relative to the target, has no digit worth naming. */
#define LARGEST_RESIDUAL 1e-4

typedef struct work {
    MPI_Comm comm;
    const norma_layer_problem *problem;
    norma_layer_selection selection;
    norma_layer_choice choice;
    norma_system system;
    norma_width_rule *rule;
    norma_product *product;
    double *rhs;        /* [n_system] */
    double *full;       /* [n]: KR gamma1 */
    double *error;      /* [n]: of the kernel */
    double *row_scale;  /* [n]: gamma2 of each row */
    double *rounded;    /* [n_used]: gamma1 through FP32 */
    double *rounded2;   /* [c2] */
    double gamma1_unit; /* what gamma1 and gamma2 of the scaled target are multiplied by */
    double gamma2_unit;
} work;

static norma_status check_tensor(const norma_tensor *tensor, const char *name, int64_t n_features,
                                 int64_t width)
{
    const norma_tensor_spec *spec = norma_tensor_get_spec(tensor);
    if (spec->n_features < n_features || spec->n_channels * spec->n_taps != width)
        return NORMA_FAIL(NORMA_CONFIG,
                          "source tensor %s has %lld features of %lld weights: %lld of %lld are "
                          "expected",
                          name, (long long)spec->n_features,
                          (long long)(spec->n_channels * spec->n_taps), (long long)n_features,
                          (long long)width);
    return NORMA_OK;
}

/* Everything before the first communication. */
static norma_status prepare_local(work *w, const norma_solver_options *options,
                                  norma_layer_solution *solution)
{
    const norma_layer_problem *p = w->problem;
    int size = 0;
    MPI_Comm_size(w->comm, &size);
    NORMA_TRY(norma_khatri_rao_check(&p->shape));
    NORMA_TRY(check_tensor(p->w1, "W1", p->n_features, norma_khatri_rao_width_first(&p->shape)));
    NORMA_TRY(check_tensor(p->w2, "W2", p->n_features, norma_khatri_rao_width_second(&p->shape)));
    NORMA_TRY(norma_width_rule_create_residual(p->width, p->residual, &p->shape, p->target, p->skip,
                                               &w->rule));
    NORMA_TRY(norma_layer_choice_make_local(p, options, size, &w->choice));
    NORMA_TRY(NORMA_ALLOC(w->rhs, w->rule->n_system));
    NORMA_TRY(NORMA_ALLOC(w->full, w->rule->n));
    NORMA_TRY(NORMA_ALLOC(w->error, w->rule->n));
    NORMA_TRY(NORMA_ALLOC(w->row_scale, w->rule->n));
    NORMA_TRY(NORMA_ALLOC(w->rounded, w->choice.n_used));
    NORMA_TRY(NORMA_ALLOC(w->rounded2, p->shape.n_channels_out));
    NORMA_TRY(NORMA_CALLOC(solution->gamma1, p->n_features));
    NORMA_TRY(NORMA_CALLOC(solution->gamma2, p->shape.n_channels_out));
    NORMA_TRY(NORMA_CALLOC(solution->kernel, w->rule->n));
    w->gamma1_unit = w->rule->closed ? 1 : w->rule->scale;
    w->gamma2_unit = w->rule->closed ? w->rule->scale : 1;
    return NORMA_OK;
}

static void announce(const work *w, const norma_solver_options *options)
{
    const norma_layer_choice *c = &w->choice;
    char names[256];
    if (options->solver == NORMA_SOLVER_AUTO)
        norma_log_news("solver auto: %s (%s)", norma_solver_name(c->solver), c->reason);
    if (c->n_used < w->problem->n_features)
        norma_log_news("%s uses the leading %lld of %lld features, the others get 0 (%s: all, "
                       "minimum norm)",
                       norma_solver_name(c->solver), (long long)c->n_used,
                       (long long)w->problem->n_features,
                       norma_names_join(&norma_solver_least_squares_names, names, sizeof names));
    if (c->mode.regenerated)
        norma_log_detail("weights are drawn again in every product, not stored");
    int n_idle = 0;
    MPI_Comm_size(w->comm, &n_idle);
    n_idle -= c->grid.n_rows * c->grid.n_columns;
    if (n_idle > 0)
        norma_log_detail("grid %d x %d: the last %d ranks stay idle", c->grid.n_rows,
                         c->grid.n_columns, n_idle);
}

static void fill_system(work *w, const norma_solver_options *options)
{
    norma_width_rule_rhs(w->rule, w->rhs);
    w->system = (norma_system){.comm = w->comm,
                               .name = norma_solver_name(w->choice.solver),
                               .problem = &w->selection.problem,
                               .block_size = w->choice.block_size,
                               .max_iterations = w->choice.max_iterations,
                               .measure_steps = w->choice.measure_steps,
                               .history = w->choice.history,
                               .single = options->single,
                               .condition = options->condition,
                               .memory_per_rank = options->memory_per_rank,
                               .seed = options->seed,
                               .rule = w->rule,
                               .product = w->product,
                               .rhs = w->rhs};
}

/* Scales gamma1 to sum 1 where the closing row asked for it, up to rounding or least squares. */
static norma_status normalize(const work *w, double *gamma1)
{
    double sum = 0;
    bool finite = true;
    for (int64_t J = 0; J < w->choice.n_used; J++) {
        sum += gamma1[J];
        finite = finite && isfinite(gamma1[J]);
    }
    if (!finite)
        return NORMA_FAIL(NORMA_NUMERIC, "%s gave a gamma1 that is not finite",
                          norma_solver_name(w->choice.solver));
    if (!w->rule->closed)
        return NORMA_OK;
    if (sum == 0 || !isfinite(1 / sum))
        return NORMA_FAIL(NORMA_NUMERIC, "gamma1 sums to %g and cannot be normalized to 1", sum);
    norma_replicated_scale_local(1 / sum, gamma1, w->choice.n_used);
    return NORMA_OK;
}

/* Root mean square and largest entry of the kernel's error, of the scaled target; KR gamma1 is in
 * full. */
static double measure_error(work *w, const double *gamma2, double *largest)
{
    const norma_width_rule *rule = w->rule;
    norma_width_rule_error(rule, w->full, gamma2, w->error);
    *largest = 0;
    for (int64_t I = 0; I < rule->n; I++)
        *largest = fmax(*largest, fabs(w->error[I]));
    return norma_replicated_norm_local(w->error, rule->n) / sqrt((double)rule->n);
}

static void apply_full(work *w, const double *gamma1)
{
    int64_t first = 0;
    norma_product_share_local(w->product, &first);
    norma_product_apply(w->product, NORMA_PRODUCT_FULL, gamma1 + first, w->full);
}

/* The error that a user of single precision sees: gamma1 and gamma2 rounded to FP32. */
static void measure_single(work *w, const norma_layer_solution *s, double *rmse)
{
    double largest = 0;
    for (int64_t J = 0; J < w->choice.n_used; J++)
        w->rounded[J] = (double)(float)(s->gamma1[J] * w->gamma1_unit) / w->gamma1_unit;
    for (int64_t i = 0; i < w->problem->shape.n_channels_out; i++)
        w->rounded2[i] = (double)(float)(s->gamma2[i] * w->gamma2_unit) / w->gamma2_unit;
    apply_full(w, w->rounded);
    *rmse = measure_error(w, w->rounded2, &largest) * w->rule->scale;
}

/* Largest |gamma1|, |gamma2| in the target's own scale. */
static double largest_gamma(const work *w, const norma_layer_solution *s)
{
    double largest = 0;
    for (int64_t J = 0; J < w->choice.n_used; J++)
        largest = fmax(largest, fabs(s->gamma1[J] * w->gamma1_unit));
    for (int64_t i = 0; i < w->problem->shape.n_channels_out; i++)
        largest = fmax(largest, fabs(s->gamma2[i] * w->gamma2_unit));
    return largest;
}

/* ||diag(gamma2) KR||_2. */
static norma_status measure_scaled_norm(work *w, const norma_layer_solution *s, double *norm)
{
    *norm = s->sigma_max;
    if (w->problem->width == NORMA_WIDTH_MAX)
        return NORMA_OK;
    double largest = 0; /* taken out, so that no square leaves the range of doubles */
    for (int64_t i = 0; i < w->problem->shape.n_channels_out; i++)
        largest = fmax(largest, fabs(s->gamma2[i]));
    for (int64_t I = 0; I < w->rule->n; I++)
        w->row_scale[I] = largest > 0 ? s->gamma2[I / w->rule->row_length] / largest : 0;
    double error = 0;
    NORMA_TRY(norma_system_largest(&w->system, NORMA_PRODUCT_FULL, w->row_scale, norm, &error));
    *norm *= largest;
    return NORMA_OK;
}

/* Least squares may leave any residual, but not one of rounding errors that a huge gamma2 scales.
 */
static norma_status judge_least_squares(const norma_width_rule *rule, const norma_layer_solution *s)
{
    double moved = s->floor * sqrt((double)rule->n);
    if (s->relative_residual > 1)
        norma_log_warning("least squares leave a kernel farther from the target than none would be "
                          "(relative residual %.3g): the min rule's equations are those before "
                          "gamma2 rescales them; use --width-rule max, or more features",
                          s->relative_residual);
    if (rule->size == 0 || moved <= LARGEST_RESIDUAL * rule->size)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_NUMERIC,
                      "%s: rounding alone moves the kernel by %.3g of itself: are features of the "
                      "source zero?",
                      norma_solver_name(s->solver), moved / rule->size);
}

/* The answer of L-BFGS is what it is, and is said to be. */
static void state(const norma_width_rule *rule, const norma_layer_solution *s)
{
    const char *name = norma_solver_name(s->solver);
    const char *reason = norma_stopping_name(s->stopping);
    if (s->least_squares || s->rmse <= s->floor)
        norma_log_detail("%s stopped after %lld iterations: %s", name, (long long)s->iterations,
                         reason);
    else
        norma_log_warning("%s stopped after %lld iterations (%s) with an rmse of %.3g, %.3g times "
                          "the floor of double precision",
                          name, (long long)s->iterations, reason, s->rmse * rule->scale,
                          s->rmse / s->floor);
}

/* From gamma1 of the system to gamma2, errors, floor; the verdict. Still of the scaled target. */
static norma_status judge(work *w, norma_layer_solution *s)
{
    const norma_width_rule *rule = w->rule;
    double norm = 0;
    double root_n = sqrt((double)rule->n);
    NORMA_TRY(normalize(w, s->gamma1));
    apply_full(w, s->gamma1);
    memcpy(s->kernel, w->full, (size_t)rule->n * sizeof *s->kernel);
    NORMA_TRY(norma_width_rule_recover(rule, w->full, s->gamma2));
    s->rmse = measure_error(w, s->gamma2, &s->max_error);
    s->relative_residual = rule->size > 0 ? s->rmse * root_n / rule->size : 0;
    NORMA_TRY(measure_scaled_norm(w, s, &norm));
    double reach = norm * norma_replicated_norm_local(s->gamma1, w->choice.n_used);
    s->floor = 10 * NORMA_ROUNDOFF * (reach + norma_width_rule_skip_norm(rule, s->gamma2)) / root_n;
    measure_single(w, s, &s->rmse_single);
    if (norma_solver_describe(s->solver)->states_answer)
        state(rule, s);
    if (s->least_squares)
        return judge_least_squares(rule, s);
    if (norma_solver_describe(s->solver)->states_answer && isfinite(s->rmse))
        return NORMA_OK;
    if (!(s->relative_residual <= LARGEST_RESIDUAL)) /* a huge gamma has a floor as high */
        return NORMA_FAIL(NORMA_NUMERIC,
                          "%s: gamma is nothing but rounding (relative residual %.3g, largest "
                          "|gamma| %.3g): do too many features lack weights, or does "
                          "the source leave an output channel at zero?",
                          norma_solver_name(s->solver), s->relative_residual, largest_gamma(w, s));
    if (s->rmse <= TOLERATED * s->floor)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_NUMERIC,
                      "%s: the answer misses the floor of double precision: rmse %.3g where %.3g "
                      "can be reached (condition number %.3g)",
                      norma_solver_name(s->solver), s->rmse * rule->scale, s->floor * rule->scale,
                      s->condition_number);
}

/* Singular values that the verdict needed, or that cost nothing, are not stated either. */
static void forget_condition(norma_layer_solution *s)
{
    s->condition_number = s->condition_number_solved = s->condition_error = NAN;
    s->sigma_max = s->sigma_min = NAN;
}

/* Undoes the scaling of the target. */
static void unscale(const work *w, norma_layer_solution *s)
{
    s->rmse *= w->rule->scale;
    s->max_error *= w->rule->scale;
    s->floor *= w->rule->scale;
    s->max_abs_gamma = largest_gamma(w, s);
    norma_replicated_scale_local(w->gamma1_unit, s->gamma1, w->problem->n_features);
    norma_replicated_scale_local(w->gamma2_unit, s->gamma2, w->problem->shape.n_channels_out);
    norma_replicated_scale_local(w->gamma1_unit, s->kernel, w->rule->n);
}

/* One rank's answer for all: processors that differ may differ in a last bit. */
static void share(const work *w, norma_layer_solution *s)
{
    double *gamma1 = s->gamma1;
    double *gamma2 = s->gamma2;
    double *kernel = s->kernel;
    MPI_Bcast(gamma1, (int)w->problem->n_features, MPI_DOUBLE, 0, w->comm);
    MPI_Bcast(gamma2, (int)w->problem->shape.n_channels_out, MPI_DOUBLE, 0, w->comm);
    MPI_Bcast(kernel, (int)w->rule->n, MPI_DOUBLE, 0, w->comm);
    MPI_Bcast(s, (int)sizeof *s, MPI_BYTE, 0, w->comm);
    s->gamma1 = gamma1;
    s->gamma2 = gamma2;
    s->kernel = kernel;
}

static void describe(const work *w, norma_layer_solution *s)
{
    s->n_rows = w->rule->n_rows;
    s->n_minimum = w->choice.n_minimum;
    s->n_features = w->problem->n_features;
    s->n_used = w->choice.n_used;
    s->solver = w->choice.solver;
    s->least_squares = s->n_features < s->n_minimum;
    s->numerical_rank = s->least_squares ? s->n_features : s->n_minimum;
    s->relative_gradient = NAN;
}

static void release(work *w)
{
    norma_product_destroy_local(&w->product);
    norma_layer_selection_clear_local(&w->selection);
    norma_width_rule_destroy(&w->rule);
    NORMA_FREE(w->rhs);
    NORMA_FREE(w->full);
    NORMA_FREE(w->error);
    NORMA_FREE(w->row_scale);
    NORMA_FREE(w->rounded);
    NORMA_FREE(w->rounded2);
}

norma_status norma_layer_solve(MPI_Comm comm, const norma_layer_problem *problem,
                               const norma_solver_options *options, norma_layer_solution *solution)
{
    work w = {.comm = comm, .problem = problem};
    norma_layer_solution s = {0};
    norma_status status = norma_agree(comm, prepare_local(&w, options, &s));
    if (status != NORMA_OK)
        goto done;
    describe(&w, &s);
    announce(&w, options);
    double start = norma_progress_clock_local();
    NORMA_GOTO(status, norma_layer_select(comm, problem, w.choice.n_used, &w.selection));
    NORMA_GOTO(status,
               norma_product_create(comm, w.rule, w.selection.problem.w1, w.selection.problem.w2,
                                    w.choice.n_used, &w.choice.mode, &w.product));
    s.seconds_assembly = norma_progress_clock_local() - start;
    fill_system(&w, options);
    NORMA_GOTO(status, norma_solver_describe(w.choice.solver)->solve(&w.system, s.gamma1, &s));
    NORMA_GOTO(status, norma_agree(comm, judge(&w, &s)));
    unscale(&w, &s);
    if (options->condition == NORMA_CONDITION_NONE)
        forget_condition(&s);
    norma_layer_select_scatter_local(&w.selection, problem->n_features, s.gamma1);
    share(&w, &s);
    *solution = s;
done:
    if (status != NORMA_OK)
        norma_layer_solution_clear(&s);
    release(&w);
    return status;
}

void norma_layer_solution_clear(norma_layer_solution *solution)
{
    NORMA_FREE(solution->gamma1);
    NORMA_FREE(solution->gamma2);
    NORMA_FREE(solution->kernel);
    memset(solution, 0, sizeof *solution);
}
