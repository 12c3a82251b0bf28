#include "experiments/reconstruct/solver.h"

#include "experiments/reconstruct/options.h"

#include <string.h>

static norma_status refuse(const norma_config *config, const char *option, const char *text,
                           const char *solver)
{
    return NORMA_FAIL(norma_config_blame(config, option), "%s: %s; --solver %s does not",
                      norma_config_where(config, option), text, solver);
}

norma_status norma_reconstruct_solver_check_options(const norma_config *config)
{
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++) {
        const char *name = norma_config_get_text(config, i, "solver");
        norma_solver solver = NORMA_SOLVER_AUTO;
        NORMA_TRY(norma_solver_from_name(name, &solver));
        bool lbfgs = norma_solver_is_lbfgs(solver);
        bool single = strcmp(norma_config_get_text(config, i, "solver-precision"),
                             NORMA_RECONSTRUCT_SINGLE) == 0;
        if (!lbfgs && single)
            return refuse(config, "solver-precision",
                          "single: only lbfgs, lbfgs-svd and lbfgs-solved compute in FP32", name);
        if (!lbfgs && norma_config_has(config, "lbfgs-history"))
            return refuse(config, "lbfgs-history",
                          "lbfgs, lbfgs-svd and lbfgs-solved keep past steps", name);
        if (!lbfgs && solver != NORMA_SOLVER_KRYLOV && solver != NORMA_SOLVER_CHEBYSHEV &&
            solver != NORMA_SOLVER_AUTO && norma_config_has(config, "max-iterations"))
            return refuse(config, "max-iterations",
                          "krylov, chebyshev, lbfgs, lbfgs-svd and lbfgs-solved iterate", name);
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_solver_init(const norma_config *config, norma_reconstruct_cell *cell)
{
    int64_t i = cell->number;
    NORMA_TRY(norma_solver_from_name(norma_config_get_text(config, i, "solver"), &cell->solver));
    cell->solves_single =
        strcmp(norma_config_get_text(config, i, "solver-precision"), NORMA_RECONSTRUCT_SINGLE) == 0;
    if (norma_config_has(config, "lbfgs-history"))
        cell->lbfgs_history = norma_config_get_integer(config, i, "lbfgs-history");
    if (norma_config_has(config, "max-iterations"))
        cell->max_iterations = norma_config_get_integer(config, i, "max-iterations");
    return NORMA_OK;
}

norma_solver_options norma_reconstruct_solver_options(const norma_reconstruct_cell *cell,
                                                      double memory_per_rank)
{
    return (norma_solver_options){.solver = cell->solver,
                                  .store = cell->store,
                                  .max_iterations = cell->max_iterations,
                                  .history = cell->lbfgs_history,
                                  .single = cell->solves_single,
                                  .memory_per_rank = memory_per_rank,
                                  .seed = cell->seed};
}
