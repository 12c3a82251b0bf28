#include "mpi/system/lu_condition.h"

#include "mpi/krylov/condition.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct work {
    const norma_system *system;
    norma_lu_inverse *invert;
    void *context;
    double tolerance;
    int64_t n, n_rows; /* of the system, of M */
    double *half;      /* [n] */
    double *rows;      /* [n] */
    double *whole;     /* [n] */
    double *last;      /* [n]: (S S')^-1 e_n; min rule */
} work;

/* out = (S S')^-1 in. */
static norma_status invert_system(void *context, const double *in, double *out)
{
    work *w = context;
    NORMA_TRY(w->invert(w->context, false, in, w->half));
    return w->invert(w->context, true, w->half, out);
}

/* out = (M M')^-1 in: M M' is S S' without its last row and column, so that its inverse is a Schur
 * complement in that of S S'. */
static norma_status invert_rows(void *context, const double *in, double *out)
{
    work *w = context;
    memcpy(w->rows, in, (size_t)w->n_rows * sizeof *in);
    w->rows[w->n_rows] = 0;
    NORMA_TRY(invert_system(w, w->rows, w->whole));
    double factor = w->whole[w->n_rows] / w->last[w->n_rows];
    for (int64_t r = 0; r < w->n_rows; r++)
        out[r] = w->whole[r] - factor * w->last[r];
    return NORMA_OK;
}

/* Singular values of the system and of M. A condition number beyond 1 / (2 n u) means that no digit
 * is certain: NORMA_NUMERIC. */
static norma_status measure_condition(work *w, double sigma_system, norma_layer_solution *solution)
{
    const norma_system *s = w->system;
    double largest = 0;
    NORMA_TRY(
        norma_condition_largest(s->comm, invert_system, w, w->n, s->seed, w->tolerance, &largest));
    solution->condition_number_solved = sigma_system * sqrt(largest);
    if (!(solution->condition_number_solved < 1 / ((double)w->n * DBL_EPSILON)))
        return norma_system_singular_local(s, solution->condition_number_solved);
    solution->sigma_max = sigma_system;
    solution->sigma_min = 1 / sqrt(largest);
    solution->condition_number = solution->condition_number_solved;
    if (w->n_rows == w->n)
        return NORMA_OK;
    solution->sigma_max = solution->sigma_min = solution->condition_number = NAN;
    if (w->n_rows == 0)
        return NORMA_OK;
    memset(w->whole, 0, (size_t)w->n * sizeof *w->whole);
    w->whole[w->n - 1] = 1;
    NORMA_TRY(invert_system(w, w->whole, w->last));
    NORMA_TRY(norma_system_largest(s, NORMA_PRODUCT_ROWS, NULL, &solution->sigma_max));
    NORMA_TRY(norma_condition_largest(s->comm, invert_rows, w, w->n_rows, s->seed, w->tolerance,
                                      &largest));
    solution->sigma_min = 1 / sqrt(largest);
    solution->condition_number = solution->sigma_max / solution->sigma_min;
    return NORMA_OK;
}

static norma_status allocate(work *w)
{
    NORMA_TRY(NORMA_ALLOC(w->half, w->n));
    NORMA_TRY(NORMA_ALLOC(w->rows, w->n));
    NORMA_TRY(NORMA_ALLOC(w->whole, w->n));
    return NORMA_ALLOC(w->last, w->n);
}

norma_status norma_lu_condition(const norma_system *system, norma_lu_inverse *invert, void *context,
                                double tolerance, double sigma_system,
                                norma_layer_solution *solution)
{
    work w = {.system = system,
              .invert = invert,
              .context = context,
              .tolerance = tolerance,
              .n = system->rule->n_system,
              .n_rows = system->rule->n_rows};
    norma_status status = norma_agree(system->comm, allocate(&w));
    if (status == NORMA_OK)
        status = measure_condition(&w, sigma_system, solution);
    NORMA_FREE(w.half);
    NORMA_FREE(w.rows);
    NORMA_FREE(w.whole);
    NORMA_FREE(w.last);
    return status;
}
