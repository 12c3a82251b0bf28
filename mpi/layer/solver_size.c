#include "mpi/layer/solver_size.h"

#include "mpi/krylov/lbfgs.h"
#include "mpi/layer/solver.h"
#include "mpi/linalg/dmat.h"
#include "mpi/system/assemble.h"
#include "mpi/system/dense.h"
#include "mpi/system/lu.h"
#include "mpi/system/refine.h"
#include "mpi/system/svd.h"

#include <math.h>
#include <omp.h>

/* Of the factorizations of large systems, whose rate it sets; small ones would leave ranks idle. */
#define FACTOR_BLOCK 192
#define FACTOR_BLOCK_FROM 4000
/* Of a preconditioned system; the first one finds the solution but for rounding. */
#define LBFGS_PRECONDITIONED_ITERATIONS 5

/* Iterations to the floor for weights of independent entries: a fit to c = 16 to 48, 3 x 3 (excess
 * 0.05: 1378, 0.1: 731, 0.2: 395, 0.5: 177), which n does not move. Least squares alike. */
int64_t norma_solver_size_iterations_local(int64_t n_features, int64_t n_system)
{
    double fewer = (double)(n_features < n_system ? n_features : n_system);
    double more = (double)(n_features < n_system ? n_system : n_features);
    double excess = fmax(more - fewer, 1) / fewer;
    return (int64_t)fmin(62 + 66 / excess, 10 * fewer + 1);
}

norma_status norma_solver_size_krylov(const norma_layer_problem *problem,
                                      const norma_solver_options *options, int n_ranks,
                                      norma_layer_choice *c)
{
    (void)options;
    double share = ceil((double)c->n_used / n_ranks);
    c->grid = (norma_grid_shape){1, n_ranks};
    c->iterations = norma_solver_size_iterations_local(c->n_used, c->n_system);
    c->flops = 2 * norma_khatri_rao_flops(&problem->shape, c->n_used) * (double)c->iterations;
    /* Vectors of the conjugate gradients, the passes and their process, and of another one that
     * measures M. */
    c->bytes += 8 * (11 * share + 11 * (double)c->n_system + 3 * (double)c->max_iterations +
                     2 * (double)c->measure_steps);
    return NORMA_OK;
}

/* Iterations of chebyshev, from the spread of the singular values of weights of independent entries
 * (RF section 2): a fit to c = 16, 3 x 3 (excess 0.02: 4168, 0.05: 2160, 0.1: 1020, 0.5: 244) and
 * c = 32 (0.1: 1000, 0.5: 235). Least squares alike. */
static int64_t expected_steps(int64_t n_features, int64_t n_system)
{
    double fewer = (double)(n_features < n_system ? n_features : n_system);
    double more = (double)(n_features < n_system ? n_system : n_features);
    double root = sqrt(1 + fmax(more - fewer, 1) / fewer);
    return (int64_t)(30 + 24 * (root + 1) / (root - 1));
}

norma_status norma_solver_size_chebyshev(const norma_layer_problem *problem,
                                         const norma_solver_options *options, int n_ranks,
                                         norma_layer_choice *c)
{
    (void)options;
    double share = ceil((double)c->n_used / n_ranks);
    c->grid = (norma_grid_shape){1, n_ranks};
    c->iterations = expected_steps(c->n_used, c->n_system);
    if (c->iterations > c->max_iterations)
        c->iterations = c->max_iterations;
    c->flops = 2 * norma_khatri_rao_flops(&problem->shape, c->n_used) * (double)c->iterations;
    /* Vectors of answer, iteration and process, and of another process that measures M. */
    c->bytes += 8 * (8 * share + 11 * (double)c->n_system + 2 * (double)c->measure_steps);
    return NORMA_OK;
}

/* Gamma, L-BFGS and the process that measures M. */
norma_status norma_solver_size_lbfgs(const norma_layer_problem *problem,
                                     const norma_solver_options *options, int n_ranks,
                                     norma_layer_choice *c)
{
    (void)options;
    double share = ceil((double)c->n_used / n_ranks);
    c->grid = (norma_grid_shape){1, n_ranks};
    c->iterations = norma_solver_size_iterations_local(c->n_used, c->n_system);
    if (c->iterations > c->max_iterations)
        c->iterations = c->max_iterations;
    c->flops = 2 * norma_khatri_rao_flops(&problem->shape, c->n_used) * (double)c->iterations;
    c->bytes += norma_lbfgs_bytes_local(c->n_system, (int64_t)share, c->history) +
                8 * (2 * share + 4 * (double)c->n_system + 2 * (double)c->measure_steps);
    return NORMA_OK;
}

static norma_status size_direct(const norma_layer_problem *problem,
                                const norma_solver_options *options, int n_ranks, bool mixed,
                                norma_layer_choice *c)
{
    double n = (double)c->n_system;
    if (options->block_size == 0 && c->n_system >= FACTOR_BLOCK_FROM)
        c->block_size = FACTOR_BLOCK;
    c->grid = norma_lu_grid_local(c->n_system, c->block_size, n_ranks);
    c->iterations = mixed ? 3 : 1;
    c->flops = 2 * n * n * n / 3 + 4 * n * n;
    c->bytes += norma_lu_bytes_local(&problem->shape, c->n_system, c->block_size, c->grid, mixed,
                                     omp_get_max_threads()) +
                8 * 7 * n + (mixed ? norma_refine_bytes_local(c->n_system) : 0);
    return norma_dmat_check_local(c->n_system, c->block_size, c->grid);
}

norma_status norma_solver_size_lu(const norma_layer_problem *problem,
                                  const norma_solver_options *options, int n_ranks,
                                  norma_layer_choice *c)
{
    return size_direct(problem, options, n_ranks, false, c);
}

norma_status norma_solver_size_mixed(const norma_layer_problem *problem,
                                     const norma_solver_options *options, int n_ranks,
                                     norma_layer_choice *c)
{
    return size_direct(problem, options, n_ranks, true, c);
}

static norma_status size_dense(const norma_layer_problem *problem,
                               const norma_solver_options *options, int n_ranks, bool vectors,
                               norma_layer_choice *c)
{
    norma_dense_size size = {.n_rows = c->n_system,
                             .n_columns = c->n_used,
                             .block = c->block_size,
                             .vectors = vectors,
                             .memory_per_rank = options->memory_per_rank};
    c->grid = norma_dense_grid_local(&size, n_ranks);
    c->iterations = 1;
    c->flops = norma_dense_flops_local(c->n_system, c->n_used, size.vectors);
    c->bytes +=
        norma_dense_bytes_local(&size, c->grid) +
        (vectors ? norma_svd_bytes_local(c->n_system, c->n_used)
                 : norma_solve_qr_bytes_local(c->n_system, c->n_used, size.block, c->grid)) +
        norma_assemble_bytes_local(&problem->shape, c->block_size, false, omp_get_max_threads());
    return norma_dense_check_local(&size, n_ranks);
}

norma_status norma_solver_size_qr(const norma_layer_problem *problem,
                                  const norma_solver_options *options, int n_ranks,
                                  norma_layer_choice *c)
{
    return size_dense(problem, options, n_ranks, false, c);
}

norma_status norma_solver_size_svd(const norma_layer_problem *problem,
                                   const norma_solver_options *options, int n_ranks,
                                   norma_layer_choice *c)
{
    return size_dense(problem, options, n_ranks, true, c);
}

norma_status norma_solver_size_lbfgs_svd(const norma_layer_problem *problem,
                                         const norma_solver_options *options, int n_ranks,
                                         norma_layer_choice *c)
{
    double share = ceil((double)c->n_used / n_ranks);
    norma_status status = size_dense(problem, options, n_ranks, true, c);
    c->iterations = LBFGS_PRECONDITIONED_ITERATIONS;
    c->bytes += norma_lbfgs_bytes_local(c->n_system, (int64_t)share, c->history);
    return status;
}
