#include "experiments/reconstruct/construct/layers.h"

#include "experiments/job/pair.h"
#include "experiments/reconstruct/construct/alignment.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "mpi/runtime/log.h"
#include "src/base/text.h"

#include <string.h>

bool norma_reconstruct_layers_take(const norma_config *config, const norma_network *network,
                                   int64_t number)
{
    int64_t n_listed = norma_config_get_count(config, "layers");
    if (norma_reconstruct_teacher_wanted(config))
        return number == 0;
    if (n_listed == 0)
        return !network || !norma_layer_unpaired(&network->layers[number]);
    for (int64_t k = 0; k < n_listed; k++)
        if (norma_config_get_integer(config, k, "layers") == number)
            return true;
    return false;
}

int64_t norma_reconstruct_layers_count(const norma_config *config, const norma_network *network)
{
    int64_t n = 0;
    for (int64_t l = 0; l < (network ? network->n_layers : 1); l++)
        n += norma_reconstruct_layers_take(config, network, l) ? 1 : 0;
    return n;
}

norma_status norma_reconstruct_layers_check(const norma_config *config,
                                            const norma_network *network)
{
    for (int64_t k = 0; k < norma_config_get_count(config, "layers"); k++) {
        int64_t number = norma_config_get_integer(config, k, "layers");
        NORMA_TRY(norma_pair_check_layer(config, "layers", network, number, true));
    }
    for (int64_t l = 0; l < network->n_layers; l++)
        if (norma_reconstruct_layers_take(config, network, l))
            return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "the target has no layer that can be reconstructed: no convolution, and no "
                      "linear layer");
}

norma_status norma_reconstruct_layers_check_chain(const norma_config *config,
                                                  const norma_network *network)
{
    if (norma_network_is_chain(network))
        return NORMA_OK;
    const char *option = NULL;
    if (norma_reconstruct_alignment_wanted(config))
        option = "align";
    if (norma_config_has(config, "construction") &&
        strcmp(norma_config_get_text(config, 0, "construction"), "pair") != 0)
        option = "construction";
    if (!option)
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, option),
                      "%s: needs a target whose layers are a chain of convolutions and linear "
                      "layers; this one is a graph, for which source pairs are there",
                      norma_config_where(config, option));
}

void norma_reconstruct_layers_print(const norma_config *config, const norma_network *network)
{
    int64_t n_taken = 0;
    int64_t n_kept[NORMA_N_LAYER_KINDS] = {0};
    norma_text kept;
    for (int64_t l = 0; network && l < network->n_layers; l++) {
        bool taken = norma_reconstruct_layers_take(config, network, l);
        n_taken += taken;
        n_kept[network->layers[l].kind] += !taken;
    }
    if (!network || n_taken == network->n_layers)
        return;
    norma_text_init(&kept);
    for (int k = 0; k < NORMA_N_LAYER_KINDS && !norma_network_is_chain(network); k++)
        if (n_kept[k] > 0)
            norma_text_append(&kept, "%s%lld %s", kept.data ? ", " : ": ", (long long)n_kept[k],
                              norma_layer_kind_name((norma_layer_kind)k));
    norma_log_info("%lld of %lld layers are reconstructed, the others stay the target's own%s",
                   (long long)n_taken, (long long)network->n_layers, kept.data ? kept.data : "");
    norma_text_clear(&kept);
}
