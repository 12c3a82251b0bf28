#include "mpi/krylov/lbfgs.h"

#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem_place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Steps after which the residual is made anew from x. */
#define REFRESH_EVERY 20
/* No progress: so many steps, and the measure of it fell by less than this part. */
#define VAIN_STEPS 200
#define VAIN_PART 1e-3
/* Times that a residual at the tolerance may prove to be none when made anew. */
#define MAX_DENIALS 3

/* State of the recursion: `history` steps s, as many changes y of the gradient, the gradient. */
typedef struct work {
    const norma_lbfgs_problem *p;
    int64_t m;         /* history */
    int64_t n_basis;   /* 2 m + 1 */
    int64_t n_kept;    /* pairs in use; the newest is at (next - 1) mod m */
    int64_t next;      /* where the next pair goes */
    double *basis;     /* [n_basis][n_share]: s of slot k at k, y at m + k, the gradient last */
    double *gram;      /* [n_basis][n_basis]: their inner products */
    double *dots;      /* [3 n_basis + 2]: of one all-reduce */
    double *weight;    /* [n_basis]: of the direction among them */
    double *alpha;     /* [m] */
    double *x;         /* [n_share]; borrowed */
    double *direction; /* [n_share] */
    double *residual;  /* [n_rows]: b - A x */
    double *image;     /* [n_rows]: A direction */
    double *weighted;  /* [n_rows]: D^2 residual */
    double roundoff;
    double norm;             /* a lower bound of ||A|| */
    double x_squares;        /* ||x||^2 */
    double gradient_squares; /* ||A' D^2 r||^2 */
    double size;             /* ||r|| */
    double weighted_size;    /* ||D r|| */
    double best;             /* the least measure of progress, and when it last fell */
    int64_t best_at;
    int64_t iterations;
    int n_denials;
    bool moved; /* the last step changed an entry of x on some rank */
} work;

static double *basis_of(const work *w, int64_t k)
{
    return w->basis + k * w->p->n_share;
}

static double *gradient_of(const work *w)
{
    return basis_of(w, 2 * w->m);
}

static void round_all(const work *w, double *a, int64_t n)
{
    for (int64_t e = 0; w->p->single && e < n; e++)
        a[e] = (double)(float)a[e];
}

/* residual = b - A x from x itself. */
static void make_residual(work *w)
{
    const norma_lbfgs_problem *p = w->p;
    p->apply(p->context, w->x, w->residual);
    for (int64_t r = 0; r < p->n_rows; r++)
        w->residual[r] = p->rhs[r] - w->residual[r];
    round_all(w, w->residual, p->n_rows);
}

/* Sizes of the residual, and to = the gradient -A' D^2 r. */
static void make_gradient(work *w, double *to)
{
    const norma_lbfgs_problem *p = w->p;
    double squares = 0;
    w->size = norma_replicated_norm_local(w->residual, p->n_rows);
    for (int64_t r = 0; r < p->n_rows; r++) {
        double d = p->weights ? p->weights[r] : 1;
        squares += d * w->residual[r] * (d * w->residual[r]);
        w->weighted[r] = -d * d * w->residual[r];
    }
    w->weighted_size = sqrt(squares);
    p->apply_transpose(p->context, w->weighted, to);
    round_all(w, to, p->n_share);
}

/* Inner products of the pair in slot `slot` and of the gradient with everything kept; slot -1: of
 * the gradient alone. One all-reduce. */
static void make_products(work *w, int64_t slot)
{
    const int64_t n = w->n_basis;
    const int64_t rows[] = {2 * w->m, slot, w->m + slot};
    const int n_rows = slot < 0 ? 1 : 3;
    int64_t n_dots = 0;
    for (int k = 0; k < n_rows; k++)
        for (int64_t e = 0; e < n; e++)
            w->dots[n_dots++] =
                norma_replicated_dot_local(basis_of(w, rows[k]), basis_of(w, e), w->p->n_share);
    w->dots[n_dots++] = norma_replicated_dot_local(w->x, w->x, w->p->n_share);
    w->dots[n_dots++] = w->moved ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, w->dots, (int)n_dots, MPI_DOUBLE, MPI_SUM, w->p->comm);
    for (int k = 0; k < n_rows; k++)
        for (int64_t e = 0; e < n; e++)
            w->gram[rows[k] * n + e] = w->gram[e * n + rows[k]] = w->dots[k * n + e];
    w->x_squares = w->dots[n_dots - 2];
    w->moved = w->dots[n_dots - 1] > 0;
    w->gradient_squares = w->gram[2 * w->m * n + 2 * w->m];
}

/* Inner product of the direction, as the weights have it so far, with the kept vector k. */
static double along(const work *w, int64_t k)
{
    double sum = 0;
    for (int64_t e = 0; e < w->n_basis; e++)
        sum += w->weight[e] * w->gram[e * w->n_basis + k];
    return sum;
}

/* The two loops (Nocedal and Wright, Algorithm 7.4) in the coordinates of what is kept; the
 * initial scaling is s'y / y'y of the newest pair. */
static void run_two_loops(work *w)
{
    const int64_t m = w->m;
    const int64_t n = w->n_basis;
    memset(w->weight, 0, (size_t)n * sizeof *w->weight);
    w->weight[2 * m] = -1;
    for (int64_t back = 1; back <= w->n_kept; back++) {
        int64_t k = (w->next - back + m) % m;
        w->alpha[k] = along(w, k) / w->gram[k * n + m + k];
        w->weight[m + k] -= w->alpha[k];
    }
    if (w->n_kept > 0) {
        int64_t k = (w->next - 1 + m) % m;
        double scale = w->gram[k * n + m + k] / w->gram[(m + k) * n + m + k];
        for (int64_t e = 0; e < n; e++)
            w->weight[e] *= scale;
    }
    for (int64_t back = w->n_kept; back >= 1; back--) {
        int64_t k = (w->next - back + m) % m;
        w->weight[k] += w->alpha[k] - along(w, m + k) / w->gram[k * n + m + k];
    }
}

/* direction, and image = A direction; returns the exact step along it. */
static double make_direction(work *w)
{
    const norma_lbfgs_problem *p = w->p;
    double slope = 0;
    double curvature = 0;
    run_two_loops(w);
    memset(w->direction, 0, (size_t)p->n_share * sizeof *w->direction);
    for (int64_t e = 0; e < w->n_basis; e++)
        if (w->weight[e] != 0)
            norma_replicated_add_local(w->weight[e], basis_of(w, e), w->direction, p->n_share);
    round_all(w, w->direction, p->n_share);
    p->apply(p->context, w->direction, w->image);
    for (int64_t r = 0; r < p->n_rows; r++) {
        double d = p->weights ? p->weights[r] : 1;
        slope -= w->weighted[r] * w->image[r];
        curvature += d * w->image[r] * (d * w->image[r]);
    }
    return slope / curvature;
}

/* Takes the step; the pair it gives goes into the slot `next`. */
static void take_step(work *w, double step)
{
    const norma_lbfgs_problem *p = w->p;
    double *s = basis_of(w, w->next);
    double *y = basis_of(w, w->m + w->next);
    double *gradient = gradient_of(w);
    w->iterations++;
    w->moved = false;
    for (int64_t t = 0; t < p->n_share; t++) {
        double x = w->x[t] + step * w->direction[t];
        x = p->single ? (double)(float)x : x;
        s[t] = x - w->x[t];
        w->moved = w->moved || s[t] != 0;
        w->x[t] = x;
        y[t] = -gradient[t];
    }
    norma_replicated_add_local(-step, w->image, w->residual, p->n_rows);
    round_all(w, w->residual, p->n_rows);
    if (w->iterations % REFRESH_EVERY == 0)
        make_residual(w);
    make_gradient(w, gradient);
    norma_replicated_add_local(1, gradient, y, p->n_share);
    make_products(w, w->next);
}

/* ||y||^2 / s'y is the square of a norm between A's, nearest to the largest where s and y are
 * nearly parallel; elsewhere, or where the gradient hardly changed, it may be all rounding. */
static void learn_norm(work *w, double s_squares, double y_squares, double curvature)
{
    if (!w->p->weights && curvature > 0.1 * sqrt(s_squares) * sqrt(y_squares) &&
        y_squares > 0.01 * w->gradient_squares)
        w->norm = fmax(w->norm, sqrt(y_squares / curvature));
}

/* Keeps the newest pair if its curvature is more than rounding. */
static void keep_pair(work *w)
{
    const int64_t n = w->n_basis;
    int64_t k = w->next;
    int64_t y = w->m + k;
    double curvature = w->gram[k * n + y];
    if (!(curvature > w->roundoff * sqrt(w->gram[k * n + k]) * sqrt(w->gram[y * n + y]))) {
        w->n_kept = w->n_kept < w->m ? w->n_kept : w->m - 1; /* it overwrote the oldest */
        return;
    }
    learn_norm(w, w->gram[k * n + k], w->gram[y * n + y], curvature);
    w->next = (k + 1) % w->m;
    w->n_kept = w->n_kept < w->m ? w->n_kept + 1 : w->m;
}

/* The residual that rounding leaves: of x, and of b where b was computed. */
static double wanted_residual(const work *w)
{
    return 5 * w->roundoff * (w->norm * sqrt(w->x_squares) + w->p->rhs_error);
}

/* True when the residual, or the gradient, is rounding only. */
static bool is_good(work *w)
{
    if (!w->p->weights && w->size > 0)
        w->norm = fmax(w->norm, sqrt(w->gradient_squares) / w->size);
    double left = wanted_residual(w);
    if (w->gradient_squares == 0 || w->size <= left)
        return true;
    if (w->p->weights)
        return false;
    double gradient = 5 * w->norm * (w->roundoff * w->size + (w->p->solvable ? 0 : left));
    return sqrt(w->gradient_squares) <= gradient;
}

/* True when x is good enough, also by the residual computed anew. */
static bool is_done(work *w)
{
    if (!is_good(w))
        return false;
    make_residual(w);
    make_gradient(w, gradient_of(w));
    make_products(w, -1);
    w->n_denials++;
    return is_good(w);
}

/* True when the last steps brought no progress. */
static bool is_vain(work *w)
{
    double measure = w->p->solvable ? w->weighted_size : sqrt(w->gradient_squares);
    if (measure < (1 - VAIN_PART) * w->best) {
        w->best = measure;
        w->best_at = w->iterations;
    }
    return w->iterations - w->best_at >= VAIN_STEPS || w->n_denials >= MAX_DENIALS;
}

/* A step along the direction, or, where that does not descend, along the gradient. False when
 * neither descends or nothing moves. */
static bool advance(work *w)
{
    double step = make_direction(w);
    if (!(step > 0 && isfinite(step)) && w->n_kept > 0) {
        w->n_kept = 0;
        step = make_direction(w);
    }
    if (!(step > 0 && isfinite(step)))
        return false;
    take_step(w, step);
    keep_pair(w);
    return w->moved;
}

static norma_stopping iterate(work *w, norma_progress *progress, char *text, size_t length)
{
    make_residual(w);
    make_gradient(w, gradient_of(w));
    make_products(w, -1);
    double start = w->size;
    w->best = INFINITY;
    for (;;) {
        if (is_done(w))
            return NORMA_STOPPING_TOLERANCE;
        if (!isfinite(w->size) || !isfinite(w->gradient_squares))
            return NORMA_STOPPING_NONE;
        if (is_vain(w))
            return NORMA_STOPPING_NO_PROGRESS;
        if (w->iterations >= w->p->max_iterations)
            return NORMA_STOPPING_LIMIT;
        if (!advance(w) && isfinite(w->size))
            return NORMA_STOPPING_NO_PROGRESS;
        snprintf(text, length, "%s, residual %.1e", w->p->name, w->size / start);
        norma_progress_update_local(progress, w->iterations);
    }
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(work *w, double *bytes)
{
    const norma_lbfgs_problem *p = w->p;
    NORMA_TRY(NORMA_PLACE_ROWS(w->basis, w->n_basis, p->n_share, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(w->gram, w->n_basis, w->n_basis, bytes));
    NORMA_TRY(NORMA_PLACE(w->dots, 3 * w->n_basis + 2, bytes));
    NORMA_TRY(NORMA_PLACE(w->weight, w->n_basis, bytes));
    NORMA_TRY(NORMA_PLACE(w->alpha, w->m, bytes));
    NORMA_TRY(NORMA_PLACE(w->direction, p->n_share, bytes));
    NORMA_TRY(NORMA_PLACE(w->residual, p->n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(w->image, p->n_rows, bytes));
    return NORMA_PLACE(w->weighted, p->n_rows, bytes);
}

static void init(const norma_lbfgs_problem *problem, work *w)
{
    *w = (work){.p = problem, .m = problem->history, .n_basis = 2 * problem->history + 1};
}

norma_status norma_lbfgs_minimize(const norma_lbfgs_problem *problem, double *x,
                                  norma_lbfgs_result *result)
{
    norma_progress progress;
    char text[64];
    work w;
    init(problem, &w);
    w.x = x;
    w.norm = problem->norm;
    w.roundoff = problem->single ? 0x1p-24 : 0x1p-53;
    snprintf(text, sizeof text, "%s", problem->name);
    norma_status status = norma_agree(problem->comm, place(&w, NULL));
    NORMA_GOTO(status, status);
    round_all(&w, x, problem->n_share);
    norma_progress_init_local(&progress, text, "iteration", problem->max_iterations);
    result->stopping = iterate(&w, &progress, text, sizeof text);
    norma_progress_finish_local(&progress);
    result->iterations = w.iterations;
    result->residual = w.size;
    if (result->stopping == NORMA_STOPPING_NONE)
        status = NORMA_FAIL(NORMA_NUMERIC,
                            "%s diverged after %lld iterations: its residual or gradient is not "
                            "finite",
                            problem->name, (long long)w.iterations);
done:
    NORMA_FREE(w.basis);
    NORMA_FREE(w.gram);
    NORMA_FREE(w.dots);
    NORMA_FREE(w.weight);
    NORMA_FREE(w.alpha);
    NORMA_FREE(w.direction);
    NORMA_FREE(w.residual);
    NORMA_FREE(w.image);
    NORMA_FREE(w.weighted);
    return status;
}

double norma_lbfgs_bytes_local(int64_t n_rows, int64_t n_share, int64_t history)
{
    const norma_lbfgs_problem problem = {.n_rows = n_rows, .n_share = n_share, .history = history};
    double bytes = 0;
    work w;
    init(&problem, &w);
    (void)place(&w, &bytes);
    return bytes;
}
