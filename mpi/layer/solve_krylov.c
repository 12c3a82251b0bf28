#include "mpi/krylov/bidiagonal.h"
#include "mpi/krylov/condition.h"
#include "mpi/krylov/conjugate.h"
#include "mpi/layer/solver.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/answer.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Outer passes: each starts from the true residual of the one before. */
#define MAX_PASSES 8

typedef struct work {
    norma_answer answer;
    norma_product *product;
    norma_bidiagonal *process;
    norma_conjugate *fast; /* single precision */
    double *direction;     /* [n_share]: of LSQR */
    double rhs_norm;       /* ||rhs|| */
    int64_t max_iterations;
    bool is_singular; /* the first pass met a direction that is nothing but rounding */
    bool settled;     /* and whether it saw the extreme singular values well */
    double seconds_condition;
    int64_t iterations;
} work;

/* A pass of Craig's method: step = the minimum-norm solution of S step = residual, until the
 * residual it estimates is what rounding x leaves. */
static void run_craig(work *w)
{
    norma_answer *a = &w->answer;
    norma_bidiagonal *p = w->process;
    double norm = 0; /* a lower bound of ||S|| */
    double squares = a->x_squares;
    double z = -1;
    memset(a->step, 0, (size_t)a->n_share * sizeof *a->step);
    norma_bidiagonal_start_local(p, a->residual);
    while (p->beta > 0 && w->iterations < w->max_iterations) {
        double beta = p->beta;
        norma_bidiagonal_step(p);
        w->iterations++;
        norm = fmax(norm, hypot(p->alpha, p->beta));
        if (!(p->alpha > (double)a->n * DBL_EPSILON * norm)) /* no direction is left, or NaN */
            return;
        z *= -beta / p->alpha;
        norma_replicated_add_local(z, p->v, a->step, a->n_share);
        squares += z * z;
        if (p->beta * fabs(z) <= NORMA_ROUNDOFF * norm * sqrt(squares))
            return;
    }
}

/* A pass of LSQR: step minimizes ||S step - residual||, until its gradient, or the residual, is
 * what rounding leaves. */
static void run_lsqr(work *w)
{
    norma_answer *a = &w->answer;
    norma_bidiagonal *p = w->process;
    double norm = 0;
    double cosine = 0, sine = 0, rho = 1, rho_bar = 0;
    memset(a->step, 0, (size_t)a->n_share * sizeof *a->step);
    norma_bidiagonal_start_local(p, a->residual);
    double phi_bar = p->beta; /* the residual so far */
    for (int64_t k = 0; p->beta > 0 && w->iterations < w->max_iterations; k++) {
        norma_bidiagonal_step(p);
        w->iterations++;
        norm = fmax(norm, hypot(p->alpha, p->beta));
        if (!(p->alpha > (double)a->n * DBL_EPSILON * norm))
            return;
        if (k == 0) {
            memcpy(w->direction, p->v, (size_t)a->n_share * sizeof *p->v);
            rho_bar = p->alpha;
        } else {
            double ratio = sine * p->alpha / rho;
            for (int64_t t = 0; t < a->n_share; t++)
                w->direction[t] = p->v[t] - ratio * w->direction[t];
            rho_bar = -cosine * p->alpha;
            if (fabs(rho_bar) <= NORMA_ROUNDOFF * norm) /* the gradient is phi_bar |rho_bar| */
                return;
        }
        rho = hypot(rho_bar, p->beta);
        cosine = rho_bar / rho;
        sine = p->beta / rho;
        norma_replicated_add_local(cosine * phi_bar / rho, w->direction, a->step, a->n_share);
        phi_bar *= sine;
        if (phi_bar <= NORMA_ROUNDOFF * w->rhs_norm) /* <= u ||S|| ||x|| */
            return;
    }
}

/* True when Craig's triangular factor, whose condition is that of the system, is singular: its x
 * is then huge, and its rounding floor admits any residual. */
static bool sees_singular(const work *w)
{
    const norma_bidiagonal *p = w->process;
    if (!w->answer.wide || p->n_links == 0)
        return w->answer.wide;
    return norma_condition_smallest_link_local(p->links, p->n_links - 1) <=
           (double)w->answer.n * DBL_EPSILON *
               norma_condition_largest_link_local(p->links, p->n_links);
}

/* Conjugate gradients in single precision; true when the answer is as good as wanted, else they
 * were in vain. */
static bool run_fast(work *w)
{
    norma_conjugate *fast = w->fast;
    norma_answer *a = &w->answer;
    norma_conjugate_run(fast, a->system->rhs);
    w->iterations += fast->iterations;
    if (!fast->done)
        return false;
    norma_answer_accept(a, fast->x);
    a->sigma_max = fast->norm;
    norma_answer_measure(a, a->x);
    if (!norma_answer_is_good_local(a, 2))
        return false;
    /* The right-hand side of a closed system is its last axis alone: single precision may lose what
     * that has of the smallest singular value's direction. */
    double start = norma_progress_clock_local();
    w->settled = a->system->condition != NORMA_CONDITION_NONE && !a->system->rule->closed &&
                 norma_conjugate_settle(fast, norma_system_accuracy_local(a->system).settled,
                                        &a->sigma_max, &a->sigma_min, &a->sigma_error);
    w->seconds_condition = norma_progress_clock_local() - start;
    return true;
}

/* Passes from the true residual, each kept if it makes that (or the gradient) smaller, until it is
 * as small as wanted or no longer halved. */
static void run_passes(work *w)
{
    norma_answer *a = &w->answer;
    double error = INFINITY;
    memcpy(a->residual, a->system->rhs, (size_t)a->n * sizeof *a->residual);
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        if (a->wide)
            run_craig(w);
        else
            run_lsqr(w);
        if (pass == 0) {
            w->is_singular = sees_singular(w);
            double start = norma_progress_clock_local();
            w->settled = norma_bidiagonal_settle(w->process, norma_system_accuracy_local(a->system),
                                                 &a->sigma_max, &a->sigma_min, &a->sigma_error);
            w->seconds_condition = norma_progress_clock_local() - start;
        }
        for (int64_t t = 0; t < a->n_share; t++)
            a->trial[t] = a->x[t] + a->step[t];
        double before = error;
        norma_answer_measure(a, a->trial);
        error = norma_answer_error_local(a);
        if (!(error < before))
            break;
        norma_answer_accept(a, a->trial);
        if (norma_answer_is_good_local(a, 1) || error > before / 2 ||
            w->iterations >= w->max_iterations)
            break;
    }
    norma_answer_measure(a, a->x);
}

static norma_status judge(const work *w)
{
    bool limit = w->iterations >= w->max_iterations;
    if (w->is_singular)
        return norma_system_singular_local(w->answer.system, INFINITY);
    if (norma_answer_is_good_local(&w->answer, 200))
        return NORMA_OK;
    return norma_answer_missed_local(
        &w->answer, "krylov", limit ? "reached --max-iterations" : "stagnated", w->iterations,
        "try lu or more features; does the source leave an output channel zero?",
        "try more features");
}

/* Of the floor, ten times what rounding x leaves: the gamma2 of a closed system is found from its
 * solution, and scales errors of it. */
static norma_status allocate(const norma_system *system, work *w)
{
    NORMA_TRY(norma_answer_init_local(system, &w->answer));
    NORMA_TRY(norma_bidiagonal_create_local(w->product, NORMA_PRODUCT_SYSTEM, w->max_iterations,
                                            &w->process));
    NORMA_TRY(norma_conjugate_create_local(w->product, NORMA_PRODUCT_SYSTEM,
                                           (w->max_iterations + 1) / 2,
                                           system->rule->closed ? 5 : 8, &w->fast));
    return NORMA_ALLOC(w->direction, w->answer.n_share);
}

/* The iterations: from rhs to the judged x. */
static norma_status iterate(work *w, norma_layer_solution *solution)
{
    norma_answer *a = &w->answer;
    double start = norma_progress_clock_local();
    w->rhs_norm = norma_replicated_norm_local(a->system->rhs, a->n);
    if (w->rhs_norm > 0 && !run_fast(w)) { /* else x = 0 solves it */
        memset(a->x, 0, (size_t)a->n_share * sizeof *a->x);
        a->x_squares = 0;
        run_passes(w);
    }
    solution->seconds += norma_progress_clock_local() - start - w->seconds_condition;
    solution->seconds_condition = w->seconds_condition;
    solution->iterations = w->iterations;
    solution->gflops =
        (double)w->iterations * 2 * norma_product_flops_local(w->product) / solution->seconds / 1e9;
    NORMA_TRY(judge(w));
    return norma_answer_describe(a, w->settled, solution);
}

norma_status norma_solve_krylov(const norma_system *system, double *gamma,
                                norma_layer_solution *solution)
{
    work w = {.product = system->product, .max_iterations = system->max_iterations};
    norma_status status = norma_agree(system->comm, allocate(system, &w));
    if (status == NORMA_OK)
        status = norma_agree(system->comm, iterate(&w, solution));
    norma_answer_deliver(&w.answer, status, gamma, solution);
    norma_bidiagonal_destroy_local(&w.process);
    norma_conjugate_destroy_local(&w.fast);
    norma_answer_clear_local(&w.answer);
    NORMA_FREE(w.direction);
    return status;
}
