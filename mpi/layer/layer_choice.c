#include "mpi/layer/layer_choice.h"

#include "mpi/krylov/lbfgs.h"
#include "mpi/krylov/product.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_BLOCK 64
#define MOST_ITERATIONS 1000000
/* From this excess on `auto` takes krylov: the system is well conditioned and every feature takes
 * part. */
#define KRYLOV_EXCESS 0.05
/* From this many equations on `auto` takes mixed before lu: below, the condition numbers cost more
 * than faster factors save. */
#define MIXED_FROM 12000

#define LBFGS_HISTORY 10

/* Room for systems far worse than those of independent entries. */
static int64_t default_limit(int64_t n_features, int64_t n_system)
{
    int64_t limit = 1000 + 20 * norma_solver_size_iterations_local(n_features, n_system);
    return limit < MOST_ITERATIONS ? limit : MOST_ITERATIONS;
}

/* Fills everything that depends on the solver, the weights being stored or not as c says;
 * NORMA_LIMIT when it cannot hold its matrix. */
static norma_status expect_kept(const norma_layer_problem *problem,
                                const norma_solver_options *options, int n_ranks,
                                norma_solver solver, norma_layer_choice *c)
{
    double n = (double)norma_khatri_rao_n_rows(&problem->shape);
    const norma_solver_descriptor *d = norma_solver_describe(solver);
    bool leading = d->square && problem->n_features > c->n_system;
    c->solver = solver;
    c->mode.single = d->single_products || options->single;
    c->n_used = leading ? c->n_system : problem->n_features;
    c->measure_steps = default_limit(c->n_used, c->n_system);
    c->max_iterations = c->measure_steps;
    if (d->most_iterations > 0 && c->max_iterations > d->most_iterations)
        c->max_iterations = d->most_iterations;
    if (options->max_iterations > 0)
        c->max_iterations = options->max_iterations;
    /* Rule, operator, gamma1, right-hand side, and what Lanczos and the judgement work with. */
    c->bytes = norma_width_rule_bytes(problem->width, problem->residual, &problem->shape) +
               norma_product_bytes_local(&problem->shape, c->n_used, n_ranks, &c->mode) +
               8 * ((double)problem->n_features + (double)c->n_used + 10 * n);
    return d->size(problem, options, n_ranks, c);
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

static norma_status check_options(const norma_solver_options *options)
{
    if (options->history < 0 || options->history > NORMA_LBFGS_MOST_HISTORY)
        return NORMA_FAIL(NORMA_CONFIG, "L-BFGS keeps 1 to %d steps, not %lld",
                          NORMA_LBFGS_MOST_HISTORY, (long long)options->history);
    const norma_solver_descriptor *d = norma_solver_describe(options->solver);
    char names[256];
    if (options->single && !d->single)
        return NORMA_FAIL(NORMA_CONFIG, "%s does not compute in single precision: only %s do",
                          d->name,
                          norma_names_join(&norma_solver_single_names, names, sizeof names));
    if (options->history > 0 && !d->history)
        return NORMA_FAIL(NORMA_CONFIG, "%s has no history: only %s do", d->name,
                          norma_names_join(&norma_solver_history_names, names, sizeof names));
    return NORMA_OK;
}

norma_status norma_layer_choice_make_local(const norma_layer_problem *problem,
                                           const norma_solver_options *options, int n_ranks,
                                           norma_layer_choice *out)
{
    norma_layer_choice c = {.block_size = options->block_size,
                            .history = options->history > 0 ? options->history : LBFGS_HISTORY};
    char names[256];
    NORMA_TRY(check_options(options));
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
    if (norma_solver_describe(options->solver)->square && problem->n_features < c.n_system)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s needs as many features as equations: %lld features, %lld equations "
                          "(%s rule); %s solve such a layer in least squares",
                          norma_solver_name(options->solver), (long long)problem->n_features,
                          (long long)c.n_system, norma_width_name(problem->width),
                          norma_names_join(&norma_solver_least_squares_names, names, sizeof names));
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
