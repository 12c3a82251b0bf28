#include "mpi/plan/expect.h"

#include "mpi/layer/layer_choice.h"
#include "mpi/plan/traffic.h"
#include "mpi/system/dense.h"

#include <math.h>

/*
 * Shares of the rates that stages reach, measured on one core with AVX-512; `norma bench` measures
 * those marked with its name for them. A half is the size at which a stage reaches half of its
 * best.
 */
static const double factor_part = 0.97;    /* of dgemm, sgemm: large factorizations (lu, mixed) */
static const double factor_half = 550;     /* equations, times the square root of the ranks */
static const double product_part = 0.72;   /* of dgemm: structured products in FP64 */
static const double iteration_part = 0.85; /* of sgemm: structured products in FP32 (krylov) */
static const double iteration_lanes = 16;  /* channels that those take together */
static const double solve_part = 0.5;      /* of dgemv: triangular solves */
static const double qr_part = 0.68;        /* of dgemm: QR factors, at best */
static const double qr_half = 600;         /* equations */
static const double svd_part = 0.3;        /* of dgemm: dgesvd while the matrix is in cache */
static const double svd_half = 2000;       /* equations: half of that, beyond the cache */
static const double entry_flops = 250;     /* of dgemm: assembling one entry (assembly) */
static const double normal_flops = 150;    /* of dgemm: drawing one weight */
static const double evaluation_part = 0.7; /* of dgemm: the source network (evaluation-double) */
static const double evaluation_more = 1.1; /* target, bounds and comparison beside it, times */

/* Steps of Lanczos for the largest singular value of a square or nearly square system, and for the
 * smallest by solves: squares are easy, excess makes the spectrum's end dense. */
static const double steps_largest = 50;
static const double steps_smallest = 8;
static const double steps_smallest_wide = 24;

/* Share of LAPACK's rate that ScaLAPACK reaches on more than one rank (qr). */
static const double parallel_part = 0.7;

/* Iterations of krylov for condition numbers, over those for the answer, on the average: small
 * systems need few or none, from c = 36 on (3 x 3, excess 0.1) two fifths to two thirds. */
static const double unsettled = 0.3;

/* The same of chebyshev, which leaves them all to a process of their own. */
static const double spectra_chebyshev = 1.0;
static const double spectra_chebyshev_closed = 2.4;

/* Solves and products of an inversion by mixed to the accuracy of condition numbers. */
static const double solves_mixed = 3.5;

/* Everything that an estimate depends on. */
typedef struct estimate {
    norma_layer_choice choice;
    const norma_rates *rates;
    double n, c1;      /* equations, features in use */
    double n_ranks;    /* all */
    double n_active;   /* of the grid */
    double product;    /* seconds of one structured product in FP64 */
    double solve;      /* seconds of one pair of triangular solves */
    bool wide, closed; /* at least as many features as equations; the rule has a closing row */
} estimate;

static double largest_singular_value(const estimate *e)
{
    return steps_largest * 2 * e->product;
}

/* Once, or twice where the closing row has to be taken out. */
static double n_spectra(const estimate *e)
{
    return e->closed ? 2 : 1;
}

/* Seconds of messages in a factorization that takes `compute` by itself, and in a solve. */
static void expect_messages(const estimate *e, double compute, double *factor, double *solve)
{
    norma_traffic t = {0};
    norma_traffic_layout layout = {.n = e->choice.n_system,
                                   .block = e->choice.block_size,
                                   .grid = e->choice.grid,
                                   .per_node = e->rates->per_node,
                                   .single = e->choice.solver == NORMA_SOLVER_MIXED,
                                   .network = e->rates->network};
    norma_traffic_factor_local(&layout, &t);
    *factor = fmax(0, t.seconds[NORMA_TRAFFIC_SEND] - compute);
    for (int k = NORMA_TRAFFIC_SEND + 1; k < NORMA_N_TRAFFIC; k++)
        *factor += t.seconds[k];
    t = (norma_traffic){0};
    norma_traffic_solve_local(&layout, &t);
    *solve = t.seconds[NORMA_TRAFFIC_BCAST] + t.seconds[NORMA_TRAFFIC_REDUCE];
}

static double pass_messages(const norma_layer_problem *problem, const estimate *e)
{
    norma_traffic t = {0};
    norma_traffic_pass_local(norma_khatri_rao_n_rows(&problem->shape), (int)e->n_ranks,
                             e->rates->network, &t);
    return t.seconds[NORMA_TRAFFIC_ALLREDUCE];
}

static void expect_direct(const estimate *e, norma_expected *out)
{
    double messages = 0;
    double of_solve = 0;
    bool mixed = e->choice.solver == NORMA_SOLVER_MIXED;
    double rate = mixed ? e->rates->sgemm : e->rates->dgemm;
    double reached = factor_part * e->n / (e->n + factor_half * sqrt(e->n_active));
    double solves = mixed ? solves_mixed : 1;
    double steps = 1 + (double)e->choice.iterations;
    double compute = 2 * pow(e->n, 3) / 3 / (rate * reached * e->n_active);
    expect_messages(e, compute, &messages, &of_solve);
    double solve = e->solve + of_solve;
    out->assembly = e->n * e->n * entry_flops / (e->rates->dgemm * e->n_active);
    out->solution = compute + messages + steps * (solve + e->product);
    out->condition =
        n_spectra(e) * (largest_singular_value(e) +
                        2 * steps_smallest * (solves * solve + (mixed ? solves * e->product : 0)));
}

static void expect_qr(const estimate *e, norma_expected *out)
{
    double reached = qr_part * e->n / (e->n + qr_half) * (e->n_active > 1 ? parallel_part : 1);
    double fewer = fmin(e->n, e->c1);
    double steps = e->n == e->c1 ? steps_smallest : steps_smallest_wide;
    out->assembly = e->n * e->c1 * entry_flops / (e->rates->dgemm * e->n_active);
    out->solution = e->choice.flops / (e->rates->dgemm * reached * e->n_active);
    out->solution += 3 * (2 * e->solve + 2 * e->product);
    out->condition = n_spectra(e) *
                     (largest_singular_value(e) + steps * e->solve * fewer * fewer / (e->n * e->n));
}

static void expect_svd(const estimate *e, norma_expected *out)
{
    double fewer = fmin(e->n, e->c1);
    double reached = svd_part / (1 + fewer / svd_half);
    double without_vectors = 8.0 / 3 / 22;
    double rate = e->rates->dgemm * e->n_active;
    out->assembly = n_spectra(e) * e->n * e->c1 * entry_flops / rate;
    out->solution = e->choice.flops / (reached * rate) + 4 * e->product;
    out->condition = e->closed ? without_vectors * e->choice.flops / (reached * rate) : 0;
}

static void expect_krylov(const norma_layer_problem *problem, const estimate *e,
                          norma_expected *out)
{
    double width = (double)norma_khatri_rao_width_first(&problem->shape);
    double filled = width / (ceil(width / iteration_lanes) * iteration_lanes);
    double numbers = width + (double)norma_khatri_rao_width_second(&problem->shape);
    double iteration = 2 * norma_khatri_rao_flops(&problem->shape, e->choice.n_used) /
                       (e->rates->sgemm * iteration_part * filled * e->n_ranks);
    iteration += pass_messages(problem, e) + (8 * e->n + 8 * e->c1 / e->n_ranks) / e->rates->dgemv;
    if (e->choice.mode.regenerated)
        iteration += normal_flops * numbers * e->c1 / (e->rates->dgemm * e->n_ranks);
    /* The right-hand side of a closed system has the last word of single precision, and its
     * singular values are found anew, with and without the closing row. */
    double passes = e->closed ? 2.2 : 1;
    double spectra = e->closed ? 2 * 1.7 : unsettled;
    if (e->choice.solver == NORMA_SOLVER_CHEBYSHEV)
        spectra = e->closed ? spectra_chebyshev_closed : spectra_chebyshev;
    out->assembly = 3 * normal_flops * numbers * e->c1 / (e->rates->dgemm * e->n_ranks);
    out->solution = passes * (double)e->choice.iterations * iteration;
    out->condition = spectra * (double)e->choice.iterations * iteration;
}

/* Iterations of L-BFGS, in either precision: two products, a twentieth for residuals made anew, and
 * passes over what it keeps; with an svd its left factor twice. */
static double iterations_of_lbfgs(const norma_solver_options *options, const estimate *e)
{
    double kept = 2 * (double)e->choice.history + 1;
    double speed =
        options->single ? e->rates->sgemm * iteration_part : e->rates->dgemm * product_part;
    double iteration = 2.05 * e->product * e->rates->dgemm * product_part / speed;
    iteration += 4 * kept * e->c1 / e->n_ranks / e->rates->dgemv;
    if (e->choice.solver != NORMA_SOLVER_LBFGS)
        iteration += 2 * e->solve;
    return (double)e->choice.iterations * iteration;
}

static void expect_lbfgs(const norma_layer_problem *problem, const norma_solver_options *options,
                         const estimate *e, norma_expected *out)
{
    double numbers = (double)norma_khatri_rao_width_first(&problem->shape) +
                     (double)norma_khatri_rao_width_second(&problem->shape);
    if (e->choice.solver != NORMA_SOLVER_LBFGS)
        expect_svd(e, out);
    else {
        out->assembly = 3 * normal_flops * numbers * e->c1 / (e->rates->dgemm * e->n_ranks);
        out->condition = n_spectra(e) * 1.7 * (double)e->choice.iterations * 2 * e->product;
    }
    out->solution += iterations_of_lbfgs(options, e);
}

norma_status norma_expect_solve_local(const norma_layer_problem *problem,
                                      const norma_solver_options *options, int n_ranks,
                                      const norma_rates *rates, norma_expected *out)
{
    estimate e = {.rates = rates, .n_ranks = n_ranks};
    NORMA_TRY(norma_layer_choice_make_local(problem, options, n_ranks, &e.choice));
    e.n = (double)e.choice.n_system;
    e.c1 = (double)e.choice.n_used;
    e.n_active = (double)e.choice.grid.n_rows * e.choice.grid.n_columns;
    e.closed = e.choice.n_rows < e.choice.n_system;
    e.product = norma_khatri_rao_flops(&problem->shape, e.choice.n_used) /
                (rates->dgemm * product_part * n_ranks);
    e.product += pass_messages(problem, &e);
    e.solve = e.n * e.n / (rates->dgemv * solve_part * e.n_active);
    *out = (norma_expected){0, 0, 0, 0};
    switch (e.choice.solver) {
    case NORMA_SOLVER_KRYLOV:
    case NORMA_SOLVER_CHEBYSHEV:
        expect_krylov(problem, &e, out);
        break;
    case NORMA_SOLVER_QR:
        expect_qr(&e, out);
        break;
    case NORMA_SOLVER_SVD:
        expect_svd(&e, out);
        break;
    case NORMA_SOLVER_LBFGS:
    case NORMA_SOLVER_LBFGS_SVD:
    case NORMA_SOLVER_LBFGS_SOLVED:
        expect_lbfgs(problem, options, &e, out);
        break;
    default:
        expect_direct(&e, out);
    }
    /* The verdict of the min rule measures diag(gamma2) KR once more. */
    if (problem->width == NORMA_WIDTH_MIN)
        out->condition += largest_singular_value(&e);
    out->total = out->assembly + out->solution + out->condition;
    return NORMA_OK;
}

double norma_expect_evaluation_local(double n_flops, int n_ranks, const norma_rates *rates)
{
    return evaluation_more * n_flops / (evaluation_part * rates->dgemm * n_ranks);
}
