#include "mpi/system/answer.h"

#include "mpi/linalg/replicated.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

norma_status norma_answer_init_local(const norma_system *system, norma_answer *a)
{
    int64_t first = 0;
    *a = (norma_answer){.system = system, .n = system->rule->n_system};
    a->n_share = norma_product_share_local(system->product, &first);
    a->wide = norma_product_n_features_local(system->product) >= a->n;
    NORMA_TRY(NORMA_CALLOC(a->x, a->n_share));
    NORMA_TRY(NORMA_ALLOC(a->trial, a->n_share));
    NORMA_TRY(NORMA_ALLOC(a->step, a->n_share));
    return NORMA_ALLOC(a->residual, a->n);
}

void norma_answer_measure(norma_answer *a, const double *x)
{
    a->size = norma_system_residual(a->system, x, a->residual);
    a->gradient = a->wide ? 0 : norma_system_gradient(a->system, a->residual, a->step);
}

void norma_answer_accept(norma_answer *a, const double *from)
{
    memcpy(a->x, from, (size_t)a->n_share * sizeof *a->x);
    a->x_squares = norma_replicated_dot_local(a->x, a->x, a->n_share);
    MPI_Allreduce(MPI_IN_PLACE, &a->x_squares, 1, MPI_DOUBLE, MPI_SUM, a->system->comm);
}

double norma_answer_error_local(const norma_answer *a)
{
    return a->wide ? a->size : a->gradient;
}

static double wanted_residual(const norma_answer *a)
{
    return 5 * NORMA_ROUNDOFF * a->sigma_max * sqrt(a->x_squares);
}

double norma_answer_wanted_local(const norma_answer *a)
{
    double residual = wanted_residual(a);
    return a->wide ? residual : 5 * a->sigma_max * (NORMA_ROUNDOFF * a->size + residual);
}

bool norma_answer_is_good_local(const norma_answer *a, double factor)
{
    return a->size <= factor * wanted_residual(a) ||
           (!a->wide && a->gradient <= factor * norma_answer_wanted_local(a));
}

norma_status norma_answer_missed_local(const norma_answer *a, const char *name, const char *ended,
                                       int64_t iterations, const char *exact,
                                       const char *least_squares)
{
    return NORMA_FAIL(
        NORMA_NUMERIC, "%s %s after %lld iterations with a %s of %.3g where %.3g was wanted: %s",
        name, ended, (long long)iterations, a->wide ? "residual" : "gradient",
        norma_answer_error_local(a), norma_answer_wanted_local(a), a->wide ? exact : least_squares);
}

norma_status norma_answer_describe(norma_answer *a, bool settled, norma_layer_solution *solution)
{
    double start = norma_progress_clock_local();
    if (!settled && a->system->condition != NORMA_CONDITION_NONE)
        a->sigma_max = NAN;
    NORMA_TRY(
        norma_system_condition(a->system, &a->sigma_max, &a->sigma_min, &a->sigma_error, solution));
    solution->seconds_condition += norma_progress_clock_local() - start;
    if (!a->wide && a->size > 0)
        solution->relative_gradient = a->gradient / (a->sigma_max * a->size);
    return NORMA_OK;
}

void norma_answer_deliver(const norma_answer *a, norma_status status, double *gamma,
                          norma_layer_solution *solution)
{
    if (status == NORMA_OK)
        norma_product_gather(a->system->product, a->x, gamma);
    MPI_Comm_size(a->system->comm, &solution->grid_columns);
    solution->grid_rows = 1;
    solution->n_idle = 0;
}

void norma_answer_clear_local(norma_answer *a)
{
    NORMA_FREE(a->x);
    NORMA_FREE(a->trial);
    NORMA_FREE(a->step);
    NORMA_FREE(a->residual);
    memset(a, 0, sizeof *a);
}
