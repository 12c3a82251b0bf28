#include "mpi/krylov/conjugate.h"

#include "mpi/krylov/condition.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem.h"
#include "src/base/roundoff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The error that a product in single precision adds to the residual, relative to the norms of
 * operator and vector: a few roundings, the sums being of random signs. */
#define PRODUCT_ERROR 0x1p-22
/* The residual is replaced when what has been added to it may exceed this part of it. */
#define REPLACE_AT 2e-4
/* Spreads of singular values beyond which single precision blurs the small ones by 1e-3; in least
 * squares it is the square of the spread that counts. */
#define LARGEST_SPREAD 300
#define LARGEST_SPREAD_TALL 10
/* Iterations after which that is looked at again, as a part of those so far. */
#define LOOK_AGAIN 0.06
/* A recurred residual that the true one differs from by more than this part of it says nothing of
 * A any more: the coefficients end there. */
#define BLURRED 0.02

norma_status norma_conjugate_create_local(norma_product *product, norma_product_form form,
                                          int64_t max_iterations, double aim, norma_conjugate **out)
{
    norma_conjugate *c = NULL;
    int64_t first = 0;
    norma_status status = NORMA_CALLOC(c, 1);
    if (status != NORMA_OK)
        return status;
    c->product = product;
    c->form = form;
    c->n_rows = norma_product_n_rows_local(product, form);
    c->n_share = norma_product_share_local(product, &first);
    c->wide = norma_product_n_features_local(product) >= c->n_rows;
    c->max_iterations = max_iterations;
    c->aim = aim;
    NORMA_GOTO(status, NORMA_ALLOC(c->x, c->n_share));
    NORMA_GOTO(status, NORMA_ALLOC(c->residual, c->n_rows));
    NORMA_GOTO(status, NORMA_ALLOC(c->direction, c->n_share));
    NORMA_GOTO(status, NORMA_ALLOC(c->image, c->n_rows));
    NORMA_GOTO(status, NORMA_CALLOC(c->gradient, c->wide ? 0 : c->n_share));
    NORMA_GOTO(status, NORMA_ALLOC(c->spare, c->n_share));
    NORMA_GOTO(status, NORMA_CALLOC(c->dual, c->wide ? c->n_rows : 0));
    NORMA_GOTO(status, NORMA_ALLOC(c->kept_residual, c->wide ? c->n_rows : 0));
    NORMA_GOTO(status, NORMA_ALLOC(c->kept_direction, c->wide ? c->n_share : 0));
    NORMA_GOTO(status, NORMA_ALLOC(c->change, c->n_rows));
    NORMA_GOTO(status, NORMA_ALLOC(c->links, 2 * max_iterations));
    *out = c;
    c = NULL;
done:
    norma_conjugate_destroy_local(&c);
    return status;
}

static double sum_over_ranks(const norma_conjugate *c, double x)
{
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_SUM, norma_product_comm_local(c->product));
    return x;
}

/* to = the true residual b - A x. */
static void measure_residual(norma_conjugate *c, const double *b, double *to)
{
    norma_product_apply(c->product, c->form, c->x, to);
    for (int64_t r = 0; r < c->n_rows; r++)
        to[r] = b[r] - to[r];
}

/* Puts true = the true residual, or gradient, in the place of the recurred one; the square of their
 * distance. */
static double exchange(const double *from, double *recurred, int64_t n)
{
    double squares = 0;
    for (int64_t e = 0; e < n; e++) {
        squares += (from[e] - recurred[e]) * (from[e] - recurred[e]);
        recurred[e] = from[e];
    }
    return squares;
}

/* Saves the recurrence so that the Lanczos coefficients can be continued from here. */
static void keep(norma_conjugate *c, double ratio)
{
    if (c->blurred)
        return;
    memcpy(c->kept_residual, c->residual, (size_t)c->n_rows * sizeof *c->residual);
    memcpy(c->kept_direction, c->direction, (size_t)c->n_share * sizeof *c->direction);
    c->kept_squares = c->squares;
    c->kept_ratio = ratio;
}

/* The true residual of x, and in least squares its gradient and what else recurs; ratio is that of
 * the next direction. */
static void replace(norma_conjugate *c, const double *b, double ratio)
{
    double recurred = c->squares;
    double distance = 0;
    norma_product_set_single_local(c->product, false);
    if (c->wide) {
        norma_product_apply_transpose_local(c->product, c->form, c->dual, c->spare);
        norma_replicated_add_local(1, c->spare, c->x, c->n_share);
        memset(c->dual, 0, (size_t)c->n_rows * sizeof *c->dual);
        measure_residual(c, b, c->image);
        keep(c, ratio);
        distance = exchange(c->image, c->residual, c->n_rows);
        c->squares = norma_replicated_dot_local(c->residual, c->residual, c->n_rows);
        c->r_squares = c->squares;
    } else {
        measure_residual(c, b, c->residual);
        c->r_squares = norma_replicated_dot_local(c->residual, c->residual, c->n_rows);
        norma_product_apply_transpose_local(c->product, c->form, c->residual, c->spare);
        distance = sum_over_ranks(c, exchange(c->spare, c->gradient, c->n_share));
        c->squares =
            sum_over_ranks(c, norma_replicated_dot_local(c->gradient, c->gradient, c->n_share));
        norma_product_set_single_local(c->product, true);
        norma_product_apply(c->product, c->form, c->gradient, c->change);
    }
    norma_product_set_single_local(c->product, true);
    c->x_squares = sum_over_ranks(c, norma_replicated_dot_local(c->x, c->x, c->n_share));
    c->true_size = sqrt(c->squares);
    c->blurred = c->blurred || distance > BLURRED * BLURRED * recurred;
    c->group = 0;
    c->n_replacements++;
}

/* The part of the residual, or of the gradient, that rounding x leaves. */
static double wanted(const norma_conjugate *c)
{
    double residual = NORMA_ROUNDOFF * c->norm * sqrt(c->x_squares);
    return c->wide ? residual : c->norm * (NORMA_ROUNDOFF * sqrt(c->r_squares) + residual);
}

/* Bound of the error that single precision added to the residual, or to the gradient. */
static double drift(const norma_conjugate *c)
{
    return PRODUCT_ERROR * c->norm * sqrt(c->group);
}

static void link(norma_conjugate *c, double step, double ratio)
{
    if (c->blurred)
        return;
    double a = 1 / sqrt(step);
    double b = sqrt(ratio / step);
    c->norm = fmax(c->norm, hypot(a, b));
    c->links[c->n_links++] = a;
    c->links[c->n_links++] = b;
}

/* direction <- A' residual + ratio direction, and a step along it; the residual recurs. The step of
 * x is kept as A' of one over equations: in single precision it would leave the row space. */
static double step_wide(norma_conjugate *c, double ratio)
{
    double squares =
        norma_product_apply_both(c->product, c->form, c->residual, ratio, c->direction, c->image);
    double step = c->squares / squares;
    for (int64_t r = 0; r < c->n_rows; r++) {
        c->change[r] = c->residual[r] + (ratio == 0 ? 0 : ratio * c->change[r]);
        c->dual[r] += step * c->change[r];
        c->residual[r] -= step * c->image[r];
    }
    c->group += step * step * squares;
    c->x_squares += step * step * squares;
    c->squares = norma_replicated_dot_local(c->residual, c->residual, c->n_rows);
    c->r_squares = c->squares;
    return step;
}

/* direction <- gradient + ratio direction, and a step along it; the image of the direction recurs
 * as that does, which saves the pass that would make it. */
static double step_tall(norma_conjugate *c, double ratio)
{
    for (int64_t t = 0; t < c->n_share; t++)
        c->direction[t] = c->gradient[t] + (ratio == 0 ? 0 : ratio * c->direction[t]);
    for (int64_t r = 0; r < c->n_rows; r++)
        c->image[r] = c->change[r] + (ratio == 0 ? 0 : ratio * c->image[r]);
    double step = c->squares / norma_replicated_dot_local(c->image, c->image, c->n_rows);
    norma_replicated_add_local(step, c->direction, c->x, c->n_share);
    norma_replicated_add_local(-step, c->image, c->residual, c->n_rows);
    c->group += step * c->squares;
    for (int64_t r = 0; r < c->n_rows; r++)
        c->change[r] = -step * c->image[r];
    c->squares =
        norma_product_apply_both(c->product, c->form, c->change, 1, c->gradient, c->change);
    return step;
}

/* Extreme singular values by the first n links, n odd: the links of a vector are all known. */
static void read_links(const norma_conjugate *c, int64_t n, double *largest, double *smallest)
{
    *largest = norma_condition_largest_link_local(c->links, n);
    *smallest = norma_condition_smallest_link_local(c->links, n);
}

/* Iterations to come, from how far the residual has fallen on its way to what is wanted. */
static void show(const norma_conjugate *c, double start, norma_progress *progress, char *text,
                 size_t length)
{
    double now = sqrt(c->squares) / start;
    double way = log(fmax(wanted(c) / start, 1e-300));
    double part = fmin(fmax(log(now) / way, 1e-3), 1);
    snprintf(text, length, "krylov, %s %.1e", c->wide ? "residual" : "gradient", now);
    progress->total = (int64_t)fmin((double)c->iterations / part, (double)c->max_iterations);
    norma_progress_update_local(progress, c->iterations);
}

/* True when only rounding keeps the residual from falling: it has reached that level, and the
 * system is so well conditioned that more iterations would reach the same level again. */
static bool sees_all(const norma_conjugate *c)
{
    double largest = 0;
    double smallest = 0;
    read_links(c, c->n_links - 1, &largest, &smallest);
    return c->blurred && largest <= LARGEST_SPREAD * smallest;
}

static void iterate(norma_conjugate *c, const double *b, norma_progress *progress, char *text,
                    size_t length)
{
    const double start = c->true_size;
    double ratio = 0;
    int n_vain = 0; /* replacements that showed no progress, running */
    while (!c->done && c->squares > 0 && c->iterations < c->max_iterations) {
        double before = c->squares;
        double last = c->true_size;
        double step = c->wide ? step_wide(c, ratio) : step_tall(c, ratio);
        c->iterations++;
        if (!(step > 0 && isfinite(step) && c->squares <= 1e10 * start * start))
            return;
        ratio = c->squares / before;
        link(c, step, ratio);
        double size = sqrt(c->squares);
        if (drift(c) > REPLACE_AT * size || size <= (c->aim - 2) * wanted(c)) {
            replace(c, b, ratio);
            n_vain = c->blurred || c->true_size > last / 2 ? n_vain + 1 : 0;
            c->done = c->true_size <= c->aim * wanted(c) ||
                      (c->true_size <= (n_vain > 2 ? 9 : 7) * wanted(c) && sees_all(c));
            if (n_vain > 2 || c->true_size > 10 * last)
                return;
            ratio = c->squares / before;
        }
        show(c, start, progress, text, length);
    }
}

void norma_conjugate_run(norma_conjugate *c, const double *b)
{
    norma_progress progress;
    char text[64] = "krylov";
    norma_progress_init_local(&progress, text, "iteration", c->max_iterations);
    memset(c->x, 0, (size_t)c->n_share * sizeof *c->x);
    memcpy(c->residual, b, (size_t)c->n_rows * sizeof *b);
    memset(c->direction, 0, (size_t)c->n_share * sizeof *c->direction);
    replace(c, b, 0);
    c->blurred = false;
    iterate(c, b, &progress, text, sizeof text);
    norma_progress_finish_local(&progress);
    norma_product_set_single_local(c->product, false);
}

bool norma_conjugate_condition_local(const norma_conjugate *c, double settled, double *largest,
                                     double *smallest, double *error)
{
    int64_t n = c->n_links - 1; /* the last one belongs to a vector whose others are not known */
    int64_t fewer = 2 * (n * 4 / 10) + 1;
    if (!c->done || n < 1)
        return false;
    read_links(c, n, largest, smallest);
    double before = norma_condition_smallest_link_local(c->links, fewer < n ? fewer : n);
    double spread = c->wide ? LARGEST_SPREAD : LARGEST_SPREAD_TALL;
    *error = before / *smallest - 1;
    return *largest <= spread * *smallest && before <= *smallest * (1 + settled);
}

/* Some more iterations from what recurred; false when there is no use in more. */
static bool continue_links(norma_conjugate *c, double *ratio, int64_t n_steps)
{
    for (int64_t k = 0; k < n_steps; k++) {
        double before = c->squares;
        if (c->n_links + 2 > 2 * c->max_iterations || !(before > 0))
            return false;
        double step = step_wide(c, *ratio);
        if (!(step > 0 && isfinite(step)))
            return false;
        *ratio = c->squares / before;
        link(c, step, *ratio);
    }
    return true;
}

bool norma_conjugate_settle(norma_conjugate *c, double settled, double *largest, double *smallest,
                            double *error)
{
    bool done = norma_conjugate_condition_local(c, settled, largest, smallest, error);
    if (done || !c->done || !c->wide || *largest > LARGEST_SPREAD * *smallest)
        return done;
    int64_t most = 2 * c->n_links;
    double ratio = c->kept_ratio;
    memcpy(c->residual, c->kept_residual, (size_t)c->n_rows * sizeof *c->residual);
    memcpy(c->direction, c->kept_direction, (size_t)c->n_share * sizeof *c->direction);
    c->squares = c->kept_squares;
    c->blurred = false;
    norma_product_set_single_local(c->product, true);
    while (!done && c->n_links < most &&
           continue_links(c, &ratio, 1 + (int64_t)(LOOK_AGAIN * (double)c->n_links / 2)))
        done = norma_conjugate_condition_local(c, settled, largest, smallest, error);
    norma_product_set_single_local(c->product, false);
    return done;
}

void norma_conjugate_destroy_local(norma_conjugate **c)
{
    if (*c) {
        NORMA_FREE((*c)->x);
        NORMA_FREE((*c)->residual);
        NORMA_FREE((*c)->direction);
        NORMA_FREE((*c)->image);
        NORMA_FREE((*c)->gradient);
        NORMA_FREE((*c)->spare);
        NORMA_FREE((*c)->dual);
        NORMA_FREE((*c)->kept_residual);
        NORMA_FREE((*c)->kept_direction);
        NORMA_FREE((*c)->change);
        NORMA_FREE((*c)->links);
        NORMA_FREE(*c);
    }
}
