#include "mpi/layer/solver.h"

#include "src/base/text.h"

#include <string.h>

static const char *const names[NORMA_N_SOLVERS] = {"auto",      "lu",          "mixed", "krylov",
                                                   "chebyshev", "qr",          "svd",   "lbfgs",
                                                   "lbfgs-svd", "lbfgs-solved"};

norma_status norma_solver_from_name(const char *name, norma_solver *out)
{
    for (int s = 0; s < NORMA_N_SOLVERS; s++) {
        if (strcmp(name, names[s]) == 0) {
            *out = (norma_solver)s;
            return NORMA_OK;
        }
    }
    const char *nearest = norma_text_nearest(name, names, NORMA_N_SOLVERS);
    return NORMA_FAIL(NORMA_CONFIG,
                      "solver '%s' is not known: auto, lu, mixed, krylov, chebyshev, qr, svd, "
                      "lbfgs, lbfgs-svd or lbfgs-solved%s%s%s",
                      name, nearest ? " (did you mean " : "", nearest ? nearest : "",
                      nearest ? "?)" : "");
}

const char *norma_solver_name(norma_solver solver)
{
    return names[solver];
}

bool norma_solver_is_lbfgs(norma_solver solver)
{
    return solver == NORMA_SOLVER_LBFGS || solver == NORMA_SOLVER_LBFGS_SVD ||
           solver == NORMA_SOLVER_LBFGS_SOLVED;
}
