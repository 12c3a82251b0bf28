#include "mpi/krylov/chebyshev.h"

#include "mpi/linalg/replicated.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* An upper bound of the number of steps, which keeps it a whole number. */
#define MOST_STEPS 1e15

norma_status norma_chebyshev_create_local(norma_product *product, norma_product_form form,
                                          norma_chebyshev **out)
{
    norma_chebyshev *c = NULL;
    int64_t first = 0;
    norma_status status = NORMA_CALLOC(c, 1);
    if (status != NORMA_OK)
        return status;
    c->product = product;
    c->form = form;
    c->n_rows = norma_product_n_rows_local(product, form);
    c->n_share = norma_product_share_local(product, &first);
    c->wide = norma_product_n_features_local(product) >= c->n_rows;
    NORMA_GOTO(status, NORMA_ALLOC(c->x, c->n_share));
    NORMA_GOTO(status, NORMA_ALLOC(c->direction, c->n_share));
    NORMA_GOTO(status, NORMA_CALLOC(c->gradient, c->wide ? 0 : c->n_share));
    NORMA_GOTO(status, NORMA_CALLOC(c->residual, c->wide ? c->n_rows : 0));
    NORMA_GOTO(status, NORMA_CALLOC(c->dual, c->wide ? c->n_rows : 0));
    NORMA_GOTO(status, NORMA_ALLOC(c->change, c->n_rows));
    NORMA_GOTO(status, NORMA_ALLOC(c->image, c->n_rows));
    *out = c;
    c = NULL;
done:
    norma_chebyshev_destroy_local(&c);
    return status;
}

void norma_chebyshev_set_interval_local(norma_chebyshev *c, double low, double high)
{
    c->center = (high * high + low * low) / 2;
    c->half_width = (high - low) * (high + low) / 2;
}

double norma_chebyshev_steps_local(const norma_chebyshev *c, double part)
{
    double gap = (c->center - c->half_width) / c->half_width; /* low^2 / half_width */
    double growth = log1p(gap + sqrt(gap * (2 + gap)));       /* acosh(center / half_width) */
    double steps = ceil(acosh(1 / part) / growth);
    return steps < MOST_STEPS ? steps : MOST_STEPS;
}

void norma_chebyshev_start(norma_chebyshev *c, const double *b, const double *gradient)
{
    c->step = 0;
    memset(c->x, 0, (size_t)c->n_share * sizeof *c->x);
    if (c->wide) {
        memset(c->dual, 0, (size_t)c->n_rows * sizeof *c->dual);
        memcpy(c->residual, b, (size_t)c->n_rows * sizeof *b);
    } else {
        memcpy(c->gradient, gradient, (size_t)c->n_share * sizeof *gradient);
        norma_product_apply(c->product, c->form, c->gradient, c->change);
    }
}

/* Sets the length of the next step. Returns the factor of the last direction in the next one. */
static double next_ratio(norma_chebyshev *c)
{
    double ratio = 0;
    double last = c->step;
    if (last == 0) {
        c->rho = c->half_width / c->center;
        c->step = 1 / c->center;
    } else {
        double rho = 1 / (2 * c->center / c->half_width - c->rho);
        c->step = 2 * rho / c->half_width;
        ratio = rho * c->rho * last / c->step;
        c->rho = rho;
    }
    return ratio;
}

/* x is kept as A' dual, and only the dual vector over equations is updated: in single precision,
 * updates of x itself would leave the row space. */
static void step_wide(norma_chebyshev *c, double ratio)
{
    (void)norma_product_apply_both(c->product, c->form, c->residual, ratio, c->direction, c->image);
    for (int64_t r = 0; r < c->n_rows; r++) {
        c->change[r] = ratio == 0 ? c->residual[r] : c->residual[r] + ratio * c->change[r];
        c->dual[r] += c->step * c->change[r];
        c->residual[r] -= c->step * c->image[r];
    }
}

/* `change` holds A gradient at first, then the change of the residual. The image of the direction
 * follows the recurrence of the direction, which saves one product with A. */
static void step_tall(norma_chebyshev *c, double ratio)
{
    for (int64_t t = 0; t < c->n_share; t++)
        c->direction[t] = ratio == 0 ? c->gradient[t] : c->gradient[t] + ratio * c->direction[t];
    norma_replicated_add_local(c->step, c->direction, c->x, c->n_share);
    for (int64_t r = 0; r < c->n_rows; r++) {
        c->image[r] = ratio == 0 ? c->change[r] : c->change[r] + ratio * c->image[r];
        c->change[r] = -c->step * c->image[r];
    }
    (void)norma_product_apply_both(c->product, c->form, c->change, 1, c->gradient, c->change);
}

void norma_chebyshev_step(norma_chebyshev *c)
{
    double ratio = next_ratio(c);
    if (c->wide)
        step_wide(c, ratio);
    else
        step_tall(c, ratio);
}

void norma_chebyshev_finish_local(norma_chebyshev *c)
{
    if (c->wide)
        norma_product_apply_transpose_local(c->product, c->form, c->dual, c->x);
}

void norma_chebyshev_destroy_local(norma_chebyshev **c)
{
    if (*c) {
        NORMA_FREE((*c)->x);
        NORMA_FREE((*c)->direction);
        NORMA_FREE((*c)->gradient);
        NORMA_FREE((*c)->residual);
        NORMA_FREE((*c)->dual);
        NORMA_FREE((*c)->change);
        NORMA_FREE((*c)->image);
        NORMA_FREE(*c);
    }
}
