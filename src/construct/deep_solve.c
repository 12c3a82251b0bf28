/* Levenberg-Marquardt for deep linear sources. */
#include "src/base/mem_place.h"
#include "src/construct/deep_engine.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

enum {
    MOST_STEPS = 300, /* of a start */
    STALL = 12,       /* steps in a row that gain little end a start */
    STALL_AT_FLOOR = 2,
    MOST_HALVINGS = 6 /* of a bent step */
};

/* A bent step's second-order part over its first, at most. */
static const double largest_bend = 0.375;

/* A step that leaves more than this share of the error gains little. */
static const double little = 0.98;

/* An answer within so many floors is exact. */
static const double exact = 100;

typedef struct search {
    norma_deep *d;
    const double *target;
    const norma_deep_search *how;
    const norma_deep_engine *engine;
    int64_t n, unknowns;
    double *residual;         /* [n]: target - map */
    double *map;              /* [n] */
    double *step;             /* [unknowns] */
    double *gamma;            /* [unknowns]: kept */
    double *best;             /* [unknowns] */
    double *bend, *curvature; /* [unknowns], [n]; without find_again NULL */
} search;

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(search *s, bool bends, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(s->residual, s->n, bytes));
    NORMA_TRY(NORMA_PLACE(s->map, s->n, bytes));
    NORMA_TRY(NORMA_PLACE(s->step, s->unknowns, bytes));
    NORMA_TRY(NORMA_PLACE(s->gamma, s->unknowns, bytes));
    if (bends) {
        NORMA_TRY(NORMA_PLACE(s->bend, s->unknowns, bytes));
        NORMA_TRY(NORMA_PLACE(s->curvature, s->n, bytes));
    }
    return NORMA_PLACE(s->best, s->unknowns, bytes);
}

double norma_deep_search_bytes(const norma_deep_shape *shape, bool bends)
{
    search s = {.n = norma_deep_equations(shape), .unknowns = norma_deep_unknowns(shape)};
    double bytes = 0;
    (void)place(&s, bends, &bytes);
    return bytes;
}

static void release(search *s)
{
    NORMA_FREE(s->residual);
    NORMA_FREE(s->map);
    NORMA_FREE(s->step);
    NORMA_FREE(s->gamma);
    NORMA_FREE(s->best);
    NORMA_FREE(s->bend);
    NORMA_FREE(s->curvature);
}

/* gamma of all layers, behind each other. */
static double *scales(const search *s)
{
    return s->d->gamma[1];
}

static void share(const search *s, int64_t n, double *values)
{
    if (s->engine->share)
        s->engine->share(s->engine->context, n, values);
}

/* The residual at the present scales; returns its norm. */
static double evaluate(search *s)
{
    double norm = 0;
    norma_deep_update(s->d);
    norma_deep_compose(s->d, s->map);
    for (int64_t r = 0; r < s->n; r++)
        s->residual[r] = s->target[r] - s->map[r];
    norm = cblas_dnrm2((int)s->n, s->residual, 1);
    share(s, 1, &norm);
    return norm;
}

/* Layers move scales among each other until all have the same root mean square. */
static void balance(search *s)
{
    const norma_deep_shape *shape = &s->d->shape;
    double logarithm = 0;
    double sizes[NORMA_DEEP_MOST + 1];
    for (int64_t l = 1; l <= shape->n_layers; l++) {
        sizes[l] =
            cblas_dnrm2((int)shape->width[l], s->d->gamma[l], 1) / sqrt((double)shape->width[l]);
        if (!(sizes[l] > 0) || !isfinite(sizes[l]))
            return;
        logarithm += log(sizes[l]) / (double)shape->n_layers;
    }
    for (int64_t l = 1; l <= shape->n_layers; l++)
        cblas_dscal((int)shape->width[l], exp(logarithm) / sizes[l], s->d->gamma[l], 1);
}

/* Scales drawn anew; then those of the widest layer solved for. */
static norma_status start(search *s, int64_t number)
{
    const norma_deep_shape *shape = &s->d->shape;
    int64_t widest = 1;
    bool solved = false;
    norma_rng_fill_normal(s->how->seed, &s->how->stream, number * s->unknowns, s->unknowns,
                          scales(s));
    for (int64_t l = 1; l <= shape->n_layers; l++)
        if (shape->width[l] > shape->width[widest])
            widest = l;
    norma_deep_update(s->d);
    NORMA_TRY(s->engine->solve_layer(s->engine->context, widest, s->target, s->step, &solved));
    if (solved)
        memcpy(s->d->gamma[widest], s->step, (size_t)shape->width[widest] * sizeof *s->step);
    balance(s);
    share(s, s->unknowns, scales(s));
    return NORMA_OK;
}

/* The scales that were kept, plus factor times the step and factor^2 times the bend; returns the
 * norm of the residual. */
static double evaluate_along(search *s, double factor)
{
    for (int64_t k = 0; k < s->unknowns; k++)
        scales(s)[k] = s->gamma[k] + factor * (s->step[k] + factor * s->bend[k]);
    share(s, s->unknowns, scales(s));
    return evaluate(s);
}

/* The bend of the way whose tangent is the step: what half of the map's second derivative along the
 * step asks for, with the same factors (Transtrum and Sethna, arXiv:1201.5885). The derivative is a
 * difference of second order, exact up to three layers. */
static norma_status find_bend(search *s, double damping)
{
    double ignored = 0;
    memset(s->bend, 0, (size_t)s->unknowns * sizeof *s->bend);
    memcpy(s->curvature, s->map, (size_t)s->n * sizeof *s->curvature);
    for (int side = -1; side <= 1; side += 2) {
        (void)evaluate_along(s, side);
        cblas_daxpy((int)s->n, -0.5, s->map, 1, s->curvature, 1);
    }
    memcpy(scales(s), s->gamma, (size_t)s->unknowns * sizeof *s->gamma);
    norma_deep_update(s->d);
    return s->engine->find_again(s->engine->context, damping, s->curvature, s->bend, &ignored);
}

/* Goes along the bent way as far as the bend stays the smaller part, and less far while the
 * residual would grow. */
static norma_status bend_step(search *s, double damping, double before, double *after)
{
    NORMA_TRY(find_bend(s, damping));
    double length = cblas_dnrm2((int)s->unknowns, s->step, 1);
    double factor = largest_bend * length / cblas_dnrm2((int)s->unknowns, s->bend, 1);
    factor = factor < 1 ? factor : 1; /* also where there is no bend */
    *after = evaluate_along(s, factor);
    for (int k = 0; k<MOST_HALVINGS && * after> before; k++) {
        factor /= 2;
        *after = evaluate_along(s, factor);
    }
    return NORMA_OK;
}

/* Takes a damped step; *gain: reduction of the squares over that of their linear model. */
static norma_status take_step(search *s, double damping, double before, double *after, double *gain)
{
    double left = 0;
    NORMA_TRY(s->engine->find_step(s->engine->context, damping, s->residual, s->step, &left));
    double model = before * before - left;
    memcpy(s->gamma, scales(s), (size_t)s->unknowns * sizeof *s->gamma);
    if (s->engine->find_again) {
        NORMA_TRY(bend_step(s, damping, before, after));
    } else {
        cblas_daxpy((int)s->unknowns, 1, s->step, 1, scales(s), 1);
        *after = evaluate(s);
    }
    *gain = model > 0 ? (before * before - *after * *after) / model : 0;
    share(s, 1, gain);
    return NORMA_OK;
}

/* Steps in a row that gain little end a start: fewer at the floor, where steps are dear. */
static norma_status find_patience(search *s, double error, int *n_idle_most)
{
    double floor = 0;
    *n_idle_most = STALL;
    if (!s->engine->find_again)
        return NORMA_OK;
    NORMA_TRY(s->engine->find_floor(s->engine->context, &floor));
    if (error / sqrt((double)s->n) <= exact * floor)
        *n_idle_most = STALL_AT_FLOOR;
    return NORMA_OK;
}

/* From one start as far as it goes; *error: the norm of the residual. */
static norma_status descend(search *s, int64_t *n_steps, double *error)
{
    double growth = 2;
    int n_idle = 0;
    int n_idle_most = STALL;
    *error = evaluate(s);
    double target = cblas_dnrm2((int)s->n, s->target, 1);
    double damping = 1e-2 * target / sqrt((double)s->n);
    for (int k = 0; k < MOST_STEPS && n_idle<n_idle_most && * error> 0; k++) {
        double after = 0;
        double gain = 0;
        if (s->how->stops && s->how->stops(s->how->context))
            return NORMA_STOPPED;
        NORMA_TRY(take_step(s, damping, *error, &after, &gain));
        (*n_steps)++;
        if (gain > 0 && after < *error) {
            n_idle = after > little * *error ? n_idle + 1 : 0;
            *error = after;
            damping *= sqrt(fmax(0.1, 1 - pow(2 * gain - 1, 3)));
            growth = 2;
            balance(s);
            share(s, s->unknowns, scales(s));
            *error = evaluate(s);
        } else {
            memcpy(scales(s), s->gamma, (size_t)s->unknowns * sizeof *s->gamma);
            *error = evaluate(s);
            n_idle++;
            damping *= growth;
            growth *= 2;
        }
        NORMA_TRY(find_patience(s, *error, &n_idle_most));
    }
    return NORMA_OK;
}

static norma_status run_starts(search *s, norma_deep_report *report)
{
    double least = INFINITY;
    double root = sqrt((double)s->n);
    for (int64_t k = 0; k < s->how->n_starts && !report->solved; k++) {
        double error = 0;
        NORMA_TRY(start(s, k));
        NORMA_TRY(descend(s, &report->n_iterations, &error));
        report->n_starts++;
        if (!(error < least))
            continue;
        least = error;
        memcpy(s->best, scales(s), (size_t)s->unknowns * sizeof *s->best);
        report->rmse = error / root;
        NORMA_TRY(s->engine->find_floor(s->engine->context, &report->floor));
        report->solved = report->rmse <= exact * report->floor;
    }
    return NORMA_OK;
}

static norma_status run(search *s, norma_deep_report *report)
{
    NORMA_TRY(norma_rng_check(&s->how->stream, (s->how->n_starts + 1) * s->unknowns));
    norma_rng_fill_normal(s->how->seed, &s->how->stream, s->how->n_starts * s->unknowns,
                          s->unknowns, scales(s));
    norma_deep_update(s->d);
    NORMA_TRY(s->engine->find_rank(s->engine->context, &report->rank));
    if (report->rank < s->n && !s->how->takes_any_rank &&
        s->unknowns >= s->n + s->d->shape.n_layers - 1)
        return NORMA_OK;
    NORMA_TRY(run_starts(s, report));
    memcpy(scales(s), s->best, (size_t)s->unknowns * sizeof *s->best);
    norma_deep_update(s->d);
    return s->engine->find_condition(s->engine->context, &report->condition);
}

norma_status norma_deep_solve(norma_deep *d, const double *target, const norma_deep_search *how,
                              norma_deep_report *report)
{
    norma_deep_engine dense = {0};
    search s = {.d = d,
                .target = target,
                .how = how,
                .engine = how->engine ? how->engine : &dense,
                .n = d->n_equations,
                .unknowns = d->n_unknowns};
    memset(report, 0, sizeof *report);
    norma_status own = place(&s, s.engine->find_again != NULL, NULL);
    if (own == NORMA_OK && !how->engine)
        own = norma_deep_dense_create(d, &dense);
    norma_status status = own;
    if (s.engine->agree)
        status = s.engine->agree(s.engine->context, own);
    if (own == NORMA_OK && status == NORMA_OK)
        status = run(&s, report);
    norma_deep_dense_destroy(&dense);
    release(&s);
    return status;
}
