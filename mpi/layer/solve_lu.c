#include "mpi/layer/solver.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/lu.h"
#include "mpi/system/lu_condition.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

#define MAX_REFINEMENTS 5

typedef struct work {
    const norma_system *system;
    norma_lu *lu;
    int64_t n;          /* of the system */
    double *residual;   /* [n] */
    double *trial;      /* [n] */
    double *correction; /* [n] */
} work;

/* residual = rhs - S x, by the structured product; returns its norm. */
static double measure_residual(work *w, const double *x)
{
    int64_t first = 0;
    norma_product_share_local(w->system->product, &first);
    return norma_system_residual(w->system, x + first, w->residual);
}

/* x = S^-1 rhs, refined while that at least halves the residual and more than rounding is left. */
static norma_status solve_refined(work *w, double sigma_max, double *x, int64_t *iterations)
{
    double before = INFINITY;
    *iterations = 0;
    norma_lu_solve(w->lu, false, w->system->rhs, x);
    double size = measure_residual(w, x);
    while (*iterations < MAX_REFINEMENTS && size > 0 && size <= before / 2) {
        if (*iterations > 0 &&
            size <= NORMA_ROUNDOFF * sigma_max * norma_replicated_norm_local(x, w->n))
            break;
        norma_lu_solve(w->lu, false, w->residual, w->correction);
        memcpy(w->trial, x, (size_t)w->n * sizeof *x);
        norma_replicated_add_local(1, w->correction, w->trial, w->n);
        before = size;
        size = measure_residual(w, w->trial);
        if (size < before) {
            memcpy(x, w->trial, (size_t)w->n * sizeof *x);
            ++*iterations;
        }
    }
    return NORMA_OK;
}

static norma_status invert(void *context, bool transpose, const double *b, double *x)
{
    norma_lu_solve(context, transpose, b, x);
    return NORMA_OK;
}

static norma_status allocate(work *w)
{
    NORMA_TRY(NORMA_ALLOC(w->residual, w->n));
    NORMA_TRY(NORMA_ALLOC(w->trial, w->n));
    return NORMA_ALLOC(w->correction, w->n);
}

norma_status norma_solve_lu(const norma_system *system, double *gamma,
                            norma_layer_solution *solution)
{
    work w = {.system = system, .n = system->rule->n_system};
    double sigma_system = 0;
    double error = 0;
    double n = (double)w.n;
    norma_grid_shape grid = {1, 1};
    int size = 0;
    MPI_Comm_size(system->comm, &size);
    norma_status status = norma_agree(system->comm, allocate(&w));
    if (status != NORMA_OK)
        goto done;
    NORMA_GOTO(status, norma_lu_create(system, false, &solution->seconds_assembly,
                                       &solution->seconds, &w.lu));
    double start = norma_progress_clock_local();
    NORMA_GOTO(status,
               norma_system_largest(system, NORMA_PRODUCT_SYSTEM, NULL, &sigma_system, &error));
    NORMA_GOTO(status, norma_lu_condition(system, invert, w.lu, NORMA_CONDITION_SHARP, sigma_system,
                                          error, solution));
    double measured = norma_progress_clock_local();
    NORMA_GOTO(status, solve_refined(&w, sigma_system, gamma, &solution->iterations));
    solution->seconds_condition = measured - start;
    solution->seconds += norma_progress_clock_local() - measured;
    solution->gflops = (2 * n * n * n / 3 + (double)(solution->iterations + 1) * 2 * n * n) /
                       solution->seconds / 1e9;
    grid = norma_lu_grid_local(w.n, system->block_size, size);
    solution->grid_rows = grid.n_rows;
    solution->grid_columns = grid.n_columns;
    solution->n_idle = size - grid.n_rows * grid.n_columns;
done:
    norma_lu_destroy(&w.lu);
    NORMA_FREE(w.residual);
    NORMA_FREE(w.trial);
    NORMA_FREE(w.correction);
    return status;
}
