/* --construction skip: deep sources with skip connections (src/construct/blocks.h). */
#include "src/construct/blocks.h"

#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/stack/stack.h"
#include "mpi/runtime/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Operations that a search for a shape that would do may take, each time. */
static const double most_flops = 3e10;

#define NUMBER(label, text)                                                                        \
    {                                                                                              \
        .name = (label), .type = NORMA_FLOAT64, .units = "1", .long_name = (text)                  \
    }

static const norma_variable layer_variables[] = {
    NUMBER("condition_left", "largest condition of the products that follow a block"),
};

/* In the order of norma_block_report. */
static const norma_variable stage_variables[] = {
    NUMBER("block_condition_left", "condition of the product of all that follows a block"),
    NUMBER("block_condition", "condition of a block's system"),
    NUMBER("block_digits_predicted",
           "decimal digits that a block's solution loses at most, from the conditions"),
    NUMBER("block_digits_lost", "decimal digits that a block's solution lost"),
    NUMBER("block_relative_error", "norm of a block's error over the norm of its weights"),
    NUMBER("block_max_gamma", "largest absolute scale of a block"),
};
enum { N_STAGE_VARIABLES = sizeof stage_variables / sizeof stage_variables[0] };

/* Refuses convolutions, pools, and blocks that do not divide the inputs. */
static norma_status get_shape(const norma_stack_place *place, norma_blocks_shape *shape)
{
    const norma_config *config = place->config;
    int64_t cell = place->cell->number;
    const norma_layer *target = &place->cell->network->layers[place->number];
    *shape = (norma_blocks_shape){.n_out = target->n_channels_out,
                                  .n_in = target->n_channels_in,
                                  .n_inner = norma_config_get_integer(config, cell, "block")};
    if (target->kind != NORMA_LAYER_LINEAR || norma_kernel_taps(target->kernel) != 1 ||
        target->pool != NORMA_POOL_NONE)
        return NORMA_FAIL(NORMA_CONFIG,
                          "--construction skip takes linear layers without a pool; leave others to "
                          "the target by --layers, or use --construction pair");
    if (shape->n_in % shape->n_inner != 0)
        return NORMA_FAIL(norma_config_blame(config, "block"),
                          "%s: blocks of %lld inputs do not divide the %lld inputs of the layer",
                          norma_config_where(config, "block"), (long long)shape->n_inner,
                          (long long)shape->n_in);
    return norma_reconstruct_choose_width(config, cell, shape->n_out * shape->n_inner,
                                          &shape->width);
}

/* The number that scales are near to, as --nearest says. */
static norma_blocks_centre centre_of(const norma_stack_place *place)
{
    return (norma_blocks_centre)norma_config_get_choice(place->config, place->cell->number,
                                                        "nearest");
}

static norma_status size(const norma_stack_place *place, norma_stack_size *out)
{
    norma_blocks_shape shape;
    NORMA_TRY(get_shape(place, &shape));
    int64_t m = shape.n_in / shape.n_inner;
    *out = (norma_stack_size){.n_equations = shape.n_out * shape.n_in,
                              .n_minimum = shape.n_out * shape.n_inner,
                              .n_features = shape.width,
                              .n_stages = m,
                              .n_scales = m * shape.width,
                              .n_shifts = m * shape.width + shape.n_out,
                              .bytes = norma_blocks_bytes(&shape),
                              .flops = norma_blocks_flops(&shape)};
    return NORMA_OK;
}

static void destroy(void **source)
{
    norma_blocks *blocks = *source;
    norma_blocks_destroy(&blocks);
    *source = NULL;
}

static norma_status create(const norma_stack_place *place, void **source)
{
    norma_blocks_shape shape;
    norma_blocks *blocks = NULL;
    const norma_tensor_spec spec = norma_stack_weights(place);
    NORMA_TRY(get_shape(place, &shape));
    NORMA_TRY(norma_blocks_create(&shape, &blocks));
    norma_status status = norma_blocks_draw(blocks, &spec, place->number);
    if (status != NORMA_OK)
        norma_blocks_destroy(&blocks);
    *source = blocks;
    return status;
}

/* No digit is left at block `lost`: names a shape that would do. */
static norma_status refuse(const norma_stack_place *place, const norma_blocks *blocks, int64_t lost)
{
    const norma_blocks_shape *shape = &blocks->shape;
    const norma_tensor_spec spec = norma_stack_weights(place);
    const norma_block_report *report = &blocks->reports[lost];
    norma_blocks_shape other;
    double digits = 0;
    bool found = false;
    char advice[192] = "use larger blocks, a larger width, or a target of fewer inputs";
    NORMA_TRY(norma_blocks_suggest(shape, &spec, place->number,
                                   place->cell->network->layers[place->number].weight,
                                   centre_of(place), most_flops, &other, &digits, &found));
    if (found)
        snprintf(advice, sizeof advice,
                 "--block %lld --features %lld would do, with %.1f digits left",
                 (long long)other.n_inner, (long long)other.width, digits);
    return NORMA_FAIL(NORMA_NUMERIC,
                      "block %lld of %lld (k = %lld, width %lld): what follows it has condition "
                      "%.1e, its system %.1e: none of the 16 digits is left; %s",
                      (long long)lost, (long long)blocks->n_blocks, (long long)shape->n_inner,
                      (long long)shape->width, report->condition_left, report->condition, advice);
}

static norma_status solve(const norma_stack_place *place, void *source, double *common,
                          double *layer, double *stages, int64_t n_places)
{
    norma_blocks *blocks = source;
    int64_t lost = -1;
    NORMA_TRY(norma_blocks_solve(blocks, place->cell->network->layers[place->number].weight,
                                 centre_of(place), &lost));
    if (lost >= 0)
        return refuse(place, blocks, lost);
    common[NORMA_STACK_DIGITS_LEFT] = norma_blocks_digits;
    common[NORMA_STACK_CONDITION_NUMBER] = 0;
    layer[0] = 0;
    common[NORMA_STACK_MAX_ABS_GAMMA] = 0;
    for (int64_t i = 0; i < blocks->n_blocks; i++) {
        const norma_block_report *r = &blocks->reports[i];
        const double values[] = {r->condition_left, r->condition,      r->digits_predicted,
                                 r->digits_lost,    r->relative_error, r->max_abs_gamma};
        for (int v = 0; v < N_STAGE_VARIABLES; v++)
            stages[v * n_places + i] = values[v];
        layer[0] = fmax(layer[0], r->condition_left);
        common[NORMA_STACK_DIGITS_LEFT] =
            fmin(common[NORMA_STACK_DIGITS_LEFT], norma_blocks_digits - r->digits_predicted);
        common[NORMA_STACK_CONDITION_NUMBER] =
            fmax(common[NORMA_STACK_CONDITION_NUMBER], r->condition);
        common[NORMA_STACK_MAX_ABS_GAMMA] =
            fmax(common[NORMA_STACK_MAX_ABS_GAMMA], r->max_abs_gamma);
    }
    const int64_t n_equations = blocks->shape.n_out * blocks->shape.n_inner;
    if (blocks->shape.width < n_equations)
        norma_log_news("layer %lld: width %lld is below the %lld equations of a block, which are "
                       "solved in least squares",
                       (long long)place->number, (long long)blocks->shape.width,
                       (long long)n_equations);
    return NORMA_OK;
}

static norma_status compose(const void *source, double *map)
{
    return norma_blocks_compose(source, map);
}

static norma_status open_blocks(const norma_stack_place *place, void *source, const double *lo,
                                const double *hi, double *common)
{
    const norma_activation activation = norma_stack_activation(place);
    return norma_blocks_open(
        source, &activation, lo, hi, place->cell->network->layers[place->number].bias,
        &common[NORMA_STACK_SHIFT_MAGNITUDE], &common[NORMA_STACK_SHIFT_ERROR]);
}

static norma_status run(const norma_stack_place *place, const void *source, int64_t n,
                        const double *x, double *y, int64_t *n_clipped)
{
    const norma_activation activation = norma_stack_activation(place);
    return norma_blocks_run(source, &activation, n, x, y, n_clipped);
}

static void get(const void *source, double *scales, double *shifts)
{
    const norma_blocks *b = source;
    int64_t n = b->n_blocks * b->shape.width;
    memcpy(scales, b->gamma, (size_t)n * sizeof *scales);
    memcpy(shifts, b->beta, (size_t)n * sizeof *shifts);
    memcpy(shifts + n, b->beta_out, (size_t)b->shape.n_out * sizeof *shifts);
}

static void set(void *source, const double *scales, const double *shifts)
{
    norma_blocks *b = source;
    int64_t n = b->n_blocks * b->shape.width;
    memcpy(b->gamma, scales, (size_t)n * sizeof *scales);
    memcpy(b->beta, shifts, (size_t)n * sizeof *shifts);
    memcpy(b->beta_out, shifts + n, (size_t)b->shape.n_out * sizeof *shifts);
}

static norma_status weights(const norma_stack_place *place, norma_stack_array *arrays, int *n)
{
    norma_blocks_shape s;
    NORMA_TRY(get_shape(place, &s));
    const norma_stack_array all[] = {
        {"W",
         "frozen weights between the units of a block and those of the block before",
         3,
         {"block", "unit", "unit_before"},
         {s.n_in / s.n_inner, s.width, s.width}},
        {"A",
         "frozen weights from the inputs of a block to its units",
         3,
         {"block", "unit", "input"},
         {s.n_in / s.n_inner, s.width, s.n_inner}},
        {"R",
         "frozen weights from the last units to the outputs",
         2,
         {"channel", "unit"},
         {s.n_out, s.width}},
    };
    *n = sizeof all / sizeof all[0];
    memcpy(arrays, all, sizeof all);
    return NORMA_OK;
}

static void copy_weights(const void *source, int array, double *values)
{
    const norma_blocks *b = source;
    const int64_t m = b->n_blocks;
    const int64_t d = b->shape.width;
    const double *const from[] = {b->inner, b->entry, b->readout};
    const int64_t count[] = {m * d * d, m * d * b->shape.n_inner, b->shape.n_out * d};
    memcpy(values, from[array], (size_t)count[array] * sizeof *values);
}

const norma_stack_kind norma_stack_blocks = {.stage = "source_layer",
                                             .stage_meaning = "source layer, each of which takes a "
                                                              "block of inputs",
                                             .layer_variables = layer_variables,
                                             .n_layer_variables = 1,
                                             .stage_variables = stage_variables,
                                             .n_stage_variables = N_STAGE_VARIABLES,
                                             .size = size,
                                             .create = create,
                                             .destroy = destroy,
                                             .solve = solve,
                                             .compose = compose,
                                             .open = open_blocks,
                                             .run = run,
                                             .get = get,
                                             .set = set,
                                             .weights = weights,
                                             .copy_weights = copy_weights};
