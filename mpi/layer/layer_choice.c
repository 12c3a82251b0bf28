#include "mpi/layer/layer_choice.h"

#include "mpi/krylov/lbfgs.h"
#include "mpi/krylov/product.h"
#include "mpi/linalg/dmat.h"
#include "mpi/system/assemble.h"
#include "mpi/system/dense.h"
#include "mpi/system/lu.h"
#include "mpi/system/refine.h"
#include "src/base/text.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_BLOCK 64
/* Of the factorizations of large systems, whose rate it sets; small ones would leave ranks idle. */
#define FACTOR_BLOCK 192
#define FACTOR_BLOCK_FROM 4000
#define MOST_ITERATIONS 1000000
/* From this excess on `auto` takes krylov: the system is well conditioned and every feature takes
 * part. */
#define KRYLOV_EXCESS 0.05
/* From this many equations on `auto` takes mixed before lu: below, the condition numbers cost more
 * than faster factors save. */
#define MIXED_FROM 12000

/* L-BFGS may need any number of iterations, and comes to an end. */
#define LBFGS_MOST_ITERATIONS 20000
#define LBFGS_HISTORY 10
/* So many are called for by a spread of the singular values of 2500, where krylov takes less. */
#define CHEBYSHEV_MOST_ITERATIONS 50000
/* Of a preconditioned system; the first one finds the solution but for rounding. */
#define LBFGS_PRECONDITIONED_ITERATIONS 5

/* Iterations to the floor for weights of independent entries: a fit to c = 16 to 48, 3 x 3 (excess
 * 0.05: 1378, 0.1: 731, 0.2: 395, 0.5: 177), which n does not move. Least squares alike. */
static int64_t expected_iterations(int64_t n_features, int64_t n_system)
{
    double fewer = (double)(n_features < n_system ? n_features : n_system);
    double more = (double)(n_features < n_system ? n_system : n_features);
    double excess = fmax(more - fewer, 1) / fewer;
    return (int64_t)fmin(62 + 66 / excess, 10 * fewer + 1);
}

/* Room for systems far worse than those of independent entries. */
static int64_t default_limit(int64_t n_features, int64_t n_system)
{
    int64_t limit = 1000 + 20 * expected_iterations(n_features, n_system);
    return limit < MOST_ITERATIONS ? limit : MOST_ITERATIONS;
}

static void expect_krylov(const norma_layer_problem *problem, int n_ranks, norma_layer_choice *c)
{
    double share = ceil((double)c->n_used / n_ranks);
    c->grid = (norma_grid_shape){1, n_ranks};
    c->iterations = expected_iterations(c->n_used, c->n_system);
    c->flops = 2 * norma_khatri_rao_flops(&problem->shape, c->n_used) * (double)c->iterations;
    /* Vectors of the conjugate gradients, the passes and their process, and of another one that
     * measures M. */
    c->bytes += 8 * (11 * share + 11 * (double)c->n_system + 3 * (double)c->max_iterations +
                     2 * (double)c->measure_steps);
}

/* Iterations of chebyshev, from the spread of the singular values of weights of independent entries
 * (RF section 2): a fit to c = 16, 3 x 3 (excess 0.02: 4168, 0.05: 2160, 0.1: 1020, 0.5: 244) and
 * c = 32 (0.1: 1000, 0.5: 235). Least squares alike. */
static int64_t expected_steps(int64_t n_features, int64_t n_system)
{
    double fewer = (double)(n_features < n_system ? n_features : n_system);
    double more = (double)(n_features < n_system ? n_system : n_features);
    double root = sqrt(1 + fmax(more - fewer, 1) / fewer);
    return (int64_t)(30 + 24 * (root + 1) / (root - 1));
}

static void expect_chebyshev(const norma_layer_problem *problem, int n_ranks, norma_layer_choice *c)
{
    double share = ceil((double)c->n_used / n_ranks);
    c->grid = (norma_grid_shape){1, n_ranks};
    c->iterations = expected_steps(c->n_used, c->n_system);
    if (c->iterations > c->max_iterations)
        c->iterations = c->max_iterations;
    c->flops = 2 * norma_khatri_rao_flops(&problem->shape, c->n_used) * (double)c->iterations;
    /* Vectors of answer, iteration and process, and of another process that measures M. */
    c->bytes += 8 * (8 * share + 11 * (double)c->n_system + 2 * (double)c->measure_steps);
}

/* Gamma, L-BFGS and the process that measures M. */
static void expect_lbfgs(const norma_layer_problem *problem, int n_ranks, norma_layer_choice *c)
{
    double share = ceil((double)c->n_used / n_ranks);
    c->grid = (norma_grid_shape){1, n_ranks};
    c->iterations = expected_iterations(c->n_used, c->n_system);
    if (c->iterations > c->max_iterations)
        c->iterations = c->max_iterations;
    c->flops = 2 * norma_khatri_rao_flops(&problem->shape, c->n_used) * (double)c->iterations;
    c->bytes += norma_lbfgs_bytes_local(c->n_system, (int64_t)share, c->history) +
                8 * (2 * share + 4 * (double)c->n_system + 2 * (double)c->measure_steps);
}

/* Matrix-free, in single precision. */
static bool iterates(norma_solver solver)
{
    return solver == NORMA_SOLVER_KRYLOV || solver == NORMA_SOLVER_CHEBYSHEV;
}

static bool is_direct(norma_solver solver)
{
    return solver == NORMA_SOLVER_LU || solver == NORMA_SOLVER_MIXED;
}

static void expect_lu(const norma_layer_problem *problem, const norma_solver_options *options,
                      int n_ranks, norma_layer_choice *c)
{
    bool mixed = c->solver == NORMA_SOLVER_MIXED;
    double n = (double)c->n_system;
    if (options->block_size == 0 && c->n_system >= FACTOR_BLOCK_FROM)
        c->block_size = FACTOR_BLOCK;
    c->grid = norma_lu_grid_local(c->n_system, c->block_size, n_ranks);
    c->iterations = mixed ? 3 : 1;
    c->flops = 2 * n * n * n / 3 + 4 * n * n;
    c->bytes += norma_lu_bytes_local(&problem->shape, c->n_system, c->block_size, c->grid, mixed,
                                     omp_get_max_threads()) +
                8 * 7 * n + (mixed ? norma_refine_bytes_local(c->n_system) : 0);
}

static bool uses_svd(norma_solver solver)
{
    return solver == NORMA_SOLVER_SVD || solver == NORMA_SOLVER_LBFGS_SVD ||
           solver == NORMA_SOLVER_LBFGS_SOLVED;
}

static norma_dense_size dense_size(norma_solver solver, const norma_layer_choice *c)
{
    return (norma_dense_size){.n_rows = c->n_system,
                              .n_columns = c->n_used,
                              .block = c->block_size,
                              .vectors = uses_svd(solver)};
}

static void expect_dense(const norma_layer_problem *problem, int n_ranks, norma_layer_choice *c)
{
    norma_dense_size size = dense_size(c->solver, c);
    c->grid = norma_dense_grid_local(&size, n_ranks);
    c->iterations = 1;
    c->flops = norma_dense_flops_local(c->n_system, c->n_used, size.vectors);
    c->bytes += norma_dense_bytes_local(&size, c->grid) +
                norma_assemble_bytes_local(&problem->shape, omp_get_max_threads());
    if (!norma_solver_is_lbfgs(c->solver))
        return;
    double share = ceil((double)c->n_used / n_ranks);
    c->iterations = LBFGS_PRECONDITIONED_ITERATIONS;
    c->bytes += norma_lbfgs_bytes_local(c->n_system, (int64_t)share, c->history);
}

static norma_status check_limits(norma_solver solver, int n_ranks, const norma_layer_choice *c)
{
    if (iterates(solver) || solver == NORMA_SOLVER_LBFGS)
        return NORMA_OK;
    if (is_direct(solver))
        return norma_dmat_check_local(c->n_system, c->block_size, c->grid);
    norma_dense_size size = dense_size(solver, c);
    return norma_dense_check_local(&size, n_ranks);
}

/* Fills everything that depends on the solver, the weights being stored or not as c says;
 * NORMA_LIMIT when it cannot hold its matrix. */
static norma_status expect_kept(const norma_layer_problem *problem,
                                const norma_solver_options *options, int n_ranks,
                                norma_solver solver, norma_layer_choice *c)
{
    double n = (double)norma_khatri_rao_n_rows(&problem->shape);
    bool leading = is_direct(solver) && problem->n_features > c->n_system;
    c->solver = solver;
    c->mode.single = iterates(solver) || options->single;
    c->n_used = leading ? c->n_system : problem->n_features;
    c->measure_steps = default_limit(c->n_used, c->n_system);
    c->max_iterations = c->measure_steps;
    if (norma_solver_is_lbfgs(solver) && c->max_iterations > LBFGS_MOST_ITERATIONS)
        c->max_iterations = LBFGS_MOST_ITERATIONS;
    if (solver == NORMA_SOLVER_CHEBYSHEV && c->max_iterations > CHEBYSHEV_MOST_ITERATIONS)
        c->max_iterations = CHEBYSHEV_MOST_ITERATIONS;
    if (options->max_iterations > 0)
        c->max_iterations = options->max_iterations;
    /* Rule, operator, gamma1, right-hand side, and what Lanczos and the judgement work with. */
    c->bytes = norma_width_rule_bytes(problem->width, &problem->shape) +
               norma_product_bytes_local(&problem->shape, c->n_used, n_ranks, &c->mode) +
               8 * ((double)problem->n_features + (double)c->n_used + 10 * n);
    if (solver == NORMA_SOLVER_KRYLOV)
        expect_krylov(problem, n_ranks, c);
    else if (solver == NORMA_SOLVER_CHEBYSHEV)
        expect_chebyshev(problem, n_ranks, c);
    else if (solver == NORMA_SOLVER_LBFGS)
        expect_lbfgs(problem, n_ranks, c);
    else if (is_direct(solver))
        expect_lu(problem, options, n_ranks, c);
    else
        expect_dense(problem, n_ranks, c);
    return check_limits(solver, n_ranks, c);
}

/* The same, and decides whether the weights are stored. */
static norma_status expect(const norma_layer_problem *problem, const norma_solver_options *options,
                           int n_ranks, norma_solver solver, norma_layer_choice *c)
{
    c->mode.regenerated = options->store == NORMA_STORE_NO;
    norma_status status = expect_kept(problem, options, n_ranks, solver, c);
    if (status != NORMA_OK || options->store != NORMA_STORE_AUTO ||
        !(options->memory_per_rank > 0 && c->bytes > options->memory_per_rank))
        return status;
    c->mode.regenerated = true;
    return expect_kept(problem, options, n_ranks, solver, c);
}

/* auto: krylov below the minimum, where lu cannot, and from KRYLOV_EXCESS on; mixed or lu
 * elsewhere, by the size, if the matrix fits. */
static norma_status choose(const norma_layer_problem *problem, const norma_solver_options *options,
                           int n_ranks, norma_layer_choice *c)
{
    double excess = (double)problem->n_features / (double)c->n_system - 1;
    if (problem->n_features < c->n_system) {
        snprintf(c->reason, sizeof c->reason, "%lld features for %lld equations: least squares",
                 (long long)problem->n_features, (long long)c->n_system);
        return expect(problem, options, n_ranks, NORMA_SOLVER_KRYLOV, c);
    }
    if (excess >= KRYLOV_EXCESS) {
        snprintf(c->reason, sizeof c->reason,
                 "%.3g%% more features than equations: well conditioned, and all take part",
                 100 * excess);
        return expect(problem, options, n_ranks, NORMA_SOLVER_KRYLOV, c);
    }
    norma_solver direct = c->n_system >= MIXED_FROM ? NORMA_SOLVER_MIXED : NORMA_SOLVER_LU;
    bool fits = expect(problem, options, n_ranks, direct, c) == NORMA_OK;
    if (!fits)
        norma_status_clear();
    if (fits && !(options->memory_per_rank > 0 && c->bytes > options->memory_per_rank)) {
        snprintf(c->reason, sizeof c->reason,
                 direct == NORMA_SOLVER_MIXED
                     ? "a square system of %lld equations: single precision halves its factors"
                     : "a square system of %lld equations, small enough for double precision",
                 (long long)c->n_system);
        return NORMA_OK;
    }
    snprintf(c->reason, sizeof c->reason, "the matrix of %s (%.3g GiB a rank) does not fit",
             norma_solver_name(direct), c->bytes / 0x1p30);
    return expect(problem, options, n_ranks, NORMA_SOLVER_KRYLOV, c);
}

static norma_status check_lbfgs_options(const norma_solver_options *options)
{
    if (options->history < 0 || options->history > NORMA_LBFGS_MOST_HISTORY)
        return NORMA_FAIL(NORMA_CONFIG, "L-BFGS keeps 1 to %d steps, not %lld",
                          NORMA_LBFGS_MOST_HISTORY, (long long)options->history);
    if (norma_solver_is_lbfgs(options->solver) || (!options->single && options->history == 0))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s has no single precision and no history of its own: only "
                      "lbfgs, lbfgs-svd and lbfgs-solved do",
                      norma_solver_name(options->solver));
}

norma_status norma_layer_choice_make_local(const norma_layer_problem *problem,
                                           const norma_solver_options *options, int n_ranks,
                                           norma_layer_choice *out)
{
    norma_layer_choice c = {.block_size = options->block_size,
                            .history = options->history > 0 ? options->history : LBFGS_HISTORY};
    NORMA_TRY(check_lbfgs_options(options));
    NORMA_TRY(norma_khatri_rao_check(&problem->shape));
    if (problem->n_features < 1 || options->block_size < 0 || options->max_iterations < 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "a solve with %lld features, blocks of %lld and at most %lld iterations",
                          (long long)problem->n_features, (long long)options->block_size,
                          (long long)options->max_iterations);
    if (c.block_size == 0)
        c.block_size = DEFAULT_BLOCK;
    NORMA_TRY(norma_width_rule_check(problem->width, problem->residual, &problem->shape));
    c.n_minimum = norma_width_rule_minimum(problem->width, problem->residual, &problem->shape,
                                           problem->target, problem->skip);
    c.n_system = c.n_minimum;
    bool closed = problem->width == NORMA_WIDTH_MIN && problem->residual != NORMA_RESIDUAL_OUTER;
    c.n_rows = c.n_system - (closed ? 1 : 0);
    if (is_direct(options->solver) && problem->n_features < c.n_system)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s needs as many features as equations: %lld features, %lld equations "
                          "(%s rule); krylov, qr and svd solve such a layer in least squares",
                          norma_solver_name(options->solver), (long long)problem->n_features,
                          (long long)c.n_system, norma_width_name(problem->width));
    if (options->solver == NORMA_SOLVER_AUTO)
        NORMA_TRY(choose(problem, options, n_ranks, &c));
    else
        NORMA_TRY(expect(problem, options, n_ranks, options->solver, &c));
    *out = c;
    return NORMA_OK;
}

norma_status norma_layer_solve_estimate_local(const norma_layer_problem *problem,
                                              const norma_solver_options *options, int n_ranks,
                                              norma_layer_estimate *out)
{
    norma_layer_choice c = {0};
    NORMA_TRY(norma_layer_choice_make_local(problem, options, n_ranks, &c));
    *out = (norma_layer_estimate){.solver = c.solver,
                                  .n_rows = c.n_rows,
                                  .n_minimum = c.n_minimum,
                                  .grid_rows = c.grid.n_rows,
                                  .grid_columns = c.grid.n_columns,
                                  .n_idle = n_ranks - c.grid.n_rows * c.grid.n_columns,
                                  .bytes = c.bytes,
                                  .flops = c.flops,
                                  .iterations = c.iterations};
    return NORMA_OK;
}
