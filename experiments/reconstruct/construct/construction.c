#include "experiments/reconstruct/construct/construction.h"

#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/options.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/team.h"
#include "src/base/mem.h"

#include <string.h>

/* The tensor field of the counters of the orthogonal matrices between two factors. */
enum { TENSOR_ROTATION = 1 };

/* The stacks among the constructions. */
static const norma_stack_kind *const stacks[NORMA_N_CONSTRUCTIONS] = {
    [NORMA_CONSTRUCTION_SKIP] = &norma_stack_blocks,
    [NORMA_CONSTRUCTION_DEEP] = &norma_stack_deep,
};

static norma_construction construction_of(const norma_config *config)
{
    return (norma_construction)norma_config_get_choice(config, 0, "construction");
}

static bool is_low_rank(const norma_config *config)
{
    return construction_of(config) == NORMA_CONSTRUCTION_LOW_RANK;
}

const norma_stack_kind *norma_reconstruct_stack_kind(const norma_config *config)
{
    return stacks[construction_of(config)];
}

/* Options of source pairs that a stack does not take. */
static norma_status check_stack(const norma_config *config)
{
    static const char *const pairs_only[] = {
        "source",    "residual",       "width-rule",    "kernel-split",
        "epsilon",   "bound",          "bn-statistics", "bn-eps",
        "solver",    "condition",      "lbfgs-history", "solver-precision",
        "precision", "max-iterations", "store-weights", "align",
        NULL};
    const char *name = norma_construction_get(construction_of(config))->name;
    if (construction_of(config) != NORMA_CONSTRUCTION_DEEP &&
        norma_config_is_given(config, "group-size"))
        return NORMA_FAIL(norma_config_blame(config, "group-size"),
                          "%s: not with --construction %s, whose replicas one rank computes each",
                          norma_config_where(config, "group-size"), name);
    for (int i = 0; pairs_only[i]; i++)
        if (norma_config_is_given(config, pairs_only[i]))
            return NORMA_FAIL(norma_config_blame(config, pairs_only[i]),
                              "%s: is for source pairs, not with --construction %s",
                              norma_config_where(config, pairs_only[i]), name);
    if (norma_config_has(config, "save") &&
        norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_SPECTRUM))
        return NORMA_FAIL(norma_config_blame(config, "save"),
                          "%s: %s: is for source pairs, not with --construction %s",
                          norma_config_where(config, "save"), NORMA_RECONSTRUCT_SAVE_SPECTRUM,
                          name);
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++) {
        norma_distribution law = NORMA_DISTRIBUTION_GIVEN;
        NORMA_TRY(
            norma_distribution_from_name(norma_config_get_text(config, i, "source-dist"), &law));
        if (!norma_law_is_drawn(law))
            return NORMA_FAIL(norma_config_blame(config, "source-dist"),
                              "%s: %s is a law of source pairs, not with --construction %s",
                              norma_config_where(config, "source-dist"),
                              norma_distribution_name(law), name);
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_construction_check_options(const norma_config *config)
{
    static const char *const others[] = {"source", "residual", NULL};
    for (int c = 0; c < NORMA_N_CONSTRUCTIONS; c++) {
        const norma_construction_descriptor *d = norma_construction_get((norma_construction)c);
        for (const char *const *name = d->options; *name; name++)
            if (c != (int)construction_of(config) && norma_config_is_given(config, *name))
                return NORMA_FAIL(norma_config_blame(config, *name), "%s: needs --construction %s",
                                  norma_config_where(config, *name), d->name);
    }
    if (norma_reconstruct_stack_kind(config))
        return check_stack(config);
    if (!is_low_rank(config))
        return NORMA_OK;
    if (!norma_config_has(config, "target"))
        return norma_config_refuse(config, "construction",
                                   "low-rank factors the layers of a file: give --target; a random "
                                   "target has full rank");
    return norma_config_refuse_given(
        config, others, "not with --construction low-rank, whose pairs are drawn and stand alone");
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
    const norma_images *images = norma_reconstruct_cell_images(cell, inputs);
    int64_t n_images = images ? images->n_images : 0;
    NORMA_TRY(norma_evaluate_create(comm, cell->network, images, n_images, 0, out));
    if (!images || (!inputs->factored && !cell->aligns && !cell->student))
        return NORMA_OK;
    norma_status status = norma_evaluate_compare_with(
        *out, cell->student ? cell->random : norma_target_network_local(inputs->target));
    if (status != NORMA_OK)
        norma_evaluate_destroy(out);
    return status;
}
