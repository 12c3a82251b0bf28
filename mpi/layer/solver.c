#include "mpi/layer/solver.h"

/* L-BFGS has no bound of its iterations. */
#define LBFGS_MOST_ITERATIONS 20000
/* Enough for singular values that spread over 2500; beyond, krylov takes less. */
#define CHEBYSHEV_MOST_ITERATIONS 50000

static const norma_solver_descriptor table[] = {
    [NORMA_SOLVER_AUTO] =
        {
            .name = "auto",
            .summary = "lu, mixed or krylov, by shape, excess and memory; the log gives the reason",
            .iterates = true,
        },
    [NORMA_SOLVER_LU] =
        {
            .name = "lu",
            .summary = "block-cyclic FP64 factors, refined with the structured residual",
            .solve = norma_solve_lu,
            .size = norma_solver_size_lu,
            .time = norma_solver_time_lu,
            .square = true,
            .stores_matrix = true,
        },
    [NORMA_SOLVER_MIXED] =
        {
            .name = "mixed",
            .summary = "as lu from FP32 factors in half the memory; lu takes over where those fail",
            .solve = norma_solve_mixed,
            .size = norma_solver_size_mixed,
            .time = norma_solver_time_mixed,
            .square = true,
            .stores_matrix = true,
        },
    [NORMA_SOLVER_KRYLOV] =
        {
            .name = "krylov",
            .summary = "matrix-free; minimum norm above the minimal width, least squares below",
            .solve = norma_solve_krylov,
            .size = norma_solver_size_krylov,
            .time = norma_solver_time_krylov,
            .single_products = true,
            .iterates = true,
        },
    [NORMA_SOLVER_CHEBYSHEV] =
        {
            .name = "chebyshev",
            .summary = "as krylov without inner products, from bounds of the singular values",
            .solve = norma_solve_chebyshev,
            .size = norma_solver_size_chebyshev,
            .time = norma_solver_time_chebyshev,
            .most_iterations = CHEBYSHEV_MOST_ITERATIONS,
            .well_conditioned = true,
            .single_products = true,
            .iterates = true,
        },
    [NORMA_SOLVER_QR] =
        {
            .name = "qr",
            .summary = "FP64 factors; minimum norm above the minimal width, least squares below",
            .solve = norma_solve_qr,
            .size = norma_solver_size_qr,
            .time = norma_solver_time_qr,
            .stores_matrix = true,
        },
    [NORMA_SOLVER_SVD] =
        {
            .name = "svd",
            .summary = "pseudo-inverse for any rank; singular values up to max(equations, "
                       "features) 2^-52 of the largest count as 0",
            .solve = norma_solve_svd,
            .size = norma_solver_size_svd,
            .time = norma_solver_time_svd,
            .stores_matrix = true,
            .any_rank = true,
        },
    [NORMA_SOLVER_LBFGS] =
        {
            .name = "lbfgs",
            .summary = "the papers' method: matrix-free L-BFGS from gamma = 0 with an exact line "
                       "search",
            .solve = norma_solve_lbfgs,
            .size = norma_solver_size_lbfgs,
            .time = norma_solver_time_lbfgs,
            .most_iterations = LBFGS_MOST_ITERATIONS,
            .iterates = true,
            .single = true,
            .history = true,
            .states_answer = true,
        },
    [NORMA_SOLVER_LBFGS_SVD] =
        {
            .name = "lbfgs-svd",
            .summary = "as lbfgs, the system preconditioned with its singular value decomposition "
                       "(RF Fig. 2 c)",
            .solve = norma_solve_lbfgs_svd,
            .size = norma_solver_size_lbfgs_svd,
            .time = norma_solver_time_lbfgs_svd,
            .most_iterations = LBFGS_MOST_ITERATIONS,
            .stores_matrix = true,
            .iterates = true,
            .single = true,
            .history = true,
            .states_answer = true,
        },
    [NORMA_SOLVER_LBFGS_SOLVED] =
        {
            .name = "lbfgs-solved",
            .summary = "as lbfgs-svd from the direct solution of that system (RF Fig. 2 d)",
            .solve = norma_solve_lbfgs_solved,
            .size = norma_solver_size_lbfgs_svd,
            .time = norma_solver_time_lbfgs_svd,
            .most_iterations = LBFGS_MOST_ITERATIONS,
            .stores_matrix = true,
            .iterates = true,
            .single = true,
            .history = true,
            .states_answer = true,
        },
};

static bool has_iterations(int64_t i)
{
    return table[i].iterates && table[i].solve;
}

static bool has_single(int64_t i)
{
    return table[i].single;
}

static bool has_history(int64_t i)
{
    return table[i].history;
}

static bool has_least_squares(int64_t i)
{
    return table[i].solve && !table[i].square && !table[i].states_answer;
}

#define PART(takes) NORMA_NAMES_OF("solver", "solvers", table, takes)
const norma_names norma_solver_names = NORMA_NAMES("solver", "solvers", table);
const norma_names norma_solver_iterating_names = PART(has_iterations);
const norma_names norma_solver_single_names = PART(has_single);
const norma_names norma_solver_history_names = PART(has_history);
const norma_names norma_solver_least_squares_names = PART(has_least_squares);

const norma_solver_descriptor *norma_solver_describe(norma_solver solver)
{
    return &table[solver];
}

const char *norma_solver_name(norma_solver solver)
{
    return table[solver].name;
}
