#include "experiments/reconstruct/construct/alignment.h"

#include "experiments/job/search_options.h"
#include "src/align/complement.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

bool norma_reconstruct_alignment_wanted(const norma_config *config)
{
    return norma_config_has(config, "align");
}

static norma_status refuse(const norma_config *config, const char *why)
{
    return NORMA_FAIL(norma_config_blame(config, "align"), "%s: %s",
                      norma_config_where(config, "align"), why);
}

/* Channel i of an identity skip is channel i of the target. */
static norma_status check_skip(const norma_config *config, int64_t cell)
{
    int search = norma_config_get_choice(config, cell, "align");
    if (strcmp(norma_config_get_text(config, cell, "residual"), "none") == 0)
        return NORMA_OK;
    if (norma_align_search_get(search)->single)
        return refuse(config, "this search counts weights of the target alone: leave --residual "
                              "out");
    if (norma_config_has(config, "source") ||
        (norma_config_has(config, "skip") &&
         strcmp(norma_config_get_text(config, 0, "skip"), "identity") != 0))
        return NORMA_OK;
    return refuse(config, "an identity skip keeps every channel at its place; give --skip a law or "
                          "a file, or leave --residual out");
}

norma_status norma_reconstruct_alignment_check_options(const norma_config *config)
{
    static const char *const budgets[] = {"random", "restarts", "anneal-starts", "anneal-sweeps",
                                          NULL};
    if (!norma_reconstruct_alignment_wanted(config))
        return norma_config_refuse_given(config, budgets, "needs --align");
    if (!norma_config_has(config, "target"))
        return refuse(config, "a random target has a single layer, and the last layer keeps the "
                              "order of its outputs: give --target, or use norma align");
    for (int64_t cell = 0; cell < norma_config_get_sweep(config)->n_cells; cell++) {
        if (strcmp(norma_config_get_text(config, cell, "width-rule"), "max") != 0)
            return refuse(config, "is for --width-rule max, where features below n are least "
                                  "squares");
        NORMA_TRY(check_skip(config, cell));
        NORMA_TRY(norma_search_options_check(config, "align",
                                             norma_config_get_choice(config, cell, "align")));
    }
    return NORMA_OK;
}

/* Layers whose channels may be in another order: all that are wanted but the last. */
static norma_status mark_layers(const norma_config *config, norma_reconstruct_cell *cell)
{
    bool any = false;
    for (int64_t l = 0; l + 1 < cell->n_layers; l++) {
        norma_reconstruct_layer *layer = &cell->layers[l];
        any = any || layer->wanted;
        layer->aligned =
            layer->wanted && layer->n_features < norma_khatri_rao_n_rows(&layer->shape);
        if (!layer->aligned)
            continue;
        if (!cell->layers[l + 1].wanted)
            return NORMA_FAIL(norma_config_blame(config, "align"),
                              "%s: layer %lld has %lld features for %lld weights, and the input "
                              "channels of layer %lld follow its order: name that layer in "
                              "--layers too",
                              norma_config_where(config, "align"), (long long)l,
                              (long long)layer->n_features,
                              (long long)norma_khatri_rao_n_rows(&layer->shape), (long long)l + 1);
        NORMA_TRY(norma_status_context(
            norma_align_search_check(cell->search, layer->shape.n_channels_out),
            "%s: layer %lld: ", norma_config_where(config, "align"), (long long)l));
    }
    if (!any)
        return refuse(config, "the only layer that is reconstructed is the last of the target, "
                              "which keeps the order of its outputs");
    return NORMA_OK;
}

norma_status norma_reconstruct_alignment_init(const norma_config *config, bool shapes_only,
                                              norma_reconstruct_cell *cell)
{
    if (!norma_reconstruct_alignment_wanted(config))
        return NORMA_OK;
    cell->search = norma_config_get_choice(config, cell->number, "align");
    cell->align = norma_search_options_get(config, cell->seed);
    cell->aligns = true;
    NORMA_TRY(mark_layers(config, cell));
    if (shapes_only)
        return NORMA_OK;
    cell->given = cell->network;
    NORMA_TRY(norma_network_copy(cell->given, &cell->ordered));
    cell->network = cell->ordered;
    for (int64_t l = 0; l < cell->n_layers; l++)
        if (cell->layers[l].wanted)
            NORMA_TRY(
                NORMA_CALLOC(cell->layers[l].permutation, cell->layers[l].shape.n_channels_out));
    return NORMA_OK;
}

/* The place of a layer's numbers, [1 + c2]. */
static double *place(const norma_reconstruct_cell *cell, int64_t number, double *numbers)
{
    for (int64_t l = 0; l < number; l++)
        numbers += 1 + cell->given->layers[l].n_channels_out;
    return numbers;
}

int64_t norma_reconstruct_alignment_length(const norma_network *network)
{
    int64_t length = 0;
    for (int64_t l = 0; l < network->n_layers; l++)
        length += 1 + network->layers[l].n_channels_out;
    return length;
}

/* The order of the layer in front of layer `number`; NULL: the given one. */
static const int64_t *order_before(const norma_reconstruct_cell *cell, int64_t number)
{
    return number > 0 ? cell->layers[number - 1].permutation : NULL;
}

/* Layer `number` with the order before it and its own (NULL: not permuted), in the network and in
 * K. */
static void reorder(norma_reconstruct_cell *cell, int64_t number, const int64_t *rows)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    const norma_layer *target = &cell->ordered->layers[number];
    norma_network_reorder(cell->given, number, order_before(cell, number), rows, cell->ordered);
    if (layer->wanted)
        norma_kernel_embed(&layer->shape.kernel, target->n_channels_out * target->n_channels_in,
                           target->weight, layer->embedded);
}

/* --- the search ------------------------------------------------------------------------------ */

typedef struct matrix {
    const norma_reconstruct_layer *layer;
    double *first, *second; /* weights of one feature */
} matrix;

/* M, column after column (norma_align_fill). */
static void fill(const void *context, double *out)
{
    const matrix *m = context;
    const norma_khatri_rao_shape *shape = &m->layer->shape;
    int64_t n = norma_khatri_rao_n_rows(shape);
    int64_t row = n / shape->n_channels_out;
    for (int64_t j = 0; j < m->layer->n_features; j++) {
        norma_tensor_fill(m->layer->w1, j, 1, m->first);
        norma_tensor_fill(m->layer->w2, j, 1, m->second);
        for (int64_t i = 0; i < shape->n_channels_out; i++)
            norma_khatri_rao_fill(shape, m->second, m->first, i, 0, row, out + j * n + i * row);
    }
}

static norma_status make_problem(const norma_reconstruct_layer *layer, norma_align_problem *problem)
{
    int64_t n = norma_khatri_rao_n_rows(&layer->shape);
    norma_align_complement complement = {0};
    matrix m = {.layer = layer};
    norma_status status = NORMA_ALLOC(m.first, norma_khatri_rao_width_first(&layer->shape));
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, NORMA_ALLOC(m.second, norma_khatri_rao_width_second(&layer->shape)));
    NORMA_GOTO(status, norma_align_complement_init(n, layer->n_features, fill, &m, &complement));
    NORMA_GOTO(status, norma_align_problem_init(&complement, layer->shape.n_channels_out,
                                                layer->embedded, problem));
    if (layer->skip_embedded) /* the pair computes the target less its skip */
        status = norma_align_problem_subtract(&complement, layer->skip_embedded, problem);
done:
    norma_align_complement_clear(&complement);
    NORMA_FREE(m.second);
    NORMA_FREE(m.first);
    return status;
}

/* layer->permutation and rmse_given, for the target rows in the given order. */
static norma_status search_layer(norma_reconstruct_cell *cell, int64_t number, int64_t replica)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    norma_align_problem problem = {0};
    norma_align_options options = cell->align;
    double n = (double)norma_khatri_rao_n_rows(&layer->shape);
    double criterion = 0;
    int64_t n_evaluations = 0;
    options.stream = (norma_rng_stream){.purpose = NORMA_RNG_ALIGNMENT,
                                        .layer = number,
                                        .replica = cell->first_replica + replica,
                                        .cell = cell->stream_cell};
    norma_status status = norma_rng_check(&options.stream, norma_khatri_rao_n_rows(&layer->shape));
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, make_problem(layer, &problem));
    NORMA_GOTO(status, norma_align_search_run(NORMA_ALIGN_NONE, &problem, &options,
                                              layer->permutation, &criterion, &n_evaluations));
    layer->rmse_given = sqrt(criterion / n);
    status = norma_align_search_run(cell->search, &problem, &options, layer->permutation,
                                    &criterion, &n_evaluations);
done:
    norma_align_problem_clear(&problem);
    return status;
}

/* The order of a layer from a replica's numbers. */
static norma_status take(norma_reconstruct_layer *layer, const double *numbers)
{
    int64_t c2 = layer->shape.n_channels_out;
    norma_status status = NORMA_OK;
    bool *seen = NULL;
    NORMA_TRY(NORMA_CALLOC(seen, c2));
    layer->rmse_given = numbers[0];
    for (int64_t i = 0; i < c2 && status == NORMA_OK; i++) {
        double row = numbers[1 + i] - 1;
        bool there = row >= 0 && row < (double)c2 && row == floor(row) && !seen[(int64_t)row];
        if (!there) {
            status = NORMA_FAIL(NORMA_CONFIG, "channel %lld takes target row %g: no order of %lld",
                                (long long)i, row, (long long)c2);
            break;
        }
        layer->permutation[i] = (int64_t)row;
        seen[(int64_t)row] = true;
    }
    NORMA_FREE(seen);
    return status;
}

static norma_status find_order(norma_reconstruct_cell *cell, const norma_reconstruct_inputs *inputs,
                               int64_t number, int64_t replica, double *numbers)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    double *own = place(cell, number, numbers);
    if (own[1] > 0)
        return take(layer, own);
    layer->rmse_given = NAN;
    for (int64_t i = 0; i < layer->shape.n_channels_out; i++)
        layer->permutation[i] = i;
    if (layer->aligned) {
        reorder(cell, number, NULL);
        NORMA_TRY(norma_reconstruct_pair_init(cell, inputs, number, replica));
        NORMA_TRY(search_layer(cell, number, replica));
    }
    own[0] = layer->rmse_given;
    for (int64_t i = 0; i < layer->shape.n_channels_out; i++)
        own[1 + i] = (double)(layer->permutation[i] + 1);
    return NORMA_OK;
}

norma_status norma_reconstruct_alignment_search_local(norma_reconstruct_cell *cell,
                                                      const norma_reconstruct_inputs *inputs,
                                                      int64_t replica, double *numbers)
{
    for (int64_t l = 0; l < cell->n_layers; l++) {
        if (!cell->layers[l].wanted)
            continue;
        norma_status status = find_order(cell, inputs, l, replica, numbers);
        if (status != NORMA_OK)
            return norma_status_context(status, "layer %lld: ", (long long)l);
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_alignment_use(norma_reconstruct_cell *cell, const double *numbers)
{
    for (int64_t l = 0; l < cell->n_layers; l++) {
        norma_reconstruct_layer *layer = &cell->layers[l];
        if (layer->wanted) {
            norma_status status = take(layer, numbers);
            if (status != NORMA_OK)
                return norma_status_context(status, "layer %lld: ", (long long)l);
        }
        reorder(cell, l, layer->permutation);
        numbers += 1 + cell->given->layers[l].n_channels_out;
    }
    return NORMA_OK;
}

/* --- plan ------------------------------------------------------------------------------------ */

double norma_reconstruct_alignment_bytes(const norma_reconstruct_cell *cell, double *kept)
{
    double peak = 0;
    *kept = 0;
    if (!cell->aligns)
        return 0;
    *kept = 8 * ((double)norma_network_storage_size(cell->network) +
                 2 * (double)norma_reconstruct_alignment_length(cell->network));
    for (int64_t l = 0; l < cell->n_layers; l++) {
        const norma_reconstruct_layer *layer = &cell->layers[l];
        if (!layer->aligned)
            continue;
        int64_t n = norma_khatri_rao_n_rows(&layer->shape);
        int64_t n_parts = n - layer->n_features;
        double first = (double)norma_khatri_rao_width_first(&layer->shape);
        double second = (double)norma_khatri_rao_width_second(&layer->shape);
        double c2 = (double)layer->shape.n_channels_out;
        double factors = norma_align_complement_bytes(n, layer->n_features);
        double search = norma_align_problem_bytes(n, layer->shape.n_channels_out, n_parts) +
                        8 * ((double)n * (double)n_parts + c2 * c2); /* the basis; costs */
        double drawn = norma_law_get(cell->distribution)->source == NORMA_LAW_HAAR
                           ? 16 * (first * first + second * second)
                           : 0;
        peak = fmax(peak, fmax(factors, search) + drawn);
    }
    return peak;
}

double norma_reconstruct_alignment_flops(const norma_reconstruct_cell *cell)
{
    double flops = 0;
    for (int64_t l = 0; l < cell->n_layers; l++) {
        const norma_reconstruct_layer *layer = &cell->layers[l];
        if (!layer->aligned)
            continue;
        double n = (double)norma_khatri_rao_n_rows(&layer->shape);
        double c1 = (double)layer->n_features;
        flops += 2 * c1 * c1 * (n - c1 / 3) + 2 * (n - c1) * c1 * (2 * n - c1) +
                 2 * (double)layer->shape.n_channels_out * n * (n - c1);
    }
    return flops;
}

void norma_reconstruct_alignment_clear(norma_reconstruct_cell *cell)
{
    for (int64_t l = 0; cell->layers && l < cell->n_layers; l++)
        NORMA_FREE(cell->layers[l].permutation);
    norma_network_destroy(&cell->ordered);
}
