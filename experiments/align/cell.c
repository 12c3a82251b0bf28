#include "experiments/align/cell.h"

#include "experiments/align/options.h"
#include "experiments/job/search_options.h"
#include "src/align/draws.h"
#include "src/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The tensor fields of a target's factors and mask, and of the features that are left out. */
enum { TENSOR_LEFT = 1, TENSOR_RIGHT = 2, TENSOR_MASK = 3, TENSOR_FEATURES = 3 };

static void init_search(const norma_config *config, norma_align_cell *cell)
{
    cell->n_searches = (int)norma_align_list_searches(config, cell->searches);
    cell->options = norma_search_options_get(config, cell->pair.seed);
}

static void init_matching(const norma_config *config, norma_align_cell *cell)
{
    int64_t c2 = cell->pair.shape.n_channels_out;
    int64_t number = cell->pair.number;
    cell->n_trials = norma_config_get_integer(config, 0, "match-trials");
    cell->matching = (norma_matching){
        .n_rows = c2,
        .n_candidates = norma_config_has(config, "match-rows")
                            ? norma_config_get_integer(config, number, "match-rows")
                            : c2,
        .length = cell->n_rows / c2,
        .present = norma_config_get_real(config, number, "match-present"),
        .density = cell->density};
}

norma_status norma_align_cell_init(const norma_config *config, const norma_pair_inputs *inputs,
                                   int64_t number, norma_align_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    norma_pair_cell *pair = &cell->pair;
    NORMA_TRY(norma_pair_cell_init(config, inputs, number, NORMA_WIDTH_MAX, pair));
    cell->n_rows = norma_khatri_rao_n_rows(&pair->shape);
    cell->n_features = pair->n_features;
    cell->density = norma_config_get_real(config, number, "target-density");
    if (norma_config_has(config, "target-hidden"))
        cell->n_hidden = norma_config_get_integer(config, number, "target-hidden");
    bool paired = pair->distribution == NORMA_DISTRIBUTION_ID_COND ||
                  pair->distribution == NORMA_DISTRIBUTION_ORTHO_COND;
    cell->draws_features = paired && cell->n_features < cell->n_rows &&
                           strcmp(norma_config_get_text(config, 0, "left-out"), "drawn") == 0;
    if (cell->draws_features)
        pair->n_features = cell->n_rows;
    init_search(config, cell);
    init_matching(config, cell);
    if (strcmp(norma_config_get_text(config, 0, "match-target"), "drawn") != 0)
        cell->matching.density = -1; /* the replica's target is used */
    for (int s = 0; s < cell->n_searches; s++)
        NORMA_TRY(norma_align_search_check(cell->searches[s], pair->shape.n_channels_out));
    return NORMA_OK;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* c1 of all features, at random, in their order. */
static norma_status select_features(norma_align_cell *cell)
{
    norma_align_draws draws;
    norma_rng_stream stream = cell->stream;
    int64_t *rows = NULL;
    int64_t n = cell->pair.n_features;
    norma_status status = NORMA_ALLOC(rows, n);
    NORMA_GOTO(status, status);
    for (int64_t i = 0; i < n; i++)
        rows[i] = i;
    stream.tensor = TENSOR_FEATURES;
    norma_align_draws_init(cell->pair.seed, &stream, &draws);
    norma_align_draws_shuffle(&draws, n, rows);
    qsort(rows, (size_t)cell->n_features, sizeof *rows, compare);
    NORMA_GOTO(status,
               norma_tensor_create_selected(cell->pair.w1, rows, cell->n_features, &cell->w1));
    status = norma_tensor_create_selected(cell->pair.w2, rows, cell->n_features, &cell->w2);
done:
    NORMA_FREE(rows);
    return status;
}

/* out[n_features][n_channels n_taps] of a law like the target's. */
static norma_status draw_factor(const norma_align_cell *cell, int64_t tensor_number,
                                int64_t n_features, int64_t n_channels, int64_t n_taps, double *out)
{
    norma_tensor *tensor = NULL;
    norma_tensor_spec spec = cell->pair.target_spec;
    spec.stream.tensor = tensor_number;
    spec.stream.replica = cell->pair.replica;
    spec.n_features = n_features;
    spec.n_channels = n_channels;
    spec.n_taps = n_taps;
    NORMA_TRY(norma_tensor_create(&spec, &tensor));
    norma_tensor_fill(tensor, 0, n_features, out);
    norma_tensor_destroy(&tensor);
    return NORMA_OK;
}

/* The product of two random matrices, embedded in K. */
static norma_status draw_product(norma_align_cell *cell)
{
    const norma_khatri_rao_shape *shape = &cell->pair.shape;
    int64_t c2 = shape->n_channels_out;
    int64_t taps = norma_kernel_taps(shape->kernel.target);
    int64_t row = shape->n_channels_in * taps;
    double *left = NULL;
    double *right = NULL;
    double *product = NULL;
    norma_status status = NORMA_ALLOC(cell->pair.target, cell->n_rows);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, NORMA_ALLOC(left, c2 * cell->n_hidden));
    NORMA_GOTO(status, NORMA_ALLOC(right, cell->n_hidden * row));
    NORMA_GOTO(status, NORMA_CALLOC(product, c2 * row));
    NORMA_GOTO(status, draw_factor(cell, TENSOR_LEFT, c2, cell->n_hidden, 1, left));
    NORMA_GOTO(status,
               draw_factor(cell, TENSOR_RIGHT, cell->n_hidden, shape->n_channels_in, taps, right));
    for (int64_t i = 0; i < c2; i++)
        for (int64_t h = 0; h < cell->n_hidden; h++)
            for (int64_t e = 0; e < row; e++)
                product[i * row + e] += left[i * cell->n_hidden + h] * right[h * row + e];
    norma_kernel_embed(&shape->kernel, c2 * shape->n_channels_in, product, cell->pair.target);
done:
    NORMA_FREE(left);
    NORMA_FREE(right);
    NORMA_FREE(product);
    return status;
}

static norma_status draw_target(norma_align_cell *cell)
{
    if (cell->n_hidden > 0)
        NORMA_TRY(draw_product(cell));
    else
        NORMA_TRY(norma_pair_cell_draw_target(&cell->pair));
    if (cell->pair.target_weight || cell->density == 1)
        return NORMA_OK;
    norma_rng_stream stream = cell->pair.target_spec.stream;
    stream.tensor = TENSOR_MASK;
    stream.replica = cell->pair.replica;
    norma_rng_mask(cell->pair.seed, &stream, 0, cell->n_rows, cell->density, cell->pair.target);
    return NORMA_OK;
}

static void clear_replica(norma_align_cell *cell)
{
    norma_tensor_destroy(&cell->w2);
    norma_tensor_destroy(&cell->w1);
    norma_pair_cell_clear(&cell->pair);
    NORMA_FREE(cell->feature);
}

norma_status norma_align_cell_draw(norma_align_cell *cell, int64_t replica)
{
    const norma_khatri_rao_shape *shape = &cell->pair.shape;
    clear_replica(cell);
    cell->pair.replica = cell->pair.first_replica + replica;
    cell->stream = (norma_rng_stream){.purpose = NORMA_RNG_ALIGNMENT,
                                      .replica = cell->pair.replica,
                                      .cell = cell->pair.stream_cell};
    cell->options.stream = cell->stream;
    NORMA_TRY(norma_rng_check(&cell->stream, cell->n_rows));
    if (cell->n_searches > 0) {
        NORMA_TRY(NORMA_ALLOC(cell->feature, norma_khatri_rao_width_first(shape) +
                                                 norma_khatri_rao_width_second(shape)));
        NORMA_TRY(norma_pair_cell_draw(&cell->pair, replica));
        if (cell->draws_features)
            NORMA_TRY(select_features(cell));
    }
    NORMA_TRY(draw_target(cell));
    cell->matching.target = cell->matching.density < 0 ? cell->pair.target : NULL;
    return NORMA_OK;
}

void norma_align_cell_fill(const void *context, double *matrix)
{
    const norma_align_cell *cell = context;
    const norma_khatri_rao_shape *shape = &cell->pair.shape;
    const norma_tensor *w1 = cell->w1 ? cell->w1 : cell->pair.w1;
    const norma_tensor *w2 = cell->w2 ? cell->w2 : cell->pair.w2;
    double *first = cell->feature;
    double *second = first + norma_khatri_rao_width_first(shape);
    int64_t row = cell->n_rows / shape->n_channels_out;
    for (int64_t j = 0; j < cell->n_features; j++) {
        norma_tensor_fill(w1, j, 1, first);
        norma_tensor_fill(w2, j, 1, second);
        for (int64_t i = 0; i < shape->n_channels_out; i++)
            norma_khatri_rao_fill(shape, second, first, i, 0, row,
                                  matrix + j * cell->n_rows + i * row);
    }
}

double norma_align_cell_bytes(const norma_align_cell *cell)
{
    const norma_khatri_rao_shape *shape = &cell->pair.shape;
    double n = (double)cell->n_rows;
    int64_t least = cell->n_features < cell->n_rows ? cell->n_features : cell->n_rows;
    double bytes = 8 * n; /* the target */
    if (cell->n_trials > 0)
        bytes += 8 * (double)cell->matching.n_candidates * (double)cell->matching.length * 2;
    if (cell->n_searches == 0)
        return bytes;
    double factors = norma_align_complement_bytes(cell->n_rows, cell->n_features);
    double searches =
        norma_align_problem_bytes(cell->n_rows, shape->n_channels_out, cell->n_rows - least) +
        8 * n * (double)(cell->n_rows - least); /* beside the basis */
    if (cell->pair.distribution == NORMA_DISTRIBUTION_ORTHOGONAL) {
        double first = (double)norma_khatri_rao_width_first(shape);
        double second = (double)norma_khatri_rao_width_second(shape);
        bytes += 16 * (first * first + second * second);
    }
    if (cell->draws_features)
        bytes += 16 * (double)cell->n_features;
    return bytes + (factors > searches ? factors : searches);
}

double norma_align_cell_flops(const norma_align_cell *cell)
{
    double n = (double)cell->n_rows;
    double least = cell->n_features < cell->n_rows ? (double)cell->n_features : n;
    double most = cell->n_features < cell->n_rows ? n : (double)cell->n_features;
    double parts = n - least;
    double c2 = (double)cell->pair.shape.n_channels_out;
    if (cell->n_searches == 0)
        return 0;
    return 2 * least * least * (most - least / 3) + 2 * parts * least * (2 * n - least) +
           2 * c2 * n * parts;
}

void norma_align_cell_clear(norma_align_cell *cell)
{
    clear_replica(cell);
    memset(cell, 0, sizeof *cell);
}
