#include "mpi/layer/solver.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/lu.h"
#include "mpi/system/lu_condition.h"
#include "mpi/system/refine.h"

#include <omp.h>

/* Relative error of the inverse that the smallest singular value is measured with, and of that
 * value. */
#define MEASURED 1e-4

/* Steps of refinement that show factors good enough for an estimate: each divided the error of the
 * solution, in which the smallest singular values weigh most, by a thousand and more. */
#define FEW_STEPS 4

static norma_status invert(void *context, bool transpose, const double *b, double *x)
{
    int64_t iterations = 0;
    return norma_refine_solve(context, transpose, MEASURED, b, x, &iterations);
}

/* By the factors alone. */
static norma_status invert_rough(void *context, bool transpose, const double *b, double *x)
{
    norma_lu_solve(context, transpose, b, x);
    return NORMA_OK;
}

static norma_status solve(const norma_system *system, double *gamma, norma_layer_solution *solution)
{
    norma_lu *lu = NULL;
    norma_refine *refine = NULL;
    double sigma = 0;
    double error = 0;
    double n = (double)system->rule->n_system;
    int size = 0;
    MPI_Comm_size(system->comm, &size);
    norma_status status =
        norma_lu_create(system, true, &solution->seconds_assembly, &solution->seconds, &lu);
    if (status != NORMA_OK)
        goto done;
    double start = norma_progress_clock_local();
    NORMA_GOTO(status, norma_system_largest(system, NORMA_PRODUCT_SYSTEM, NULL, &sigma, &error));
    double measured = norma_progress_clock_local();
    NORMA_GOTO(status, norma_refine_create(system, lu, sigma, &refine));
    solution->iterations = 0;
    NORMA_GOTO(status, norma_agree(system->comm, norma_refine_solve(refine, false, 0, system->rhs,
                                                                    gamma, &solution->iterations)));
    double solved = norma_progress_clock_local();
    if (system->condition == NORMA_CONDITION_ESTIMATE && solution->iterations <= FEW_STEPS)
        status = norma_lu_condition(system, invert_rough, lu, MEASURED, sigma, error, solution);
    else
        status = norma_lu_condition(system, invert, refine, MEASURED, sigma, error, solution);
    NORMA_GOTO(status, norma_agree(system->comm, status));
    solution->seconds += solved - measured;
    solution->seconds_condition = measured - start + norma_progress_clock_local() - solved;
    solution->gflops = (2 * n * n * n / 3 + (double)(solution->iterations + 1) * 4 * n * n) /
                       solution->seconds / 1e9;
    norma_grid_shape grid = norma_lu_grid_local(system->rule->n_system, system->block_size, size);
    solution->grid_rows = grid.n_rows;
    solution->grid_columns = grid.n_columns;
    solution->n_idle = size - grid.n_rows * grid.n_columns;
done:
    norma_refine_destroy_local(&refine);
    norma_lu_destroy(&lu);
    return status;
}

/* Bytes of lu on the rank that holds most. */
static double lu_bytes(const norma_system *system)
{
    int size = 0;
    MPI_Comm_size(system->comm, &size);
    int64_t n = system->rule->n_system;
    return norma_lu_bytes_local(&system->rule->shape, n, system->block_size,
                                norma_lu_grid_local(n, system->block_size, size), false,
                                omp_get_max_threads());
}

norma_status norma_solve_mixed(const norma_system *system, double *gamma,
                               norma_layer_solution *solution)
{
    norma_status status = solve(system, gamma, solution);
    if (status != NORMA_NUMERIC)
        return status;
    double bytes = lu_bytes(system);
    if (system->memory_per_rank > 0 && bytes > system->memory_per_rank)
        return norma_status_context(
            status,
            "mixed failed, and lu, which might not, needs %.3g GiB a rank: ", bytes / 0x1p30);
    norma_log_info("mixed: %s; lu instead", norma_status_error()->message);
    norma_status_clear();
    solution->solver = NORMA_SOLVER_LU;
    norma_system fallback = *system;
    fallback.name = norma_solver_name(solution->solver);
    return norma_solve_lu(&fallback, gamma, solution);
}
