#include "experiments/spectrum/setup.h"

#include <math.h>
#include <string.h>

/* sqrt(n v), v the variance of a product of entries; 1 where M has no law or is orthonormal. */
static double scale_of(const norma_spectrum_cell *cell)
{
    const norma_tensor_spec first = norma_pair_spec(&cell->pair, NORMA_TENSOR_FIRST);
    const norma_tensor_spec second = norma_pair_spec(&cell->pair, NORMA_TENSOR_SECOND);
    double variance = norma_tensor_variance(&first) * norma_tensor_variance(&second);
    double n = (double)norma_khatri_rao_n_rows(&cell->problem.shape);
    return isnan(variance) ? 1 : sqrt(n * variance);
}

static void init_options(const norma_config *config, double memory_per_rank,
                         norma_spectrum_cell *cell)
{
    cell->options = (norma_spectrum_options){
        .method =
            (norma_spectrum_method)norma_config_get_choice(config, cell->pair.number, "method"),
        .singular =
            (norma_singular_method)norma_config_get_choice(config, cell->pair.number, "reduction"),
        .n_probes = norma_config_get_integer(config, 0, "probes"),
        .n_steps = norma_config_get_integer(config, 0, "steps"),
        .memory_per_rank = memory_per_rank,
        .seed = cell->pair.seed,
        .cell = cell->pair.stream_cell};
}

norma_status norma_spectrum_cell_init(const norma_config *config, const norma_pair_inputs *inputs,
                                      int64_t number, double memory_per_rank,
                                      norma_spectrum_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    norma_spectrum_problem *problem = &cell->problem;
    NORMA_TRY(norma_width_from_name(norma_config_get_text(config, number, "width-rule"),
                                    &problem->width));
    NORMA_TRY(norma_pair_cell_init(config, inputs, number, problem->width, &cell->pair));
    init_options(config, memory_per_rank, cell);
    problem->shape = cell->pair.shape;
    problem->n_features = cell->pair.n_features;
    problem->regenerable =
        !cell->pair.given && cell->pair.distribution != NORMA_DISTRIBUTION_ORTHOGONAL;
    cell->scale = scale_of(cell);
    return NORMA_OK;
}

norma_status norma_spectrum_cell_draw(norma_spectrum_cell *cell, int64_t replica)
{
    cell->options.replica = cell->pair.first_replica + replica;
    NORMA_TRY(norma_pair_cell_draw(&cell->pair, replica));
    if (cell->problem.width == NORMA_WIDTH_MIN)
        NORMA_TRY(norma_pair_cell_draw_target(&cell->pair));
    cell->problem.w1 = cell->pair.w1;
    cell->problem.w2 = cell->pair.w2;
    cell->problem.target = cell->pair.target;
    return NORMA_OK;
}

void norma_spectrum_cell_clear(norma_spectrum_cell *cell)
{
    norma_pair_cell_clear(&cell->pair);
    memset(cell, 0, sizeof *cell);
}
