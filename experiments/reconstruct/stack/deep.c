/* --construction deep: products of several frozen layers (src/construct/deep.h). */
#include "src/construct/deep.h"

#include "experiments/reconstruct/stack/stack.h"
#include "mpi/construct/deep_ranks.h"
#include "mpi/runtime/log.h"
#include "src/random/law.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to so many equations one rank solves a layer by dense orthogonal factors. */
enum { MOST_ALONE = 512 };
/* Steps of a search that a plan counts. */
enum { TYPICAL_STEPS = 30 };

#define NUMBER(label, kind, text)                                                                  \
    {                                                                                              \
        .name = (label), .type = (kind), .units = "1", .long_name = (text)                         \
    }

static const norma_variable layer_variables[] = {
    NUMBER("solved", NORMA_INT64, "1 where rmse is within 100 times rmse_floor, else 0"),
    NUMBER("rmse_floor", NORMA_FLOAT64, "rounding floor of rmse"),
    NUMBER("n_starts", NORMA_INT64, "random starts of the search"),
    NUMBER("n_iterations", NORMA_INT64, "steps of all starts"),
    NUMBER("condition_jacobian", NORMA_FLOAT64, "condition of the Jacobian at the solution"),
    NUMBER("jacobian_rank", NORMA_INT64, "rank of the Jacobian at random scales"),
    NUMBER("slack", NORMA_INT64,
           "unknowns beyond the n + L of the theorem; -1 is the count of dimensions"),
};

static const norma_variable stage_variables[] = {
    NUMBER("source_width", NORMA_FLOAT64, "output channels of a source layer"),
};

/* "3x3+1x1+...": one for each of n layers. */
static norma_status parse_kernels(const norma_config *config, int64_t n, norma_kernel_shape *kernel)
{
    const char *text = norma_config_get_text(config, 0, "kernels");
    const char *at = text;
    int64_t l = 1;
    for (; l <= n && *at; l++) {
        char *end = NULL;
        kernel[l].height = strtoll(at, &end, 10);
        if (end == at || *end != 'x')
            break;
        at = end + 1;
        kernel[l].width = strtoll(at, &end, 10);
        if (end == at || kernel[l].height < 1 || kernel[l].width < 1 || kernel[l].height > 64 ||
            kernel[l].width > 64)
            break;
        at = *end == '+' && l < n ? end + 1 : end;
    }
    if (l == n + 1 && !*at)
        return NORMA_OK;
    return NORMA_FAIL(norma_config_blame(config, "kernels"),
                      "%s: '%s' is not a list of %lld kernels such as 3x3+1x1",
                      norma_config_where(config, "kernels"), text, (long long)n);
}

/* Layers that --widths lists, and one. */
static int64_t count_layers(const norma_config *config)
{
    int64_t n = 2;
    for (const char *at = norma_config_get_text(config, 0, "widths"); *at; at++)
        n += *at == '+';
    return n;
}

static norma_status parse_widths(const norma_config *config, norma_deep_shape *s)
{
    const char *text = norma_config_get_text(config, 0, "widths");
    const char *at = text;
    for (int64_t l = 1; l < s->n_layers; l++) {
        char *end = NULL;
        s->width[l] = strtoll(at, &end, 10);
        if (end == at || s->width[l] < 1 || s->width[l] > 1048576 ||
            *end != (l + 1 < s->n_layers ? '+' : '\0'))
            return NORMA_FAIL(norma_config_blame(config, "widths"),
                              "%s: '%s' is not a list of widths such as 24+8",
                              norma_config_where(config, "widths"), text);
        at = end + 1;
    }
    return NORMA_OK;
}

/* A layer must pass on all that meets in it, from inputs below to outputs above. */
static int64_t find_cut(const norma_deep_shape *s, int64_t l)
{
    norma_kernel_shape below[NORMA_DEEP_MOST + 1];
    norma_kernel_shape above[NORMA_DEEP_MOST + 1];
    norma_deep_kernels(s, below, above);
    int64_t n_below = norma_kernel_taps(below[l]) * s->width[0];
    int64_t n_above = norma_kernel_taps(above[l]) * s->width[s->n_layers];
    return n_below < n_above ? n_below : n_above;
}

/* Hidden widths with the sum that the theorem and --excess ask for: four times the cut up to three
 * layers and twice the cut beyond, and the rest in the layer beside the larger end, where real
 * solutions are found most often. Large layers are found from fewer starts with nearly equal shares
 * (24 x 24: one or two, where four times the cut took 9 to 21). */
static norma_status set_widths(const norma_stack_place *place, norma_deep_shape *s)
{
    int64_t hidden = s->n_layers - 1;
    int64_t total = 0;
    int64_t wide =
        s->width[0] * norma_kernel_taps(s->kernel[1]) >= s->width[s->n_layers] ? 1 : hidden;
    int64_t least = norma_deep_equations(s) + s->n_layers - s->width[s->n_layers];
    NORMA_TRY(norma_reconstruct_choose_width(place->config, place->cell->number,
                                             least > hidden ? least : hidden, &total));
    if (total < hidden)
        return NORMA_FAIL(NORMA_CONFIG, "%lld hidden channels cannot be spread over %lld layers",
                          (long long)total, (long long)hidden);
    /* The frozen weights of the first layer span the rows of the product, those of the last its
     * columns: as many channels beside the larger end as it has. */
    int64_t end = wide == 1 ? s->width[0] * norma_kernel_taps(s->kernel[1]) : s->width[s->n_layers];
    int64_t left = hidden > 1 && total > end ? (total - end) / (hidden - 1) : 1;
    int64_t times = s->n_layers <= 3 ? 4 : 2;
    bool large = norma_deep_equations(s) > MOST_ALONE;
    s->width[wide] = total;
    for (int64_t l = 1; l <= hidden; l++) {
        int64_t cut = find_cut(s, l);
        int64_t even = total / hidden;
        if (l == wide)
            continue;
        s->width[l] = times * cut < even ? times * cut : even;
        if (large && s->width[l] < 5 * even / 6)
            s->width[l] = 5 * even / 6;
        if (s->width[l] > left)
            s->width[l] = left > cut ? left : cut < even ? cut : even;
        s->width[wide] -= s->width[l];
    }
    return NORMA_OK;
}

static norma_status get_shape(const norma_stack_place *place, norma_deep_shape *s)
{
    const norma_config *config = place->config;
    const norma_layer *target = &place->cell->network->layers[place->number];
    const bool listed = norma_config_has(config, "widths");
    const char *option = listed ? "widths" : "depth";
    memset(s, 0, sizeof *s);
    s->n_layers = listed ? count_layers(config)
                         : norma_config_get_integer(config, place->cell->number, "depth");
    if (s->n_layers < 2 || s->n_layers > NORMA_DEEP_MOST)
        return NORMA_FAIL(norma_config_blame(config, option),
                          "%s: %lld layers: 2 to %d are possible; the rows of a single frozen "
                          "layer only change their length",
                          norma_config_where(config, option), (long long)s->n_layers,
                          NORMA_DEEP_MOST);
    if (place->cell->network->n_layers > 1 && target->kind != NORMA_LAYER_LINEAR)
        return NORMA_FAIL(NORMA_CONFIG,
                          "--construction deep takes networks of linear layers, or one convolution "
                          "alone, as FILE:PATH or a random target");
    if (target->pool != NORMA_POOL_NONE)
        return NORMA_FAIL(NORMA_CONFIG, "--construction deep takes layers without a pool");
    s->width[0] = target->n_channels_in;
    s->width[s->n_layers] = target->n_channels_out;
    for (int64_t l = 1; l <= s->n_layers; l++)
        s->kernel[l] = l == 1 ? target->kernel : (norma_kernel_shape){1, 1};
    if (norma_config_has(config, "kernels"))
        NORMA_TRY(parse_kernels(config, s->n_layers, s->kernel));
    const norma_kernel_shape composite = norma_deep_composite(s);
    if (composite.height != target->kernel.height || composite.width != target->kernel.width)
        return NORMA_FAIL(norma_config_blame(config, "kernels"),
                          "%s: their composite is %lldx%lld, the target's kernel %lldx%lld",
                          norma_config_where(config, "kernels"), (long long)composite.height,
                          (long long)composite.width, (long long)target->kernel.height,
                          (long long)target->kernel.width);
    return listed ? parse_widths(config, s) : set_widths(place, s);
}

/* Large layers, and those of a group of several ranks, are solved by ranks together. */
static bool is_dense(const norma_stack_place *place, int64_t n_equations)
{
    return n_equations <= MOST_ALONE && place->n_ranks <= 1;
}

static norma_status size(const norma_stack_place *place, norma_stack_size *out)
{
    norma_deep_shape s;
    NORMA_TRY(get_shape(place, &s));
    int64_t unknowns = norma_deep_unknowns(&s);
    bool dense = is_dense(place, norma_deep_equations(&s));
    int n_ranks = place->n_ranks > 1 ? (int)place->n_ranks : 1;
    if (!dense)
        NORMA_TRY(norma_deep_ranks_check_local(&s, n_ranks));
    *out = (norma_stack_size){.n_equations = norma_deep_equations(&s),
                              .n_minimum = norma_deep_equations(&s) + s.n_layers,
                              .n_features = unknowns,
                              .n_stages = s.n_layers,
                              .n_scales = unknowns,
                              .n_shifts = unknowns,
                              .bytes = norma_deep_bytes(&s),
                              .flops = TYPICAL_STEPS * norma_deep_flops(&s),
                              .together = norma_deep_equations(&s) > MOST_ALONE};
    if (!dense) {
        out->bytes = norma_deep_ranks_bytes_local(&s, n_ranks, place->n_threads);
        out->flops = TYPICAL_STEPS * norma_deep_ranks_step_flops_local(&s) +
                     norma_deep_ranks_values_flops_local(&s);
    }
    return NORMA_OK;
}

static void destroy(void **source)
{
    norma_deep *deep = *source;
    norma_deep_destroy(&deep);
    *source = NULL;
}

static norma_status create(const norma_stack_place *place, void **source)
{
    norma_deep_shape shape;
    norma_deep *deep = NULL;
    const norma_tensor_spec spec = norma_stack_weights(place);
    NORMA_TRY(get_shape(place, &shape));
    NORMA_TRY(norma_deep_create(&shape, &deep));
    norma_status status = norma_deep_draw(deep, &spec, place->number);
    if (status != NORMA_OK)
        norma_deep_destroy(&deep);
    *source = deep;
    return status;
}

static bool is_masked(const norma_stack_place *place)
{
    return norma_law_has(place->cell->distribution, NORMA_LAW_MASKED);
}

/* Refuses layers that are too thin, and says what was not solved. With zeros among the weights it
 * is the draw that is deficient, not the shape: a result like any other. */
static norma_status judge(const norma_stack_place *place, const norma_deep *deep,
                          const norma_deep_report *report)
{
    int64_t needed = deep->n_equations + deep->shape.n_layers - 1;
    bool speaks = norma_team_is_root_local(norma_queue_team_local(place->queue));
    if (is_masked(place) && report->rank < deep->n_equations) {
        if (speaks)
            norma_log_warning_local("cell %lld, replica %lld, layer %lld: the zeros of the weights "
                                    "leave the Jacobian rank %lld of %lld; least squares are "
                                    "searched for",
                                    (long long)place->cell->number, (long long)place->replica,
                                    (long long)place->number, (long long)report->rank,
                                    (long long)deep->n_equations);
        return NORMA_OK;
    }
    if (deep->n_unknowns >= needed && report->rank < deep->n_equations)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the Jacobian of %lld equations has rank %lld at random scales: a layer "
                          "of the source is too thin to pass them on, however wide the others are; "
                          "spread the channels more evenly (--widths)",
                          (long long)deep->n_equations, (long long)report->rank);
    if (deep->n_unknowns < needed)
        norma_log_news("layer %lld: %lld scales are fewer than the %lld that %lld equations ask "
                       "for; least squares are searched for",
                       (long long)place->number, (long long)deep->n_unknowns, (long long)needed,
                       (long long)deep->n_equations);
    else if (!report->solved && speaks)
        norma_log_warning_local("cell %lld, replica %lld, layer %lld: not solved from %lld starts: "
                                "rmse %.2e, floor %.2e",
                                (long long)place->cell->number, (long long)place->replica,
                                (long long)place->number, (long long)report->n_starts, report->rmse,
                                report->floor);
    return NORMA_OK;
}

static bool stops(void *queue)
{
    return norma_queue_step(queue, 0) == NORMA_STOP_END;
}

/* Collective over the group. */
static norma_status find_scales(const norma_stack_place *place, norma_deep *deep,
                                const norma_deep_search *search, norma_deep_report *report)
{
    const double *target = place->cell->network->layers[place->number].weight;
    const norma_team *team = norma_queue_team_local(place->queue);
    norma_deep_engine engine = {0};
    norma_deep_search how = *search;
    norma_status status = NORMA_OK;
    if (!is_dense(place, deep->n_equations)) {
        status = norma_deep_ranks_create(team->group, deep, &engine);
        how.engine = &engine;
    }
    if (status == NORMA_OK)
        status = norma_deep_solve(deep, target, &how, report);
    norma_deep_ranks_destroy(&engine);
    return status;
}

static norma_status solve(const norma_stack_place *place, void *source, double *common,
                          double *layer, double *stages, int64_t n_places)
{
    norma_deep *deep = source;
    norma_deep_report report;
    const norma_deep_search search = {
        .n_starts = norma_config_get_integer(place->config, 0, "starts"),
        .seed = place->cell->seed,
        .stream = {.purpose = NORMA_RNG_START_SCALES,
                   .layer = place->number,
                   .replica = place->cell->first_replica + place->replica,
                   .cell = place->cell->stream_cell},
        .stops = stops,
        .context = place->queue,
        .takes_any_rank = is_masked(place)};
    NORMA_TRY(find_scales(place, deep, &search, &report));
    NORMA_TRY(judge(place, deep, &report));
    const double values[] = {report.solved,
                             report.floor,
                             (double)report.n_starts,
                             (double)report.n_iterations,
                             report.condition,
                             (double)report.rank,
                             (double)(deep->n_unknowns - deep->n_equations - deep->shape.n_layers)};
    memcpy(layer, values, sizeof values);
    common[NORMA_STACK_CONDITION_NUMBER] = report.condition;
    common[NORMA_STACK_DIGITS_LEFT] = fmax(0, -log10(report.condition * 0x1p-53));
    common[NORMA_STACK_MAX_ABS_GAMMA] = 0;
    for (int64_t k = 0; k < deep->n_unknowns; k++)
        common[NORMA_STACK_MAX_ABS_GAMMA] =
            fmax(common[NORMA_STACK_MAX_ABS_GAMMA], fabs(deep->gamma[1][k]));
    for (int64_t l = 1; l <= deep->shape.n_layers && l <= n_places; l++)
        stages[l - 1] = (double)deep->shape.width[l];
    return NORMA_OK;
}

static norma_status compose(const void *source, double *map)
{
    norma_deep_compose(source, map);
    return NORMA_OK;
}

static norma_status open_deep(const norma_stack_place *place, void *source, const double *lo,
                              const double *hi, double *common)
{
    const norma_activation activation = norma_stack_activation(place);
    return norma_deep_open(source, &activation, lo, hi,
                           place->cell->network->layers[place->number].bias,
                           &common[NORMA_STACK_SHIFT_MAGNITUDE], &common[NORMA_STACK_SHIFT_ERROR]);
}

static norma_status run(const norma_stack_place *place, const void *source, int64_t n,
                        const double *x, double *y, int64_t *n_clipped)
{
    const norma_activation activation = norma_stack_activation(place);
    return norma_deep_run(source, &activation, n, x, y, n_clipped);
}

static void get(const void *source, double *scales, double *shifts)
{
    const norma_deep *d = source;
    memcpy(scales, d->gamma[1], (size_t)d->n_unknowns * sizeof *scales);
    memcpy(shifts, d->beta[1], (size_t)d->n_unknowns * sizeof *shifts);
}

static void set(void *source, const double *scales, const double *shifts)
{
    const norma_deep *d = source;
    memcpy(d->gamma[1], scales, (size_t)d->n_unknowns * sizeof *scales);
    memcpy(d->beta[1], shifts, (size_t)d->n_unknowns * sizeof *shifts);
}

static norma_status weights(const norma_stack_place *place, norma_stack_array *arrays, int *n)
{
    norma_deep_shape s;
    NORMA_TRY(get_shape(place, &s));
    *n = (int)s.n_layers;
    for (int l = 1; l <= *n; l++) {
        norma_stack_array *a = &arrays[l - 1];
        const int64_t extents[] = {s.width[l], s.width[l - 1], s.kernel[l].height,
                                   s.kernel[l].width};
        *a = (norma_stack_array){.long_name = "frozen weights of a layer of the source",
                                 .n_extents = 4};
        memcpy(a->extents, extents, sizeof extents);
        snprintf(a->name, sizeof a->name, "W%d", l);
        snprintf(a->dimensions[0], sizeof a->dimensions[0], "channel%d", l);
        snprintf(a->dimensions[1], sizeof a->dimensions[1], "channel%d", l - 1);
        snprintf(a->dimensions[2], sizeof a->dimensions[2], "row%d", l);
        snprintf(a->dimensions[3], sizeof a->dimensions[3], "column%d", l);
    }
    return NORMA_OK;
}

/* W_l stands by taps in the source. */
static void copy_weights(const void *source, int array, double *values)
{
    const norma_deep *d = source;
    int l = array + 1;
    int64_t taps = norma_kernel_taps(d->shape.kernel[l]);
    int64_t n = d->shape.width[l] * d->shape.width[l - 1];
    for (int64_t e = 0; e < n; e++)
        for (int64_t q = 0; q < taps; q++)
            values[e * taps + q] = d->weight[l][q * n + e];
}

const norma_stack_kind norma_stack_deep = {
    .stage = "source_layer",
    .stage_meaning = "layer of the source, the first sees the inputs",
    .layer_variables = layer_variables,
    .n_layer_variables = sizeof layer_variables / sizeof layer_variables[0],
    .stage_variables = stage_variables,
    .n_stage_variables = sizeof stage_variables / sizeof stage_variables[0],
    .size = size,
    .create = create,
    .destroy = destroy,
    .solve = solve,
    .compose = compose,
    .open = open_deep,
    .run = run,
    .get = get,
    .set = set,
    .weights = weights,
    .copy_weights = copy_weights};
