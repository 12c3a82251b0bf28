#include "mpi/agree.h"
#include "mpi/bidiagonal.h"
#include "mpi/condition.h"
#include "mpi/conjugate.h"
#include "mpi/progress.h"
#include "mpi/replicated.h"
#include "mpi/system.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Outer passes: each starts from the true residual of the one before. */
#define MAX_PASSES 8

typedef struct work {
    const norma_system *system;
    norma_product *product;
    norma_bidiagonal *process;
    norma_conjugate *fast; /* single precision */
    bool wide;             /* as many features as equations, or more: an exact answer is sought */
    int64_t n, n_share;    /* equations, features of this rank */
    double *x;             /* [n_share]: the answer */
    double *trial;         /* [n_share] */
    double *step;          /* [n_share]: a pass's correction */
    double *direction;     /* [n_share]: of LSQR */
    double *residual;      /* [n]: rhs - S trial */
    double rhs_norm;       /* ||rhs|| */
    double x_squares;      /* ||x||^2 */
    double trial_size;     /* ||residual|| */
    double gradient;       /* ||S' residual||; least squares only */
    double sigma_max, sigma_min; /* of the system, as the first pass saw them */
    bool is_singular;            /* the first pass met a direction that is nothing but rounding */
    bool settled;                /* and whether it saw them well */
    double seconds_condition;
    int64_t iterations;
} work;

static double sum_of_squares(const work *w, const double *x)
{
    double squares = norma_replicated_dot_local(x, x, w->n_share);
    MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, w->system->comm);
    return squares;
}

/* Residual, its norm, and the gradient, of x. Overwrites step. */
static void measure(work *w, const double *x)
{
    w->trial_size = norma_system_residual(w->system, x, w->residual);
    w->gradient = w->wide ? 0 : norma_system_gradient(w->system, w->residual, w->step);
}

/* What rounding x leaves of an exact answer; the floor is twice that. */
static double wanted_residual(const work *w)
{
    return 5 * NORMA_ROUNDOFF * w->sigma_max * sqrt(w->x_squares);
}

static double wanted_gradient(const work *w)
{
    return 5 * w->sigma_max * (NORMA_ROUNDOFF * w->trial_size + wanted_residual(w));
}

/* Whether x is as good as wanted, or within `factor` of it. */
static bool is_good(const work *w, double factor)
{
    return w->trial_size <= factor * wanted_residual(w) ||
           (!w->wide && w->gradient <= factor * wanted_gradient(w));
}

/* A pass of Craig's method: step = the minimum-norm solution of S step = residual, until the
 * residual it estimates is what rounding x leaves. */
static void run_craig(work *w)
{
    norma_bidiagonal *p = w->process;
    double norm = 0; /* a lower bound of ||S|| */
    double squares = w->x_squares;
    double z = -1;
    memset(w->step, 0, (size_t)w->n_share * sizeof *w->step);
    norma_bidiagonal_start_local(p, w->residual);
    while (p->beta > 0 && w->iterations < w->system->max_iterations) {
        double beta = p->beta;
        norma_bidiagonal_step(p);
        w->iterations++;
        norm = fmax(norm, hypot(p->alpha, p->beta));
        if (!(p->alpha > (double)w->n * DBL_EPSILON * norm)) /* no direction is left, or NaN */
            return;
        z *= -beta / p->alpha;
        norma_replicated_add_local(z, p->v, w->step, w->n_share);
        squares += z * z;
        if (p->beta * fabs(z) <= NORMA_ROUNDOFF * norm * sqrt(squares))
            return;
    }
}

/* A pass of LSQR: step minimizes ||S step - residual||, until its gradient, or the residual, is
 * what rounding leaves. */
static void run_lsqr(work *w)
{
    norma_bidiagonal *p = w->process;
    double norm = 0;
    double cosine = 0, sine = 0, rho = 1, rho_bar = 0;
    memset(w->step, 0, (size_t)w->n_share * sizeof *w->step);
    norma_bidiagonal_start_local(p, w->residual);
    double phi_bar = p->beta; /* the residual so far */
    for (int64_t k = 0; p->beta > 0 && w->iterations < w->system->max_iterations; k++) {
        norma_bidiagonal_step(p);
        w->iterations++;
        norm = fmax(norm, hypot(p->alpha, p->beta));
        if (!(p->alpha > (double)w->n * DBL_EPSILON * norm))
            return;
        if (k == 0) {
            memcpy(w->direction, p->v, (size_t)w->n_share * sizeof *p->v);
            rho_bar = p->alpha;
        } else {
            double ratio = sine * p->alpha / rho;
            for (int64_t t = 0; t < w->n_share; t++)
                w->direction[t] = p->v[t] - ratio * w->direction[t];
            rho_bar = -cosine * p->alpha;
            if (fabs(rho_bar) <= NORMA_ROUNDOFF * norm) /* the gradient is phi_bar |rho_bar| */
                return;
        }
        rho = hypot(rho_bar, p->beta);
        cosine = rho_bar / rho;
        sine = p->beta / rho;
        norma_replicated_add_local(cosine * phi_bar / rho, w->direction, w->step, w->n_share);
        phi_bar *= sine;
        if (phi_bar <= NORMA_ROUNDOFF * w->rhs_norm) /* <= u ||S|| ||x|| */
            return;
    }
}

/* Whether Craig's triangular factor, which is all of its condition, is singular: the x that it
 * gives is then huge, and excuses any residual. */
static bool sees_singular(const work *w)
{
    const norma_bidiagonal *p = w->process;
    if (!w->wide || p->n_links == 0)
        return w->wide;
    return norma_condition_smallest_link_local(p->links, p->n_links - 1) <=
           (double)w->n * DBL_EPSILON * norma_condition_largest_link_local(p->links, p->n_links);
}

/* Conjugate gradients in single precision; true when the answer is as good as wanted, else they
 * were in vain. */
static bool run_fast(work *w)
{
    norma_conjugate *fast = w->fast;
    norma_conjugate_run(fast, w->system->rhs);
    w->iterations += fast->iterations;
    if (!fast->done)
        return false;
    memcpy(w->x, fast->x, (size_t)w->n_share * sizeof *w->x);
    w->x_squares = sum_of_squares(w, w->x);
    w->sigma_max = fast->norm;
    measure(w, w->x);
    if (!is_good(w, 2))
        return false;
    /* The right-hand side of a closed system is its last axis alone: single precision may lose what
     * that has of the smallest singular value's direction. */
    w->settled = !w->system->rule->closed &&
                 norma_conjugate_condition_local(fast, &w->sigma_max, &w->sigma_min);
    return true;
}

/* Passes from the true residual, each kept if it makes that (or the gradient) smaller, until it is
 * as small as wanted or no longer halved. */
static void run_passes(work *w)
{
    double size = INFINITY;
    memcpy(w->residual, w->system->rhs, (size_t)w->n * sizeof *w->residual);
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        if (w->wide)
            run_craig(w);
        else
            run_lsqr(w);
        if (pass == 0) {
            w->is_singular = sees_singular(w);
            double start = norma_progress_clock_local();
            w->settled = norma_bidiagonal_settle(w->process, &w->sigma_max, &w->sigma_min);
            w->seconds_condition = norma_progress_clock_local() - start;
        }
        for (int64_t t = 0; t < w->n_share; t++)
            w->trial[t] = w->x[t] + w->step[t];
        double before = size;
        measure(w, w->trial);
        size = w->wide ? w->trial_size : w->gradient;
        if (!(size < before))
            break;
        memcpy(w->x, w->trial, (size_t)w->n_share * sizeof *w->x);
        w->x_squares = sum_of_squares(w, w->x);
        if (is_good(w, 1) || size > before / 2 || w->iterations >= w->system->max_iterations)
            break;
    }
    measure(w, w->x);
}

static norma_status judge(const work *w)
{
    if (w->is_singular)
        return norma_system_singular_local(w->system, INFINITY);
    if (is_good(w, 200))
        return NORMA_OK;
    bool limit = w->iterations >= w->system->max_iterations;
    bool exact = w->wide;
    return NORMA_FAIL(NORMA_NUMERIC,
                      "krylov %s after %lld iterations with a %s of %.3g where %.3g was wanted: %s",
                      limit ? "reached its limit" : "stagnated", (long long)w->iterations,
                      exact ? "residual" : "gradient", exact ? w->trial_size : w->gradient,
                      exact ? wanted_residual(w) : wanted_gradient(w),
                      exact
                          ? "try lu or more features; does the source leave an output channel zero?"
                          : "try more features");
}

/* Of the floor, ten times what rounding x leaves: the gamma2 of a closed system is found from its
 * solution, and scales errors of it. */
static norma_status allocate(work *w)
{
    NORMA_TRY(norma_bidiagonal_create_local(w->product, NORMA_PRODUCT_SYSTEM,
                                            w->system->max_iterations, &w->process));
    NORMA_TRY(norma_conjugate_create_local(w->product, NORMA_PRODUCT_SYSTEM,
                                           (w->system->max_iterations + 1) / 2,
                                           w->system->rule->closed ? 5 : 8, &w->fast));
    NORMA_TRY(NORMA_CALLOC(w->x, w->n_share));
    NORMA_TRY(NORMA_ALLOC(w->trial, w->n_share));
    NORMA_TRY(NORMA_ALLOC(w->step, w->n_share));
    NORMA_TRY(NORMA_ALLOC(w->direction, w->n_share));
    return NORMA_ALLOC(w->residual, w->n);
}

/* The iterations: from rhs to the judged x. */
static norma_status iterate(work *w, norma_layer_solution *solution)
{
    double start = norma_progress_clock_local();
    w->rhs_norm = norma_replicated_norm_local(w->system->rhs, w->n);
    if (w->rhs_norm > 0 && !run_fast(w)) { /* else x = 0 solves it */
        memset(w->x, 0, (size_t)w->n_share * sizeof *w->x);
        w->x_squares = 0;
        run_passes(w);
    }
    solution->seconds += norma_progress_clock_local() - start - w->seconds_condition;
    solution->iterations = w->iterations;
    solution->gflops =
        (double)w->iterations * 2 * norma_product_flops_local(w->product) / solution->seconds / 1e9;
    NORMA_TRY(judge(w));
    start = norma_progress_clock_local();
    if (!w->settled)
        w->sigma_max = NAN;
    NORMA_TRY(norma_system_condition(w->system, &w->sigma_max, &w->sigma_min, solution));
    solution->seconds_condition = w->seconds_condition + norma_progress_clock_local() - start;
    if (!w->wide && w->trial_size > 0)
        solution->relative_gradient = w->gradient / (w->sigma_max * w->trial_size);
    return NORMA_OK;
}

norma_status norma_solve_krylov(const norma_system *system, double *gamma,
                                norma_layer_solution *solution)
{
    int64_t first = 0;
    work w = {.system = system, .product = system->product, .n = system->rule->n_system};
    w.n_share = norma_product_share_local(w.product, &first);
    w.wide = norma_product_n_features_local(w.product) >= w.n;
    norma_status status = norma_agree(system->comm, allocate(&w));
    if (status == NORMA_OK)
        status = norma_agree(system->comm, iterate(&w, solution));
    if (status == NORMA_OK)
        norma_product_gather(w.product, w.x, gamma);
    MPI_Comm_size(system->comm, &solution->grid_columns);
    solution->grid_rows = 1;
    solution->n_idle = 0;
    norma_bidiagonal_destroy_local(&w.process);
    norma_conjugate_destroy_local(&w.fast);
    NORMA_FREE(w.x);
    NORMA_FREE(w.trial);
    NORMA_FREE(w.step);
    NORMA_FREE(w.direction);
    NORMA_FREE(w.residual);
    return status;
}
