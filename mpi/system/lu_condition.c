#include "mpi/system/lu_condition.h"

#include "mpi/krylov/condition.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* (M M')^-1 from (S S')^-1. */
typedef struct rows {
    norma_condition_operator invert; /* by (S S')^-1 */
    void *context;
    int64_t n_rows;     /* of M; S has one more */
    double *in, *whole; /* [n_rows + 1] */
    double *last;       /* [n_rows + 1]: (S S')^-1 e, e the last unit vector */
} rows;

/* out = (M M')^-1 in: M M' is S S' without its last row and column, so its inverse is the Schur
 * complement of the last diagonal element of (S S')^-1. */
static norma_status invert_rows(void *context, const double *in, double *out)
{
    rows *w = context;
    memcpy(w->in, in, (size_t)w->n_rows * sizeof *in);
    w->in[w->n_rows] = 0;
    NORMA_TRY(w->invert(w->context, w->in, w->whole));
    double factor = w->whole[w->n_rows] / w->last[w->n_rows];
    for (int64_t r = 0; r < w->n_rows; r++)
        out[r] = w->whole[r] - factor * w->last[r];
    return NORMA_OK;
}

static norma_status allocate_rows(rows *w)
{
    NORMA_TRY(NORMA_ALLOC(w->in, w->n_rows + 1));
    NORMA_TRY(NORMA_ALLOC(w->whole, w->n_rows + 1));
    return NORMA_ALLOC(w->last, w->n_rows + 1);
}

norma_status norma_lu_condition_rows(const norma_system *system, norma_condition_operator invert,
                                     void *context, double tolerance,
                                     norma_layer_solution *solution)
{
    double error_max = 0;
    double error_min = 0;
    double largest = 0;
    rows w = {.invert = invert, .context = context, .n_rows = system->rule->n_rows};
    solution->sigma_max = solution->sigma_min = NAN;
    solution->condition_number = solution->condition_error = NAN;
    if (w.n_rows == 0)
        return NORMA_OK;
    norma_status status = norma_agree(system->comm, allocate_rows(&w));
    NORMA_GOTO(status, status);
    memset(w.in, 0, (size_t)w.n_rows * sizeof *w.in);
    w.in[w.n_rows] = 1;
    NORMA_GOTO(status, invert(context, w.in, w.last));
    NORMA_GOTO(status, norma_system_largest(system, NORMA_PRODUCT_ROWS, NULL, &solution->sigma_max,
                                            &error_max));
    NORMA_GOTO(status, norma_condition_largest(system->comm, invert_rows, &w, w.n_rows,
                                               system->seed, tolerance, &largest, &error_min));
    solution->sigma_min = 1 / sqrt(largest);
    solution->condition_number = solution->sigma_max / solution->sigma_min;
    solution->condition_error = error_max + error_min;
done:
    NORMA_FREE(w.in);
    NORMA_FREE(w.whole);
    NORMA_FREE(w.last);
    return status;
}

typedef struct work {
    norma_lu_inverse *invert;
    void *context;
    double *half; /* [n] */
} work;

/* out = (S S')^-1 in. */
static norma_status invert_system(void *context, const double *in, double *out)
{
    work *w = context;
    NORMA_TRY(w->invert(w->context, false, in, w->half));
    return w->invert(w->context, true, w->half, out);
}

/* Singular values of the system and of M. A condition number beyond 1 / (2 n u) means that no digit
 * is certain: NORMA_NUMERIC. */
static norma_status measure_condition(const norma_system *s, work *w, double tolerance,
                                      double sigma_system, double error_system,
                                      norma_layer_solution *solution)
{
    int64_t n = s->rule->n_system;
    double largest = 0;
    double error = 0;
    NORMA_TRY(norma_condition_largest(s->comm, invert_system, w, n, s->seed, tolerance, &largest,
                                      &error));
    solution->condition_number_solved = sigma_system * sqrt(largest);
    if (!(solution->condition_number_solved < 1 / ((double)n * DBL_EPSILON)))
        return norma_system_singular_local(s, solution->condition_number_solved);
    if (s->rule->n_rows < n)
        return norma_lu_condition_rows(s, invert_system, w, tolerance, solution);
    solution->sigma_max = sigma_system;
    solution->sigma_min = 1 / sqrt(largest);
    solution->condition_number = solution->condition_number_solved;
    solution->condition_error = error_system + error;
    return NORMA_OK;
}

norma_status norma_lu_condition(const norma_system *system, norma_lu_inverse *invert, void *context,
                                double tolerance, double sigma_system, double error_system,
                                norma_layer_solution *solution)
{
    work w = {.invert = invert, .context = context};
    if (system->condition == NORMA_CONDITION_NONE)
        return norma_system_condition(system, &sigma_system, NULL, NULL, solution);
    norma_status status = norma_agree(system->comm, NORMA_ALLOC(w.half, system->rule->n_system));
    if (status == NORMA_OK)
        status = measure_condition(system, &w, norma_system_tolerance_local(system, tolerance),
                                   sigma_system, error_system, solution);
    NORMA_FREE(w.half);
    return status;
}
