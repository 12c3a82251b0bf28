#include "mpi/krylov/lbfgs.h"
#include "mpi/layer/solver.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/dense.h"
#include "mpi/system/svd.h"
#include "src/base/mem.h"

#include <math.h>

/* A residual this many times what rounding x leaves is no exact answer's. */
#define TOLERATED 200

typedef struct work {
    const norma_system *system;
    norma_svd *svd;            /* NULL: not preconditioned */
    int64_t n, first, n_share; /* equations; features of this rank */
    double *x;                 /* [n_share] */
    double *residual;          /* [n] */
    double *gradient;          /* [n_share] */
    double *projected;         /* [k]: U' rhs; preconditioned only */
    double *weights;           /* [k]: 1 / sigma, 0 beyond the rank; preconditioned only */
} work;

static void apply(void *context, const double *x, double *y)
{
    const work *w = context;
    norma_product_apply(w->system->product, NORMA_PRODUCT_SYSTEM, x, w->svd ? w->residual : y);
    if (w->svd)
        norma_svd_project(w->svd, w->residual, y);
}

static void apply_transpose(void *context, const double *y, double *x)
{
    const work *w = context;
    if (w->svd)
        norma_svd_expand(w->svd, y, w->residual);
    norma_product_apply_transpose_local(w->system->product, NORMA_PRODUCT_SYSTEM,
                                        w->svd ? w->residual : y, x);
}

/* U' S x = U' rhs, its equations weighted by 1 / sigma. */
static norma_status precondition(work *w, norma_lbfgs_problem *p)
{
    int64_t k = norma_svd_n_values_local(w->svd);
    const double *sigma = norma_svd_values_local(w->svd);
    norma_status status = NORMA_ALLOC(w->projected, k);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(w->weights, k);
    NORMA_TRY(norma_agree(w->system->comm, status));
    norma_svd_project(w->svd, w->system->rhs, w->projected);
    for (int64_t e = 0; e < k; e++) {
        bool counts = e < norma_svd_rank_local(w->svd);
        w->weights[e] = counts ? 1 / sigma[e] : 0;
        w->projected[e] = counts ? w->projected[e] : 0;
    }
    p->n_rows = k;
    p->rhs = w->projected;
    p->weights = w->weights;
    p->norm = sigma[0];
    p->rhs_error = p->solvable ? 0 : norma_replicated_norm_local(w->system->rhs, w->n);
    p->solvable = true;
    return NORMA_OK;
}

static norma_status start_solved(work *w)
{
    double *all = NULL;
    int64_t n_features = norma_product_n_features_local(w->system->product);
    NORMA_TRY(norma_agree(w->system->comm, NORMA_ALLOC(all, n_features)));
    norma_svd_apply_inverse(w->svd, w->system->rhs, all);
    for (int64_t t = 0; t < w->n_share; t++)
        w->x[t] = all[w->first + t];
    NORMA_FREE(all);
    return NORMA_OK;
}

static norma_status minimize(work *w, bool solved, norma_layer_solution *solution)
{
    const norma_system *s = w->system;
    norma_lbfgs_result result;
    norma_lbfgs_problem p = {
        .comm = s->comm,
        .n_rows = w->n,
        .n_share = w->n_share,
        .context = w,
        .apply = apply,
        .apply_transpose = apply_transpose,
        .rhs = s->rhs,
        .solvable = norma_product_n_features_local(s->product) >= w->n,
        .single = s->single,
        .history = s->history,
        .max_iterations = s->max_iterations,
        .name = norma_solver_name(solution->solver),
    };
    double start = norma_progress_clock_local();
    if (w->svd)
        NORMA_TRY(precondition(w, &p));
    if (solved)
        NORMA_TRY(start_solved(w));
    norma_product_set_single_local(s->product, s->single);
    norma_status status = norma_lbfgs_minimize(&p, w->x, &result);
    norma_product_set_single_local(s->product, false);
    NORMA_TRY(norma_agree(s->comm, status));
    solution->iterations = result.iterations;
    solution->stopping = result.stopping;
    solution->seconds += norma_progress_clock_local() - start;
    return NORMA_OK;
}

/* Singular values, and how good the answer is; it is one of least squares where there are too few
 * features, or where it is stationary and not exact. */
static norma_status measure(work *w, norma_layer_solution *solution)
{
    const norma_system *s = w->system;
    double sigma_max = w->svd ? solution->sigma_max : NAN;
    double sigma_min = NAN;
    double error = NAN;
    double start = norma_progress_clock_local();
    if (!w->svd)
        NORMA_TRY(norma_system_condition(s, &sigma_max, &sigma_min, &error, solution));
    else
        NORMA_TRY(norma_svd_measure_rows(w->svd, solution));
    solution->seconds_condition += norma_progress_clock_local() - start;

    double roundoff = s->single ? 0x1p-24 : NORMA_ROUNDOFF;
    double size = norma_system_residual(s, w->x, w->residual);
    double gradient = norma_system_gradient(s, w->residual, w->gradient);
    double squares = norma_replicated_dot_local(w->x, w->x, w->n_share);
    MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, s->comm);
    bool exact = size <= TOLERATED * 5 * roundoff * sigma_max * sqrt(squares);
    bool deficient = w->svd && norma_svd_rank_local(w->svd) < w->n;
    bool stationary = gradient <= TOLERATED * 5 * roundoff * sigma_max * size;
    solution->least_squares =
        norma_product_n_features_local(s->product) < w->n || (!exact && (deficient || stationary));
    if (solution->least_squares && size > 0)
        solution->relative_gradient = gradient / (sigma_max * size);
    return NORMA_OK;
}

static norma_status allocate(work *w)
{
    NORMA_TRY(NORMA_CALLOC(w->x, w->n_share));
    NORMA_TRY(NORMA_ALLOC(w->gradient, w->n_share));
    return NORMA_ALLOC(w->residual, w->n);
}

static norma_status solve(const norma_system *system, bool preconditioned, bool solved,
                          double *gamma, norma_layer_solution *solution)
{
    work w = {.system = system, .n = system->rule->n_system};
    w.n_share = norma_product_share_local(system->product, &w.first);
    int64_t n_features = norma_product_n_features_local(system->product);
    double flops = 0;
    norma_status status = norma_agree(system->comm, allocate(&w));
    NORMA_GOTO(status, status);
    MPI_Comm_size(system->comm, &solution->grid_columns);
    solution->grid_rows = 1;
    solution->n_idle = 0;
    if (preconditioned) {
        NORMA_GOTO(status, norma_svd_create(system, solution, &w.svd));
        if (norma_svd_rank_local(w.svd) == 0)
            NORMA_GOTO(status, norma_system_singular_local(system, INFINITY));
        flops = norma_dense_flops_local(w.n, n_features, true);
    }
    NORMA_GOTO(status, minimize(&w, solved, solution));
    flops += (double)solution->iterations * 2 * norma_product_flops_local(system->product);
    solution->gflops = flops / solution->seconds / 1e9;
    NORMA_GOTO(status, measure(&w, solution));
    norma_product_gather(system->product, w.x, gamma);
done:
    norma_svd_destroy(&w.svd);
    NORMA_FREE(w.x);
    NORMA_FREE(w.residual);
    NORMA_FREE(w.gradient);
    NORMA_FREE(w.projected);
    NORMA_FREE(w.weights);
    return status;
}

norma_status norma_solve_lbfgs(const norma_system *system, double *gamma,
                               norma_layer_solution *solution)
{
    return solve(system, false, false, gamma, solution);
}

norma_status norma_solve_lbfgs_svd(const norma_system *system, double *gamma,
                                   norma_layer_solution *solution)
{
    return solve(system, true, false, gamma, solution);
}

norma_status norma_solve_lbfgs_solved(const norma_system *system, double *gamma,
                                      norma_layer_solution *solution)
{
    return solve(system, true, true, gamma, solution);
}
