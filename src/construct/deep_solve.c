/* Levenberg-Marquardt for deep linear sources. */
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/construct/deep.h"
#include "src/construct/nearest.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* LAPACK, column-major. */
void dgeqp3_(const int *m, const int *n, double *a, const int *lda, int *jpvt, double *tau,
             double *work, const int *lwork, int *info);

enum {
    MOST_STEPS = 300, /* of a start */
    STALL = 12        /* steps in a row that gain little end a start */
};

/* A step that leaves more than this share of the error gains little. */
static const double little = 0.98;

/* An answer within so many floors is exact. */
static const double exact = 100;

typedef struct search {
    norma_deep *d;
    const double *target;
    const norma_deep_search *how;
    int64_t n, unknowns;
    double *rows;     /* [n][unknowns + n]: Jacobian and damping */
    double *residual; /* [n]: target - map */
    double *map;      /* [n] */
    double *step;     /* [unknowns + n] */
    double *gamma;    /* [unknowns]: kept */
    double *best;     /* [unknowns] */
} search;

static norma_status allocate(search *s)
{
    NORMA_TRY(NORMA_ALLOC(s->rows, s->n * (s->unknowns + s->n)));
    NORMA_TRY(NORMA_ALLOC(s->residual, s->n));
    NORMA_TRY(NORMA_ALLOC(s->map, s->n));
    NORMA_TRY(NORMA_ALLOC(s->step, s->unknowns + s->n));
    NORMA_TRY(NORMA_ALLOC(s->gamma, s->unknowns));
    return NORMA_ALLOC(s->best, s->unknowns);
}

static void release(search *s)
{
    NORMA_FREE(s->rows);
    NORMA_FREE(s->residual);
    NORMA_FREE(s->map);
    NORMA_FREE(s->step);
    NORMA_FREE(s->gamma);
    NORMA_FREE(s->best);
}

/* gamma of all layers, behind each other. */
static double *scales(const search *s)
{
    return s->d->gamma[1];
}

/* The residual at the present scales; returns its norm. */
static double evaluate(search *s)
{
    norma_deep_update(s->d);
    norma_deep_compose(s->d, s->map);
    for (int64_t r = 0; r < s->n; r++)
        s->residual[r] = s->target[r] - s->map[r];
    return cblas_dnrm2((int)s->n, s->residual, 1);
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

/* Root mean square over the weights of the rounding of the sums that they come from. */
static double rounding_floor(search *s)
{
    int64_t last = s->d->shape.n_layers;
    double square = 0;
    norma_deep_jacobian(s->d, s->unknowns, s->rows);
    for (int64_t r = 0; r < s->n; r++) {
        double sum = 0;
        int64_t column = 0;
        for (int64_t l = 1; l < last; l++) {
            for (int64_t c = 0; c < s->d->shape.width[l]; c++) {
                double term = s->rows[r * s->unknowns + column + c] * s->d->gamma[l][c];
                sum += term * term;
            }
            column += s->d->shape.width[l];
        }
        square += sum;
    }
    return DBL_EPSILON / 2 * sqrt(square / (double)s->n) * (double)last;
}

/* The rank of the Jacobian at the present scales. */
static norma_status find_rank(search *s, int64_t *rank)
{
    int rows = 0;
    int columns = 0;
    int info = 0;
    int n_work = 0;
    int *exchanges = NULL;
    double *work = NULL;
    norma_status status = norma_index_to_int(s->unknowns, "unknowns", &rows);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, norma_index_to_int(s->n, "equations", &columns));
    NORMA_GOTO(status, norma_index_to_int(s->n * 66 + 1, "numbers of a workspace", &n_work));
    NORMA_GOTO(status, NORMA_ALLOC(work, (int64_t)n_work + columns));
    NORMA_GOTO(status, NORMA_CALLOC(exchanges, columns));
    norma_deep_update(s->d);
    norma_deep_jacobian(s->d, s->unknowns, s->rows);
    dgeqp3_(&rows, &columns, s->rows, &rows, exchanges, work + n_work, work, &n_work, &info);
    int64_t least = rows < columns ? rows : columns;
    double smallest = fabs(s->rows[0]) * 8 * DBL_EPSILON * rows;
    for (*rank = 0; *rank < least; (*rank)++)
        if (!(fabs(s->rows[*rank * ((int64_t)rows + 1)]) > smallest))
            break;
done:
    NORMA_FREE(exchanges);
    NORMA_FREE(work);
    return status;
}

/* Scales drawn anew; then those of the widest layer solved for. */
static norma_status start(search *s, int64_t number)
{
    const norma_deep_shape *shape = &s->d->shape;
    int64_t widest = 1;
    int64_t column = 0;
    norma_nearest about;
    norma_rng_fill_normal(s->how->seed, &s->how->stream, number * s->unknowns, s->unknowns,
                          scales(s));
    for (int64_t l = 1; l <= shape->n_layers; l++)
        if (shape->width[l] > shape->width[widest])
            widest = l;
    for (int64_t l = 1; l < widest; l++)
        column += shape->width[l];
    norma_deep_update(s->d);
    norma_deep_jacobian(s->d, s->unknowns, s->rows);
    int64_t c = shape->width[widest];
    for (int64_t r = 0; r < s->n; r++)
        memmove(s->rows + r * c, s->rows + r * s->unknowns + column, (size_t)c * sizeof *s->rows);
    NORMA_TRY(norma_nearest_solve(s->n, c, s->rows, s->target, 0, s->step, &about));
    if (about.sigma_min > 0)
        memcpy(s->d->gamma[widest], s->step, (size_t)c * sizeof *s->step);
    balance(s);
    return NORMA_OK;
}

/* Takes a damped step; *gain: reduction of the squares over that of their linear model. */
static norma_status take_step(search *s, double damping, double before, double *after, double *gain)
{
    int64_t stride = s->unknowns + s->n;
    norma_nearest about;
    double model = 0;
    norma_deep_jacobian(s->d, stride, s->rows);
    for (int64_t r = 0; r < s->n; r++) {
        memset(s->rows + r * stride + s->unknowns, 0, (size_t)s->n * sizeof *s->rows);
        s->rows[r * stride + s->unknowns + r] = damping;
    }
    NORMA_TRY(norma_nearest_solve(s->n, stride, s->rows, s->residual, 0, s->step, &about));
    /* The residual of the linear model is damping times the last n unknowns. */
    model = before * before - pow(damping * cblas_dnrm2((int)s->n, s->step + s->unknowns, 1), 2);
    memcpy(s->gamma, scales(s), (size_t)s->unknowns * sizeof *s->gamma);
    cblas_daxpy((int)s->unknowns, 1, s->step, 1, scales(s), 1);
    *after = evaluate(s);
    *gain = model > 0 ? (before * before - *after * *after) / model : 0;
    return NORMA_OK;
}

/* From one start as far as it goes; *error: the norm of the residual. */
static norma_status descend(search *s, int64_t *n_steps, double *error)
{
    double growth = 2;
    int n_idle = 0;
    *error = evaluate(s);
    double target = cblas_dnrm2((int)s->n, s->target, 1);
    double damping = 1e-2 * target / sqrt((double)s->n);
    for (int k = 0; k < MOST_STEPS && n_idle<STALL && * error> 0; k++) {
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
            *error = evaluate(s);
        } else {
            memcpy(scales(s), s->gamma, (size_t)s->unknowns * sizeof *s->gamma);
            *error = evaluate(s);
            n_idle++;
            damping *= growth;
            growth *= 2;
        }
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
        report->floor = rounding_floor(s);
        report->solved = report->rmse <= exact * report->floor;
    }
    return NORMA_OK;
}

norma_status norma_deep_solve(norma_deep *d, const double *target, const norma_deep_search *how,
                              norma_deep_report *report)
{
    search s = {
        .d = d, .target = target, .how = how, .n = d->n_equations, .unknowns = d->n_unknowns};
    double sigma[2];
    memset(report, 0, sizeof *report);
    norma_status status = norma_rng_check(&how->stream, (how->n_starts + 1) * s.unknowns);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, allocate(&s));
    norma_rng_fill_normal(how->seed, &how->stream, how->n_starts * s.unknowns, s.unknowns,
                          scales(&s));
    NORMA_GOTO(status, find_rank(&s, &report->rank));
    if (report->rank < s.n && s.unknowns >= s.n + d->shape.n_layers - 1)
        goto done;
    NORMA_GOTO(status, run_starts(&s, report));
    memcpy(scales(&s), s.best, (size_t)s.unknowns * sizeof *s.best);
    norma_deep_update(d);
    norma_deep_jacobian(d, s.unknowns, s.rows);
    NORMA_GOTO(status, norma_nearest_edges(s.n, s.unknowns, s.rows, sigma));
    report->condition = sigma[1] > 0 ? sigma[0] / sigma[1] : INFINITY;
done:
    release(&s);
    return status;
}
