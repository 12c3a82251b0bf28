#include "mpi/layer/solver_time.h"

#include <math.h>

/*
 * Shares of the rates that stages reach, measured on one core with AVX-512; `norma bench` measures
 * those marked with its name for them. A half is the size at which a stage reaches half of its
 * best.
 */
static const double factor_part = 0.97;    /* of dgemm, sgemm: large factorizations (lu, mixed) */
static const double factor_half = 550;     /* equations, times the square root of the ranks */
static const double iteration_part = 0.85; /* of sgemm: structured products in FP32 (krylov) */
static const double iteration_lanes = 16;  /* channels that those take together */
static const double qr_part = 0.68;        /* of dgemm: QR factors, at best */
static const double qr_half = 600;         /* equations */
static const double svd_part = 0.3;        /* of dgemm: dgesvd while the matrix is in cache */
static const double svd_half = 2000;       /* equations: half of that, beyond the cache */
static const double divide_part = 0.8;     /* of dgemm: divide and conquer on one rank */
static const double divide_half = 6000;    /* equations: half of that, beyond the cache */
static const double entry_flops = 250;     /* of dgemm: assembling one entry (assembly) */
static const double normal_flops = 150;    /* of dgemm: drawing one weight */

/* Steps of Lanczos for the largest singular value of a square or nearly square system, and for the
 * smallest by solves: squares are easy, excess makes the spectrum's end dense. */
static const double steps_largest = 50;
static const double steps_smallest = 8;
static const double steps_smallest_wide = 24;

/* The same of estimates, which measure the largest alike where none is asked for. */
static const double steps_rough = 9;
static const double steps_smallest_rough = 4;
static const double steps_smallest_wide_rough = 10;

/* Share of LAPACK's rate that ScaLAPACK reaches on more than one rank (qr). */
static const double parallel_part = 0.7;

/* Iterations of krylov for condition numbers, over those for the answer, on the average: small
 * systems need few or none, from c = 36 on (3 x 3, excess 0.1) two fifths to two thirds. */
static const double unsettled = 0.3;

/* The same of chebyshev, which leaves them all to a process of their own. */
static const double spectra_chebyshev = 1.0;
static const double spectra_chebyshev_closed = 2.4;

/* The part of those that estimates take. */
static const double rough_spectra = 0.4;

/* Solves and products of an inversion by mixed to the accuracy of condition numbers. */
static const double solves_mixed = 3.5;

double norma_solver_time_largest_local(const norma_solver_price *e)
{
    double steps = e->options->condition == NORMA_CONDITION_FULL ? steps_largest : steps_rough;
    return steps * 2 * e->product;
}

/* Steps for the smallest singular value. */
static double smallest(const norma_solver_price *e, bool wide)
{
    if (e->options->condition == NORMA_CONDITION_NONE)
        return 0;
    if (e->options->condition == NORMA_CONDITION_ESTIMATE)
        return wide ? steps_smallest_wide_rough : steps_smallest_rough;
    return wide ? steps_smallest_wide : steps_smallest;
}

/* Once, or twice where the closing row has to be taken out. */
static double n_spectra(const norma_solver_price *e)
{
    return e->closed && e->options->condition != NORMA_CONDITION_NONE ? 2 : 1;
}

static void time_direct(const norma_solver_price *e, bool mixed, norma_solver_seconds *out)
{
    double rate = mixed ? e->sgemm : e->dgemm;
    double reached = factor_part * e->n / (e->n + factor_half * sqrt(e->n_active));
    double solves = mixed && e->options->condition == NORMA_CONDITION_FULL ? solves_mixed : 1;
    double steps = 1 + (double)e->choice->iterations;
    double compute = 2 * pow(e->n, 3) / 3 / (rate * reached * e->n_active);
    double messages = e->factor_messages(e->messages, mixed, compute);
    double solve = e->solve + e->solve_messages(e->messages, mixed);
    out->assembly = e->n * e->n * entry_flops / (e->dgemm * e->n_active);
    out->solution = compute + messages + steps * (solve + e->product);
    out->condition = n_spectra(e) * (norma_solver_time_largest_local(e) +
                                     2 * smallest(e, false) *
                                         (solves * solve + (solves > 1 ? solves * e->product : 0)));
}

void norma_solver_time_lu(const norma_solver_price *e, norma_solver_seconds *out)
{
    time_direct(e, false, out);
}

void norma_solver_time_mixed(const norma_solver_price *e, norma_solver_seconds *out)
{
    time_direct(e, true, out);
}

void norma_solver_time_qr(const norma_solver_price *e, norma_solver_seconds *out)
{
    double reached = qr_part * e->n / (e->n + qr_half) * (e->n_active > 1 ? parallel_part : 1);
    double fewer = fmin(e->n, e->c1);
    double steps = smallest(e, e->n != e->c1);
    out->assembly = e->n * e->c1 * entry_flops / (e->dgemm * e->n_active);
    out->solution = e->choice->flops / (e->dgemm * reached * e->n_active);
    out->solution += 3 * (2 * e->solve + 2 * e->product);
    out->condition = n_spectra(e) * (norma_solver_time_largest_local(e) +
                                     steps * e->solve * fewer * fewer / (e->n * e->n));
}

void norma_solver_time_svd(const norma_solver_price *e, norma_solver_seconds *out)
{
    double fewer = fmin(e->n, e->c1);
    double reached = svd_part / (1 + fewer / svd_half);
    double divided = divide_part / (1 + fewer / divide_half);
    double without_vectors = 8.0 / 3 / 22;
    double rate = e->dgemm * e->n_active;
    out->assembly = n_spectra(e) * e->n * e->c1 * entry_flops / rate;
    out->solution = e->choice->flops / ((e->n_active > 1 ? reached : divided) * rate);
    out->solution += 4 * e->product;
    if (e->closed && e->options->condition == NORMA_CONDITION_FULL)
        out->condition = without_vectors * e->choice->flops / (reached * rate);
    else if (e->closed)
        out->condition = norma_solver_time_largest_local(e) + smallest(e, false) * 2 * e->solve;
}

/* `spectra` processes of as many iterations measure singular values. */
static void time_products(const norma_solver_price *e, double spectra, norma_solver_seconds *out)
{
    double width = (double)norma_khatri_rao_width_first(&e->problem->shape);
    double filled = width / (ceil(width / iteration_lanes) * iteration_lanes);
    double numbers = width + (double)norma_khatri_rao_width_second(&e->problem->shape);
    double iteration = 2 * norma_khatri_rao_flops(&e->problem->shape, e->choice->n_used) /
                       (e->sgemm * iteration_part * filled * e->n_ranks);
    iteration += e->pass + (8 * e->n + 8 * e->c1 / e->n_ranks) / e->dgemv;
    if (e->choice->mode.regenerated)
        iteration += normal_flops * numbers * e->c1 / (e->dgemm * e->n_ranks);
    /* The right-hand side of a closed system has the last word of single precision, and its
     * singular values are found anew, with and without the closing row. */
    double passes = e->closed ? 2.2 : 1;
    out->assembly = 3 * normal_flops * numbers * e->c1 / (e->dgemm * e->n_ranks);
    out->solution = passes * (double)e->choice->iterations * iteration;
    if (e->options->condition == NORMA_CONDITION_ESTIMATE)
        spectra *= rough_spectra;
    if (e->options->condition != NORMA_CONDITION_NONE)
        out->condition = spectra * (double)e->choice->iterations * iteration;
}

void norma_solver_time_krylov(const norma_solver_price *e, norma_solver_seconds *out)
{
    time_products(e, e->closed ? 2 * 1.7 : unsettled, out);
}

void norma_solver_time_chebyshev(const norma_solver_price *e, norma_solver_seconds *out)
{
    time_products(e, e->closed ? spectra_chebyshev_closed : spectra_chebyshev, out);
}

/* Iterations of L-BFGS, in either precision: two products, a twentieth for residuals made anew, and
 * passes over its history; preconditioned, two products with the left singular
 * vectors. */
static double iterations_of_lbfgs(const norma_solver_price *e, bool preconditioned)
{
    double kept = 2 * (double)e->choice->history + 1;
    double speed =
        e->options->single ? e->sgemm * iteration_part : e->dgemm * NORMA_SOLVER_PRODUCT_PART;
    double iteration = 2.05 * e->product * e->dgemm * NORMA_SOLVER_PRODUCT_PART / speed;
    iteration += 4 * kept * e->c1 / e->n_ranks / e->dgemv;
    if (preconditioned)
        iteration += 2 * e->solve;
    return (double)e->choice->iterations * iteration;
}

void norma_solver_time_lbfgs(const norma_solver_price *e, norma_solver_seconds *out)
{
    double numbers = (double)norma_khatri_rao_width_first(&e->problem->shape) +
                     (double)norma_khatri_rao_width_second(&e->problem->shape);
    out->assembly = 3 * normal_flops * numbers * e->c1 / (e->dgemm * e->n_ranks);
    if (e->options->condition == NORMA_CONDITION_NONE)
        out->condition = norma_solver_time_largest_local(e);
    else
        out->condition = n_spectra(e) * 1.7 * (double)e->choice->iterations * 2 * e->product *
                         (e->options->condition == NORMA_CONDITION_FULL ? 1 : rough_spectra);
    out->solution += iterations_of_lbfgs(e, false);
}

void norma_solver_time_lbfgs_svd(const norma_solver_price *e, norma_solver_seconds *out)
{
    norma_solver_time_svd(e, out);
    out->solution += iterations_of_lbfgs(e, true);
}
