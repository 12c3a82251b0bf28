#include "experiments/reconstruct/construct/layer_values.h"

#include "experiments/reconstruct/options.h"
#include "mpi/spectrum/spectrum.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

bool norma_reconstruct_values_wanted(const norma_config *config)
{
    return norma_config_has(config, "save") &&
           norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_SPECTRUM);
}

norma_status norma_reconstruct_values_check_options(const norma_config *config)
{
    if (!norma_reconstruct_values_wanted(config))
        return NORMA_OK;
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++)
        if (strcmp(norma_config_get_text(config, i, "residual"), "none") != 0)
            return NORMA_FAIL(norma_config_blame(config, "save"),
                              "%s: spectrum is not there for pairs with a skip connection; leave "
                              "out spectrum or --residual",
                              norma_config_where(config, "save"));
    return NORMA_OK;
}

static norma_spectrum_problem problem_of(const norma_reconstruct_cell *cell, int64_t number)
{
    const norma_reconstruct_layer *layer = &cell->layers[number];
    return (norma_spectrum_problem){.shape = layer->shape,
                                    .n_features = layer->n_features,
                                    .width = cell->width,
                                    .target = layer->embedded,
                                    .w1 = layer->w1,
                                    .w2 = layer->w2};
}

int64_t norma_reconstruct_values_count(const norma_reconstruct_cell *cell, int64_t number)
{
    const norma_reconstruct_layer *layer = &cell->layers[number];
    int64_t n_rows = norma_khatri_rao_n_rows(&layer->shape);
    if (cell->width == NORMA_WIDTH_MIN)
        n_rows -= layer->shape.n_channels_out;
    return n_rows < layer->n_features ? n_rows : layer->n_features;
}

norma_status norma_reconstruct_values_bytes(const norma_reconstruct_cell *cell, int64_t number,
                                            int n_ranks, int n_threads, double *bytes)
{
    const norma_spectrum_problem problem = problem_of(cell, number);
    const norma_spectrum_options options = {.method = NORMA_SPECTRUM_SVD};
    norma_spectrum_choice choice;
    *bytes = 0;
    if (norma_reconstruct_values_count(cell, number) == 0)
        return NORMA_OK;
    NORMA_TRY(norma_spectrum_choose_local(&problem, &options, n_ranks, n_threads, &choice));
    *bytes = choice.bytes;
    return NORMA_OK;
}

norma_status norma_reconstruct_values_measure(const norma_team *team, norma_reconstruct_cell *cell,
                                              int64_t number)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    const norma_spectrum_problem problem = problem_of(cell, number);
    const norma_spectrum_options options = {.method = NORMA_SPECTRUM_SVD, .seed = cell->seed};
    int64_t n = norma_reconstruct_values_count(cell, number);
    norma_spectrum_result result;
    norma_status status = NORMA_OK;
    memset(&result, 0, sizeof result);
    NORMA_FREE(layer->values);
    layer->n_values = n;
    NORMA_GOTO(status, norma_team_agree(team, NORMA_ALLOC(layer->values, n)));
    for (int64_t k = 0; k < n; k++)
        layer->values[k] = NAN;
    if (n == 0)
        return NORMA_OK;
    NORMA_GOTO(status,
               norma_spectrum_measure(team->group, &problem, &options, 0, NULL, NULL, &result));
    for (int64_t k = 0; k < n && k < result.n_values; k++)
        layer->values[k] = result.values[k];
done:
    norma_spectrum_result_clear(&result);
    return status;
}
