#include "mpi/krylov/bidiagonal.h"
#include "mpi/krylov/chebyshev.h"
#include "mpi/krylov/condition.h"
#include "mpi/layer/solver.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/answer.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Steps of the Golub-Kahan process that bounds the singular values: few where those show them to be
 * close together, else more. */
#define FEW_STEPS 32
#define MORE_STEPS 80
/* By this part the interval is wider than the process says. Its largest value is good to 1e-3 by
 * then, and above the interval the iteration diverges; its smallest one is extrapolated, and below
 * the interval the iteration is slow. */
#define MARGIN_ABOVE 0.02
#define MARGIN_BELOW 0.05
/* The extrapolated smallest square is no less than this part of the process's own. What a slow pass
 * left has few directions but the smallest, and needs no extrapolation. */
#define LEAST_END 0.0625
#define LEAST_END_MENDED 0.9
/* A pass was slow if it left this many times as much of the error as it should have. */
#define SLOW 3
/* And the interval was too narrow if its lower end has to move below this part of itself. */
#define FOUND_BELOW 0.97
/* Singular values farther apart have their passes in double precision. */
#define LARGEST_SPREAD 1000
#define LARGEST_SPREAD_TALL 100
/* The error that rounding leaves after a pass, over the spread of the singular values (least
 * squares: its square). */
#define BLUR_SINGLE 0x1p-22
#define BLUR_DOUBLE 0x1p-50
/* The part of the error that a pass shall leave: not less, and not more, since each has products
 * in double precision. */
#define LEAST_PART 1e-7
#define MOST_PART 1e-2
/* Of what is wanted, what the last pass aims at: rounding adds to it. */
#define AIM 0.7
/* Slow passes that are looked into. */
#define MOST_MENDS 12

typedef struct work {
    norma_answer answer;
    norma_product *product;
    norma_chebyshev *iteration;
    norma_bidiagonal *process; /* that bounds the singular values */
    double *start;             /* [n]: of the process */
    double low, high;          /* the interval */
    double part;               /* what a pass leaves of the error */
    double least_end;          /* LEAST_END, or of a mended interval */
    double blur_factor;        /* multiplies BLUR, which may prove too small */
    bool single;               /* passes are in single precision */
    int n_repairs;
    int64_t iterations, max_iterations;
    norma_progress progress;
    char text[64];
} work;

/* The square of the smallest singular value, from what k and two thirds of k steps see of it: the
 * distance falls as 1 / (k + 1)^2 where a spectrum ends like a square root. */
static double extrapolate(const norma_bidiagonal *p, double least_end, bool exhausted)
{
    int64_t k = p->n_links / 2;
    int64_t fewer = 2 * k / 3;
    double seen = pow(norma_condition_smallest_link_local(p->links, 2 * k), 2);
    if (exhausted || fewer == 0)
        return seen;
    double before = pow(norma_condition_smallest_link_local(p->links, 2 * fewer), 2);
    double weight = pow((double)(k + 1), 2);
    double weight_before = pow((double)(fewer + 1), 2);
    double end = (weight * seen - weight_before * before) / (weight - weight_before);
    return fmax(end, least_end * seen);
}

/* Interval of the singular values, margins included, as that many steps of the process show it; 0
 * to 0 where there was no direction. */
static void read_interval(work *w, int64_t n_steps, double *low, double *high)
{
    norma_bidiagonal *p = w->process;
    int64_t before = p->n_links / 2;
    bool exhausted = norma_bidiagonal_run(p, n_steps);
    w->iterations += p->n_links / 2 - before;
    *low = *high = 0;
    if (p->n_links == 0)
        return;
    double largest = norma_condition_largest_link_local(p->links, p->n_links);
    w->answer.sigma_max = fmax(w->answer.sigma_max, largest);
    *high = (1 + MARGIN_ABOVE) * largest;
    *low = (1 - MARGIN_BELOW) * sqrt(extrapolate(p, w->least_end, exhausted));
}

/* The same from start[n], in more steps where these are called for, and in double precision where
 * the values are too far apart for single. */
static void bound(work *w, const double *start, double *low, double *high)
{
    double spread = w->answer.wide ? LARGEST_SPREAD : LARGEST_SPREAD_TALL;
    bool again = true;
    while (again) {
        norma_product_set_single_local(w->product, w->single);
        norma_bidiagonal_start_local(w->process, start);
        read_interval(w, FEW_STEPS, low, high);
        if (*high > FEW_STEPS * *low)
            read_interval(w, MORE_STEPS, low, high);
        again = w->single && !(*high <= spread * *low);
        w->single = w->single && !again;
    }
    norma_product_set_single_local(w->product, false);
}

static void set_interval(work *w, double low, double high)
{
    double spread = high / low;
    double blur = w->blur_factor * (w->single ? BLUR_SINGLE : BLUR_DOUBLE) * spread;
    if (!w->answer.wide)
        blur *= spread;
    w->low = low;
    w->high = high;
    w->part = fmin(fmax(blur, LEAST_PART), MOST_PART);
    norma_chebyshev_set_interval_local(w->iteration, low, high);
    norma_log_detail("chebyshev: singular values from %.4g to %.4g, %s precision, passes to %.1e",
                     low, high, w->single ? "single" : "double", w->part);
}

/* A pass was slow, or made the error grow: what it left is rich in what the interval lacks. If the
 * interval holds it was rounding, but for a pass that was stuck altogether. False when nothing is
 * found. Takes the measured residual for its start. */
static bool repair(work *w, bool stuck)
{
    double low = 0;
    double high = 0;
    bool single = w->single;
    if (w->n_repairs++ == MOST_MENDS)
        return false;
    if (!isfinite(norma_answer_error_local(&w->answer))) {
        set_interval(w, w->low, 2 * w->high);
        return true;
    }
    w->least_end = LEAST_END_MENDED;
    bound(w, w->answer.residual, &low, &high);
    if (low > 0 && (low < FOUND_BELOW * w->low || high > w->high)) {
        set_interval(w, fmin(low, w->low), fmax(high, w->high));
        return true;
    }
    if (single == w->single && !stuck && w->part < MOST_PART)
        w->blur_factor *= 8;
    else if (w->single || single) {
        w->single = false;
        w->blur_factor = 1;
    } else
        return false;
    set_interval(w, w->low, w->high);
    return true;
}

/* Steps from the end of this pass to the end. */
static double steps_to_come(const work *w, double error)
{
    double wanted = norma_answer_wanted_local(&w->answer);
    if (w->answer.x_squares == 0) /* ||S|| ||x|| will be ||rhs|| at least */
        wanted += 5 * NORMA_ROUNDOFF * error;
    return error > wanted ? log(wanted / error) / log(w->part) *
                                norma_chebyshev_steps_local(w->iteration, w->part)
                          : 0;
}

/* A pass from the true residual, towards `part` of its error; trial and what is measured are of its
 * end. */
static void run_pass(work *w, double part, int64_t n_steps)
{
    norma_answer *a = &w->answer;
    double ahead = steps_to_come(w, part * norma_answer_error_local(a));
    w->progress.total =
        (int64_t)fmin((double)(w->iterations + n_steps) + ahead, (double)w->max_iterations);
    norma_product_set_single_local(w->product, w->single);
    norma_chebyshev_start(w->iteration, a->residual, a->step);
    for (int64_t k = 0; k < n_steps; k++) {
        norma_chebyshev_step(w->iteration);
        norma_progress_update_local(&w->progress, ++w->iterations);
    }
    norma_product_set_single_local(w->product, false);
    norma_chebyshev_finish_local(w->iteration);
    for (int64_t t = 0; t < a->n_share; t++)
        a->trial[t] = a->x[t] + w->iteration->x[t];
    norma_answer_measure(a, a->trial);
}

/* Passes until the answer is as good as wanted, or they leave what they should not and nothing can
 * be done about it. */
static norma_status run_passes(work *w)
{
    norma_answer *a = &w->answer;
    norma_answer_measure(a, a->x);
    const double first = norma_answer_error_local(a);
    bool going = first > 0;
    while (going) {
        double error = norma_answer_error_local(a);
        double part = fmax(w->part, AIM * norma_answer_wanted_local(a) / error);
        part = fmin(part, 0.5);
        double n_steps = norma_chebyshev_steps_local(w->iteration, part);
        double n_all = n_steps + steps_to_come(w, part * error);
        if (n_all > (double)(w->max_iterations - w->iterations))
            return NORMA_FAIL(NORMA_NUMERIC,
                              "chebyshev would take %.3g iterations more after %lld, and %lld are "
                              "allowed: singular values lie between %.3g and %.3g; use krylov, "
                              "which needs no bounds, lu, or more features",
                              n_all, (long long)w->iterations, (long long)w->max_iterations, w->low,
                              w->high);
        run_pass(w, part, (int64_t)n_steps);
        double left = norma_answer_error_local(a);
        bool better = left < error;
        if (better)
            norma_answer_accept(a, a->trial);
        snprintf(w->text, sizeof w->text, "chebyshev, %s %.1e", a->wide ? "residual" : "gradient",
                 fmin(left, error) / first);
        going = !(better && norma_answer_is_good_local(a, 1));
        if (going && !(left <= SLOW * part * error)) {
            going = !norma_answer_is_good_local(a, 2) && repair(w, left > error / 2);
            norma_answer_measure(a, a->x);
        }
    }
    return NORMA_OK;
}

/* Bounds from a random start, then the passes. */
static norma_status run(work *w)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_START_VECTOR};
    const norma_system *s = w->answer.system;
    double low = 0;
    double high = 0;
    norma_rng_fill_normal(s->seed, &stream, 0, w->answer.n, w->start);
    bound(w, w->start, &low, &high);
    if (!(low > 0 && isfinite(high)))
        return norma_system_singular_local(s, INFINITY);
    set_interval(w, low, high);
    return run_passes(w);
}

static norma_status allocate(const norma_system *system, work *w)
{
    NORMA_TRY(norma_answer_init_local(system, &w->answer));
    NORMA_TRY(norma_chebyshev_create_local(w->product, NORMA_PRODUCT_SYSTEM, &w->iteration));
    NORMA_TRY(
        norma_bidiagonal_create_local(w->product, NORMA_PRODUCT_SYSTEM, MORE_STEPS, &w->process));
    return NORMA_ALLOC(w->start, w->answer.n);
}

static norma_status iterate(work *w, norma_layer_solution *solution)
{
    norma_answer *a = &w->answer;
    norma_status status = NORMA_OK;
    double start = norma_progress_clock_local();
    if (norma_replicated_norm_local(a->system->rhs, a->n) > 0) { /* else x = 0 solves it */
        snprintf(w->text, sizeof w->text, "chebyshev");
        norma_progress_init_local(&w->progress, w->text, "iteration", w->max_iterations);
        status = run(w);
        norma_progress_finish_local(&w->progress);
    }
    solution->seconds += norma_progress_clock_local() - start;
    solution->iterations = w->iterations;
    solution->gflops =
        (double)w->iterations * 2 * norma_product_flops_local(w->product) / solution->seconds / 1e9;
    NORMA_TRY(status);
    if (!norma_answer_is_good_local(a, 200))
        return norma_answer_missed_local(a, "chebyshev", "stagnated", w->iterations,
                                         "use krylov, lu or more features; does the source leave "
                                         "an output channel zero?",
                                         "use krylov or more features");
    return norma_answer_describe(a, false, solution);
}

norma_status norma_solve_chebyshev(const norma_system *system, double *gamma,
                                   norma_layer_solution *solution)
{
    work w = {.product = system->product,
              .max_iterations = system->max_iterations,
              .single = true,
              .least_end = LEAST_END,
              .blur_factor = 1};
    norma_status status = norma_agree(system->comm, allocate(system, &w));
    if (status == NORMA_OK)
        status = norma_agree(system->comm, iterate(&w, solution));
    norma_answer_deliver(&w.answer, status, gamma, solution);
    norma_chebyshev_destroy_local(&w.iteration);
    norma_bidiagonal_destroy_local(&w.process);
    norma_answer_clear_local(&w.answer);
    NORMA_FREE(w.start);
    return status;
}
