/* Dense factors on one rank for the search of deep sources. */
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/construct/deep_engine.h"
#include "src/construct/nearest.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* LAPACK, column-major. */
void dgeqp3_(const int *m, const int *n, double *a, const int *lda, int *jpvt, double *tau,
             double *work, const int *lwork, int *info);

typedef struct dense {
    norma_deep *d;
    int64_t n, unknowns;
    double *rows; /* [n][unknowns + n]: Jacobian and damping */
    double *step; /* [unknowns + n] */
} dense;

/* The rank of the Jacobian at the present scales. */
static norma_status find_rank(void *context, int64_t *rank)
{
    dense *s = context;
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

static norma_status solve_layer(void *context, int64_t layer, const double *target, double *gamma,
                                bool *solved)
{
    dense *s = context;
    int64_t column = 0;
    int64_t c = s->d->shape.width[layer];
    norma_nearest about;
    for (int64_t l = 1; l < layer; l++)
        column += s->d->shape.width[l];
    norma_deep_jacobian(s->d, s->unknowns, s->rows);
    for (int64_t r = 0; r < s->n; r++)
        memmove(s->rows + r * c, s->rows + r * s->unknowns + column, (size_t)c * sizeof *s->rows);
    NORMA_TRY(norma_nearest_solve(s->n, c, s->rows, target, 0, gamma, &about));
    *solved = about.sigma_min > 0;
    return NORMA_OK;
}

/* Minimum norm of the rows [J, damping I], whose last n unknowns are residuals over damping. */
static norma_status find_step(void *context, double damping, const double *residual, double *step,
                              double *left)
{
    dense *s = context;
    int64_t stride = s->unknowns + s->n;
    norma_nearest about;
    norma_deep_jacobian(s->d, stride, s->rows);
    for (int64_t r = 0; r < s->n; r++) {
        memset(s->rows + r * stride + s->unknowns, 0, (size_t)s->n * sizeof *s->rows);
        s->rows[r * stride + s->unknowns + r] = damping;
    }
    NORMA_TRY(norma_nearest_solve(s->n, stride, s->rows, residual, 0, s->step, &about));
    *left = pow(damping * cblas_dnrm2((int)s->n, s->step + s->unknowns, 1), 2);
    memcpy(step, s->step, (size_t)s->unknowns * sizeof *step);
    return NORMA_OK;
}

static norma_status find_floor(void *context, double *floor)
{
    dense *s = context;
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
    *floor = norma_deep_floor(s->d, square);
    return NORMA_OK;
}

static norma_status find_condition(void *context, double *condition)
{
    dense *s = context;
    double sigma[2];
    norma_deep_jacobian(s->d, s->unknowns, s->rows);
    NORMA_TRY(norma_nearest_edges(s->n, s->unknowns, s->rows, sigma));
    *condition = sigma[1] > 0 ? sigma[0] / sigma[1] : INFINITY;
    return NORMA_OK;
}

double norma_deep_floor(const norma_deep *d, double sum_of_squares)
{
    return DBL_EPSILON / 2 * sqrt(sum_of_squares / (double)d->n_equations) *
           (double)d->shape.n_layers;
}

norma_status norma_deep_dense_create(norma_deep *d, norma_deep_engine *engine)
{
    dense *s = NULL;
    *engine = (norma_deep_engine){.find_rank = find_rank,
                                  .solve_layer = solve_layer,
                                  .find_step = find_step,
                                  .find_floor = find_floor,
                                  .find_condition = find_condition};
    NORMA_TRY(NORMA_CALLOC(s, 1));
    engine->context = s;
    s->d = d;
    s->n = d->n_equations;
    s->unknowns = d->n_unknowns;
    NORMA_TRY(NORMA_ALLOC(s->rows, s->n * (s->unknowns + s->n)));
    return NORMA_ALLOC(s->step, s->unknowns + s->n);
}

void norma_deep_dense_destroy(norma_deep_engine *engine)
{
    dense *s = engine->context;
    if (!s)
        return;
    NORMA_FREE(s->rows);
    NORMA_FREE(s->step);
    NORMA_FREE(engine->context);
}
