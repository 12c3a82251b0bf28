#include "experiments/reconstruct/statistics.h"

#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/options.h"
#include "io/config/config_read.h"
#include "mpi/evaluate/evaluate_statistics.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

const char *const norma_reconstruct_statistics_names[] = {
    [NORMA_STATISTICS_UNIT] = "unit",
    [NORMA_STATISTICS_DATASET] = "dataset",
    [NORMA_STATISTICS_FILE] = "file",
    NULL,
};

norma_status norma_reconstruct_statistics_check_options(const norma_config *config)
{
    static const char *const from[] = {
        [NORMA_STATISTICS_DATASET] = "dataset",
        [NORMA_STATISTICS_FILE] = "source",
    };
    int choice = norma_config_get_choice(config, 0, "bn-statistics");
    if (choice == NORMA_STATISTICS_UNIT)
        return NORMA_OK;
    bool drawn = choice == NORMA_STATISTICS_DATASET && norma_reconstruct_teacher_wanted(config);
    if (!drawn && !norma_config_has(config, from[choice]))
        return NORMA_FAIL(norma_config_blame(config, "bn-statistics"),
                          "%s: %s: needs --%s, which they come from",
                          norma_config_where(config, "bn-statistics"),
                          norma_reconstruct_statistics_names[choice], from[choice]);
    bool saved = norma_config_has(config, "save")
                     ? norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_GAMMA)
                     : norma_config_is_single(config);
    if (saved)
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, "bn-statistics"),
                      "%s: %s: nothing would store them; add --save gamma",
                      norma_config_where(config, "bn-statistics"),
                      norma_reconstruct_statistics_names[choice]);
}

void norma_reconstruct_use_measured(norma_reconstruct_layer *layer)
{
    int64_t c1 = layer->n_features;
    const double *mean2 = layer->measured + 2 * c1;
    layer->statistics1 =
        (norma_bn_statistics){.mean = layer->measured, .variance = layer->measured + c1};
    layer->statistics2 = (norma_bn_statistics){
        .mean = mean2, .variance = mean2 + layer->source_shape.n_channels_out};
}

static norma_status measure(MPI_Comm comm, const norma_reconstruct_cell *cell,
                            norma_evaluate *evaluate, int64_t number,
                            const norma_layer_solution *solution)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    int64_t c1 = layer->n_features;
    int64_t c2 = layer->shape.n_channels_out;
    double *kernel = NULL;
    NORMA_FREE(layer->measured);
    norma_status status = NORMA_ALLOC(layer->measured, 2 * (c1 + c2));
    if (status == NORMA_OK)
        status = NORMA_ALLOC(kernel, norma_khatri_rao_n_rows(&layer->shape));
    NORMA_GOTO(status, norma_agree(comm, status));
    double *mean1 = layer->measured;
    double *mean2 = mean1 + 2 * c1;
    const double *skip = cell->residual == NORMA_RESIDUAL_OUTER ? layer->skip_embedded : NULL;
    norma_maps_composite_kernel(layer->maps, norma_khatri_rao_n_rows(&layer->shape),
                                solution->kernel, skip, kernel);
    NORMA_GOTO(status, norma_evaluate_statistics(evaluate, number, &layer->source_shape, layer->w1,
                                                 kernel, mean1, mean1 + c1, mean2, mean2 + c2));
    for (int64_t i = 0; i < c2; i++)
        mean2[i] += layer->maps->constant[i];
    norma_reconstruct_use_measured(layer);
done:
    NORMA_FREE(kernel);
    return status;
}

/* A batch norm divides by the root of v + eps. */
static norma_status check_variances(const norma_bn_statistics *statistics, int64_t n, double eps,
                                    const char *what)
{
    for (int64_t k = 0; k < n; k++) {
        double v = statistics->variance[k] + eps;
        if (!isfinite(v) || !isfinite(statistics->mean[k]) || v <= 0)
            return NORMA_FAIL(v <= 0 ? NORMA_CONFIG : NORMA_NUMERIC,
                              "statistics of %s %lld: mean %g, variance %g, bn-eps %g: a batch "
                              "norm needs finite ones with variance + bn-eps > 0",
                              what, (long long)k, statistics->mean[k], statistics->variance[k],
                              eps);
    }
    return NORMA_OK;
}

void norma_reconstruct_statistics_use_given(norma_reconstruct_cell *cell,
                                            const norma_reconstruct_inputs *inputs, int64_t number)
{
    if (cell->statistics != NORMA_STATISTICS_FILE)
        return;
    const norma_source_pair *pair = norma_source_pair_local(inputs->source, number);
    norma_reconstruct_layer *layer = &cell->layers[number];
    layer->statistics1 = (norma_bn_statistics){pair->mean1, pair->variance1, pair->bias1};
    layer->statistics2 = (norma_bn_statistics){pair->mean2, pair->variance2, pair->bias2};
}

norma_status norma_reconstruct_statistics_fill(MPI_Comm comm, norma_reconstruct_cell *cell,
                                               const norma_reconstruct_inputs *inputs,
                                               norma_evaluate *evaluate, int64_t number,
                                               const norma_layer_solution *solution)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    if (cell->statistics == NORMA_STATISTICS_UNIT)
        return NORMA_OK;
    if (cell->statistics == NORMA_STATISTICS_DATASET)
        NORMA_TRY(measure(comm, cell, evaluate, number, solution));
    norma_reconstruct_statistics_use_given(cell, inputs, number);
    norma_status status =
        check_variances(&layer->statistics1, layer->n_features, cell->bn_eps, "feature");
    if (status == NORMA_OK)
        status = check_variances(&layer->statistics2, layer->source_shape.n_channels_out,
                                 cell->bn_eps, "output channel");
    return norma_agree(comm, status);
}
