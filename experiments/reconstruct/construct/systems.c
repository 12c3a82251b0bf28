#include "experiments/reconstruct/construct/systems.h"

#include "experiments/reconstruct/construct/layer_values.h"
#include "mpi/layer/layer_groups.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

norma_status norma_reconstruct_systems_check(const norma_config *config,
                                             const norma_reconstruct_cell *cell, int64_t number)
{
    const char *option = NULL;
    if (cell->layers[number].groups == 1)
        return NORMA_OK;
    if (cell->residual != NORMA_RESIDUAL_NONE)
        option = "residual";
    else if (cell->statistics == NORMA_STATISTICS_DATASET)
        option = "bn-statistics";
    else if (norma_reconstruct_values_wanted(config))
        option = "save";
    if (!option)
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, option),
                      "%s: '%s': is not there for its channels in groups; leave it out, or the "
                      "layer by --layers",
                      norma_config_where(config, option),
                      option[0] == 's' ? "spectrum"
                                       : norma_config_get_text(config, cell->number, option));
}

int64_t norma_reconstruct_system_number(const norma_network *network, int64_t layer, int64_t group)
{
    if (group == 0)
        return layer;
    int64_t number = network->n_layers + group - 1;
    for (int64_t l = 0; l < layer; l++)
        number += network->layers[l].groups - 1;
    return number;
}

norma_layer_problem norma_reconstruct_system(const norma_reconstruct_cell *cell, int64_t number,
                                             int64_t group)
{
    const norma_reconstruct_layer *layer = &cell->layers[number];
    int64_t n = norma_khatri_rao_n_rows(&layer->shape);
    return (norma_layer_problem){
        .shape = layer->shape,
        .n_features = layer->n_features / layer->groups,
        .width = cell->width,
        .target = layer->embedded ? layer->embedded + group * n : NULL,
        .w1 = layer->w1 ? norma_tensor_part(layer->w1, group) : NULL,
        .w2 = layer->w2 ? norma_tensor_part(layer->w2, group) : NULL,
        .residual = cell->residual,
        .skip = layer->skip_embedded,
    };
}

norma_layer_problem norma_reconstruct_problem(const norma_reconstruct_cell *cell, int64_t number)
{
    return norma_reconstruct_system(cell, number, 0);
}

norma_status norma_reconstruct_systems_solve(MPI_Comm comm, const norma_reconstruct_cell *cell,
                                             int64_t number, const norma_solver_options *options,
                                             norma_layer_solution *solution)
{
    int64_t n_groups = cell->layers[number].groups;
    norma_layer_problem *problems = NULL;
    norma_status status = norma_agree(comm, NORMA_ALLOC(problems, n_groups));
    if (status != NORMA_OK)
        goto done;
    for (int64_t g = 0; g < n_groups; g++)
        problems[g] = norma_reconstruct_system(cell, number, g);
    status = norma_layer_groups_solve(comm, n_groups, problems, options, solution);
done:
    NORMA_FREE(problems);
    return status;
}

norma_status norma_reconstruct_systems_estimate(const norma_reconstruct_cell *cell, int64_t number,
                                                const norma_solver_options *options, int n_ranks,
                                                norma_layer_estimate *out)
{
    norma_layer_problem problem = norma_reconstruct_problem(cell, number);
    return norma_layer_groups_estimate_local(cell->layers[number].groups, &problem, options,
                                             n_ranks, out);
}

norma_status norma_reconstruct_systems_expect(int64_t n_groups, const norma_layer_problem *problem,
                                              const norma_solver_options *options, int n_ranks,
                                              const norma_rates *rates, norma_expected *out)
{
    if (n_groups == 1)
        return norma_expect_solve_local(problem, options, n_ranks, rates, out);
    double turns = (double)norma_layer_groups_most_local(n_groups, n_ranks);
    NORMA_TRY(norma_expect_solve_local(problem, options, 1, rates, out));
    *out = (norma_expected){.assembly = turns * out->assembly,
                            .solution = turns * out->solution,
                            .condition = turns * out->condition,
                            .total = turns * out->total};
    return NORMA_OK;
}
