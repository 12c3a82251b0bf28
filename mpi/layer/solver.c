#include "mpi/layer/solver.h"

static const norma_solver_descriptor table[NORMA_N_SOLVERS] = {
    [NORMA_SOLVER_AUTO] = {"auto", "lu, mixed or krylov, by shape, excess and memory; the log "
                                   "gives the reason"},
    [NORMA_SOLVER_LU] = {"lu", "block-cyclic FP64 factors, refined with the structured residual"},
    [NORMA_SOLVER_MIXED] = {"mixed", "as lu from FP32 factors in half the memory; lu takes over "
                                     "where those fail"},
    [NORMA_SOLVER_KRYLOV] = {"krylov", "matrix-free; minimum norm above the minimal width, least "
                                       "squares below"},
    [NORMA_SOLVER_CHEBYSHEV] = {"chebyshev", "as krylov without inner products, from bounds of the "
                                             "singular values"},
    [NORMA_SOLVER_QR] = {"qr", "FP64 factors; minimum norm above the minimal width, least squares "
                               "below"},
    [NORMA_SOLVER_SVD] = {"svd", "pseudo-inverse for any rank; singular values up to "
                                 "max(equations, features) 2^-52 of the largest count as 0"},
    [NORMA_SOLVER_LBFGS] = {"lbfgs", "the papers' method: matrix-free L-BFGS from gamma = 0 with "
                                     "an exact line search"},
    [NORMA_SOLVER_LBFGS_SVD] = {"lbfgs-svd", "as lbfgs, the system preconditioned with its "
                                             "singular value decomposition (RF Fig. 2 c)"},
    [NORMA_SOLVER_LBFGS_SOLVED] = {"lbfgs-solved", "as lbfgs-svd from the direct solution of that "
                                                   "system (RF Fig. 2 d)"},
};

const norma_names norma_solver_names = NORMA_NAMES("solver", "solvers", table);

norma_status norma_solver_from_name(const char *name, norma_solver *out)
{
    int64_t i = 0;
    NORMA_TRY(norma_names_find(&norma_solver_names, name, &i));
    *out = (norma_solver)i;
    return NORMA_OK;
}

const char *norma_solver_name(norma_solver solver)
{
    return table[solver].name;
}

bool norma_solver_is_lbfgs(norma_solver solver)
{
    return solver == NORMA_SOLVER_LBFGS || solver == NORMA_SOLVER_LBFGS_SVD ||
           solver == NORMA_SOLVER_LBFGS_SOLVED;
}
