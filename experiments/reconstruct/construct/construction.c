#include "experiments/reconstruct/construct/construction.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/team.h"
#include "src/base/mem.h"

#include <string.h>

/* The tensor field of the counters of the orthogonal matrices between two factors. */
enum { TENSOR_ROTATION = 1 };

const char *const norma_reconstruct_constructions[] = {
    [NORMA_CONSTRUCTION_PAIR] = "pair", [NORMA_CONSTRUCTION_LOW_RANK] = "low-rank", NULL};

static bool is_low_rank(const norma_config *config)
{
    return norma_config_get_choice(config, 0, "construction") == NORMA_CONSTRUCTION_LOW_RANK;
}

norma_status norma_reconstruct_construction_check_options(const norma_config *config)
{
    static const char *const ranks[] = {"target-rank", "rank-tolerance"};
    static const char *const others[] = {"source", "residual"};
    for (size_t i = 0; i < 2; i++)
        if (!is_low_rank(config) && norma_config_is_given(config, ranks[i]))
            return NORMA_FAIL(norma_config_blame(config, ranks[i]),
                              "%s: needs --construction low-rank",
                              norma_config_where(config, ranks[i]));
    if (!is_low_rank(config))
        return NORMA_OK;
    if (!norma_config_has(config, "target"))
        return NORMA_FAIL(norma_config_blame(config, "construction"),
                          "%s: low-rank factors the layers of a file: give --target; a random "
                          "target has full rank",
                          norma_config_where(config, "construction"));
    for (size_t i = 0; i < 2; i++)
        if (norma_config_is_given(config, others[i]))
            return NORMA_FAIL(norma_config_blame(config, others[i]),
                              "%s: not with --construction low-rank, whose pairs are drawn and "
                              "stand alone",
                              norma_config_where(config, others[i]));
    return NORMA_OK;
}

/* Every layer's factors, on the rank that decides. */
static norma_status factor_local(const norma_config *config, const norma_network *network,
                                 norma_low_rank *factors)
{
    int64_t rank = norma_config_has(config, "target-rank")
                       ? norma_config_get_integer(config, 0, "target-rank")
                       : 0;
    double tolerance = norma_config_has(config, "rank-tolerance")
                           ? norma_config_get_real(config, 0, "rank-tolerance")
                           : 0;
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_rng_stream stream = {
            .purpose = NORMA_RNG_TARGET_WEIGHTS, .tensor = TENSOR_ROTATION, .layer = l};
        norma_status status =
            norma_low_rank_factor(&network->layers[l], rank, tolerance,
                                  norma_config_get_seed(config, 0, "seed"), &stream, &factors[l]);
        if (status != NORMA_OK)
            return norma_status_context(status, "%s: layer %lld: ",
                                        norma_config_where(config, "construction"), (long long)l);
    }
    return NORMA_OK;
}

static void print_ranks(const norma_network *network, const norma_low_rank *factors)
{
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        const norma_low_rank *f = &factors[l];
        long long n_in = (long long)layer->n_channels_in * norma_kernel_taps(layer->kernel);
        long long n_out = (long long)layer->n_channels_out;
        norma_log_info("layer %lld: rank %lld of %lld, truncation %.2e; two pairs take %lld "
                       "equations, one takes %lld: %s (the largest rank that pays is %lld)",
                       (long long)l, (long long)f->rank, (long long)f->full_rank, f->truncation,
                       (long long)f->rank * (n_in + n_out), n_in * n_out,
                       f->rank <= f->break_even ? "it pays" : "it does not pay",
                       (long long)f->break_even);
    }
}

/* The root's bytes on every rank, as memory of the inputs. */
static norma_status share(const norma_team *team, void *root, int64_t size, void *out)
{
    void *bytes = root;
    norma_status status = norma_team_share(team, &bytes, &size);
    if (norma_team_is_root_local(team))
        return status;
    if (status == NORMA_OK)
        memcpy(out, bytes, (size_t)size);
    norma_mem_free(bytes);
    return status;
}

norma_status norma_reconstruct_construction_build(const norma_runtime *runtime,
                                                  const norma_config *config,
                                                  norma_reconstruct_inputs *inputs)
{
    norma_team team;
    norma_status status = NORMA_OK;
    if (!is_low_rank(config))
        return NORMA_OK;
    const norma_network *network = norma_target_network_local(inputs->target);
    int64_t n = network->n_layers;
    norma_team_init_local(runtime->world, &team);
    bool root = norma_team_is_root_local(&team);
    status = NORMA_CALLOC(inputs->low_rank, n);
    inputs->n_low_rank = status == NORMA_OK ? n : 0;
    if (status == NORMA_OK && root)
        status = factor_local(config, network, inputs->low_rank);
    NORMA_TRY(norma_agree(runtime->world, status));
    norma_low_rank *numbers = NULL; /* without the arrays, which are the root's */
    status = NORMA_ALLOC(numbers, n);
    for (int64_t l = 0; status == NORMA_OK && l < n; l++) {
        numbers[l] = inputs->low_rank[l];
        numbers[l].a = numbers[l].b = NULL;
    }
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    NORMA_GOTO(status, share(&team, numbers, n * (int64_t)sizeof *numbers, numbers));
    if (!root)
        memcpy(inputs->low_rank, numbers, (size_t)n * sizeof *numbers);
    status = norma_low_rank_network(network, inputs->low_rank, &inputs->factored);
    for (int64_t l = 0; l < n; l++) {
        NORMA_FREE(inputs->low_rank[l].a);
        NORMA_FREE(inputs->low_rank[l].b);
    }
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    double *storage = inputs->factored->storage;
    NORMA_GOTO(status,
               share(&team, storage,
                     norma_network_storage_size(inputs->factored) * (int64_t)sizeof *storage,
                     storage));
    status = norma_low_rank_open(inputs->factored);
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    print_ranks(network, inputs->low_rank);
done:
    NORMA_FREE(numbers);
    return status;
}

void norma_reconstruct_construction_clear(norma_reconstruct_inputs *inputs)
{
    for (int64_t l = 0; l < inputs->n_low_rank; l++)
        norma_low_rank_clear(&inputs->low_rank[l]);
    NORMA_FREE(inputs->low_rank);
    norma_network_destroy(&inputs->factored);
}

norma_status norma_reconstruct_construction_evaluate(MPI_Comm comm,
                                                     const norma_reconstruct_cell *cell,
                                                     const norma_reconstruct_inputs *inputs,
                                                     norma_evaluate **out)
{
    const norma_images *images = norma_reconstruct_images(inputs);
    int64_t n_images = images ? images->n_images : 0;
    NORMA_TRY(norma_evaluate_create(comm, cell->network, images, n_images, 0, out));
    if (!images || (!inputs->factored && !cell->aligns))
        return NORMA_OK;
    norma_status status =
        norma_evaluate_compare_with(*out, norma_target_network_local(inputs->target));
    if (status != NORMA_OK)
        norma_evaluate_destroy(out);
    return status;
}
