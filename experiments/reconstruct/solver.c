#include "experiments/reconstruct/solver.h"

#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/options.h"

#include <string.h>

/* The solver does not know the option; `members` do. */
static norma_status refuse(const norma_config *config, const char *option,
                           const norma_names *members, const char *solver)
{
    char names[256];
    return NORMA_FAIL(
        norma_config_blame(config, option), "%s: only %s take this option; --solver %s does not",
        norma_config_where(config, option), norma_names_join(members, names, sizeof names), solver);
}

norma_status norma_reconstruct_solver_check_options(const norma_config *config)
{
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++) {
        norma_solver solver = (norma_solver)norma_config_get_choice(config, i, "solver");
        const norma_solver_descriptor *d = norma_solver_describe(solver);
        bool single = strcmp(norma_config_get_text(config, i, "solver-precision"),
                             NORMA_RECONSTRUCT_SINGLE) == 0;
        if (!d->single && single)
            return refuse(config, "solver-precision", &norma_solver_single_names, d->name);
        if (!d->history && norma_config_has(config, "lbfgs-history"))
            return refuse(config, "lbfgs-history", &norma_solver_history_names, d->name);
        if (!d->iterates && norma_config_has(config, "max-iterations"))
            return refuse(config, "max-iterations", &norma_solver_iterating_names, d->name);
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_solver_init(const norma_config *config, norma_reconstruct_cell *cell)
{
    int64_t i = cell->number;
    cell->solver = (norma_solver)norma_config_get_choice(config, i, "solver");
    if (cell->solver == NORMA_SOLVER_AUTO && norma_reconstruct_teacher_wanted(config))
        cell->solver = norma_reconstruct_teacher_solver(cell->distribution);
    cell->solves_single =
        strcmp(norma_config_get_text(config, i, "solver-precision"), NORMA_RECONSTRUCT_SINGLE) == 0;
    cell->condition = (norma_condition_effort)norma_config_get_choice(config, i, "condition");
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
                                  .condition = cell->condition,
                                  .memory_per_rank = memory_per_rank,
                                  .seed = cell->seed};
}
