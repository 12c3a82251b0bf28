#include "io/input/target_node.h"

#include "io/input/target_layer.h"
#include "src/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH_LENGTH 256
#define NAME_LENGTH 128
#define MOST 8

/* Attributes of every kind, and those that are for people. */
static const char *const common[] = {"type",  "inputs", "activation", "negative_slope",
                                     "slope", "limit",  "name",       "comment"};
#define N_COMMON ((int64_t)(sizeof common / sizeof common[0]))

/* Further attributes and the members of each kind, up to a NULL; the fewest and most inputs. */
typedef struct rules {
    const char *attributes[MOST], *members[MOST];
    int64_t least, most;
} rules;

#define ANY 1000000

static const rules table[NORMA_N_LAYER_KINDS] = {
    [NORMA_LAYER_BATCHNORM] = {{"bn_eps"}, {"bn_gamma", "bn_beta", "bn_mean", "bn_var"}, 1, 1},
    [NORMA_LAYER_ADD] = {{NULL}, {"constant"}, 1, ANY},
    [NORMA_LAYER_MULTIPLY] = {{NULL}, {"constant"}, 1, ANY},
    [NORMA_LAYER_CONCAT] = {{NULL}, {NULL}, 2, ANY},
    [NORMA_LAYER_ACTIVATION] = {{NULL}, {NULL}, 1, 1},
    [NORMA_LAYER_CLIP] = {{"min", "max"}, {NULL}, 1, 1},
    [NORMA_LAYER_MAX_POOL] = {{"kernel", "stride", "padding"}, {NULL}, 1, 1},
    [NORMA_LAYER_AVERAGE_POOL] = {{"kernel", "stride", "padding", "count_include_pad"},
                                  {NULL},
                                  1,
                                  1},
    [NORMA_LAYER_GLOBAL_AVERAGE] = {{NULL}, {NULL}, 1, 1},
    [NORMA_LAYER_FLATTEN] = {{NULL}, {NULL}, 1, 1},
    [NORMA_LAYER_SOFTMAX] = {{NULL}, {NULL}, 1, 1},
    [NORMA_LAYER_RESHAPE] = {{"shape"}, {NULL}, 1, 1},
    [NORMA_LAYER_RESIZE] = {{"size", "scale"}, {NULL}, 1, 1},
};

static bool is_listed(const char *const list[MOST], const char *name)
{
    for (int k = 0; k < MOST && list[k]; k++)
        if (strcmp(list[k], name) == 0)
            return true;
    return false;
}

static bool is_common(const char *name)
{
    for (int64_t k = 0; k < N_COMMON; k++)
        if (strcmp(common[k], name) == 0)
            return true;
    return false;
}

/* "type, inputs, kernel" */
static void list_known(const char *const list[MOST], bool with_common, norma_text *out)
{
    const char *comma = "";
    for (int64_t k = 0; with_common && k < N_COMMON; k++, comma = ", ")
        norma_text_append(out, "%s%s", comma, common[k]);
    for (int k = 0; k < MOST && list[k]; k++, comma = ", ")
        norma_text_append(out, "%s%s", comma, list[k]);
}

static norma_status fail_unknown(const norma_h5_input *input, const char *group, const char *part,
                                 const char *name, const norma_layer *layer)
{
    const rules *r = &table[layer->kind];
    bool attribute = strcmp(part, "attribute") == 0;
    norma_text known;
    norma_text_init(&known);
    list_known(attribute ? r->attributes : r->members, attribute, &known);
    norma_status status = NORMA_FAIL(
        NORMA_CONFIG, "%s: %s: %s '%s' is not known for the type %s; it has %s",
        norma_h5_input_name_root(input), group, part, name, norma_layer_kind_name(layer->kind),
        known.data && known.data[0] != '\0' ? known.data : "none");
    norma_text_clear(&known);
    return status;
}

/* An attribute or member that is not understood could change the layer's values: it is refused. */
static norma_status check_known(const norma_h5_input *input, const char *group,
                                const norma_layer *layer)
{
    const rules *r = &table[layer->kind];
    char name[NAME_LENGTH];
    int64_t n = 0;
    NORMA_TRY(norma_h5_input_count_attributes_root(input, group, &n));
    for (int64_t i = 0; i < n; i++) {
        NORMA_TRY(norma_h5_input_attribute_root(input, group, i, name, sizeof name));
        if (!is_common(name) && !is_listed(r->attributes, name))
            return fail_unknown(input, group, "attribute", name, layer);
    }
    NORMA_TRY(norma_h5_input_count_root(input, group, &n));
    for (int64_t i = 0; i < n; i++) {
        NORMA_TRY(norma_h5_input_member_root(input, group, i, name, sizeof name));
        if (!is_listed(r->members, name))
            return fail_unknown(input, group, "member", name, layer);
    }
    return NORMA_OK;
}

/* The window of a pool; the stride is the window's extent unless given. */
static norma_status read_window(const norma_h5_input *input, const char *group, norma_layer *layer)
{
    int64_t kernel[2] = {0, 0};
    double counts = 1;
    int64_t n = 0;
    NORMA_TRY(norma_target_read_pair_root(input, group, "kernel", 1, kernel));
    if (kernel[0] == 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute kernel is missing",
                          norma_h5_input_name_root(input), group);
    layer->kernel = (norma_kernel_shape){kernel[0], kernel[1]};
    layer->stride[0] = kernel[0];
    layer->stride[1] = kernel[1];
    NORMA_TRY(norma_target_read_geometry_root(input, group, layer));
    if (norma_h5_input_has_attribute_root(input, group, "count_include_pad"))
        NORMA_TRY(
            norma_h5_input_numbers_root(input, group, "count_include_pad", 1, 1, &counts, &n));
    if (counts != 0 && counts != 1)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: attribute count_include_pad is %g, 0 or 1 is expected",
                          norma_h5_input_name_root(input), group, counts);
    layer->counts_padding = counts == 1;
    return NORMA_OK;
}

/* The limits of a clip, of which one may be missing. */
static norma_status read_clip(const norma_h5_input *input, const char *group, norma_layer *layer)
{
    static const char *const names[2] = {"min", "max"};
    bool any = false;
    int64_t n = 0;
    layer->clip[0] = -INFINITY;
    layer->clip[1] = INFINITY;
    for (int k = 0; k < 2; k++) {
        if (!norma_h5_input_has_attribute_root(input, group, names[k]))
            continue;
        any = true;
        NORMA_TRY(norma_h5_input_numbers_root(input, group, names[k], 1, 1, &layer->clip[k], &n));
    }
    if (!any)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: the attributes min and max are both missing",
                          norma_h5_input_name_root(input), group);
    if (layer->clip[0] > layer->clip[1])
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute min, %g, is larger than max, %g",
                          norma_h5_input_name_root(input), group, layer->clip[0], layer->clip[1]);
    return NORMA_OK;
}

/* The extents of a reshape, one of which may be -1. */
static norma_status read_reshape(const norma_h5_input *input, const char *group, norma_layer *layer)
{
    double values[3] = {0, 0, 0};
    int64_t n = 0;
    int n_open = 0;
    if (!norma_h5_input_has_attribute_root(input, group, "shape"))
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute shape is missing",
                          norma_h5_input_name_root(input), group);
    NORMA_TRY(norma_h5_input_numbers_root(input, group, "shape", 3, 3, values, &n));
    for (int k = 0; k < 3; k++) {
        n_open += values[k] == -1;
        if ((values[k] != -1 && !(values[k] >= 1 && values[k] <= 1e12)) ||
            values[k] != (double)(int64_t)values[k] || n_open > 1)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s: attribute shape is %g, %g, %g; channels, height and width "
                              "are expected, one of which may be -1",
                              norma_h5_input_name_root(input), group, values[0], values[1],
                              values[2]);
        layer->extents[k] = (int64_t)values[k];
    }
    return NORMA_OK;
}

/* The extents of a resize, or its factors. */
static norma_status read_resize(const norma_h5_input *input, const char *group, norma_layer *layer)
{
    bool size = norma_h5_input_has_attribute_root(input, group, "size");
    if (size == norma_h5_input_has_attribute_root(input, group, "scale"))
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: has %s; one of the attributes size (height, width) and scale "
                          "(whole numbers) is expected",
                          norma_h5_input_name_root(input), group,
                          size ? "both size and scale" : "neither size nor scale");
    if (size)
        return norma_target_read_pair_root(input, group, "size", 1, layer->extents + 1);
    return norma_target_read_pair_root(input, group, "scale", 1, layer->factor);
}

/* The number of channels, from the extent of an array [c]. */
static norma_status read_channels(const norma_h5_input *input, const char *group, const char *name,
                                  norma_layer *layer)
{
    char path[PATH_LENGTH];
    int rank = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    snprintf(path, sizeof path, "%s/%s", group, name);
    NORMA_TRY(norma_h5_input_shape_root(input, path, 1, 1, &rank, extents));
    layer->n_channels_out = layer->n_channels_in = extents[0];
    return NORMA_OK;
}

static bool has_constant(const norma_h5_input *input, const char *group)
{
    char path[PATH_LENGTH];
    snprintf(path, sizeof path, "%s/constant", group);
    return norma_h5_input_has_root(input, path);
}

/* A sum or product: of several inputs, or of one with a constant a channel. */
static norma_status describe_joined(const norma_h5_input *input, const char *group,
                                    norma_layer *layer)
{
    if (has_constant(input, group)) {
        if (layer->n_inputs != 1)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s: has a constant and %" PRId64 " inputs, one is expected",
                              norma_h5_input_name_root(input), group, layer->n_inputs);
        NORMA_TRY(read_channels(input, group, "constant", layer));
        layer->kind = NORMA_LAYER_BATCHNORM;
        return NORMA_OK;
    }
    if (layer->n_inputs < 2)
        return NORMA_FAIL(
            NORMA_CONFIG, "%s: %s: %s takes two inputs or more, or one and the dataset constant",
            norma_h5_input_name_root(input), group, norma_layer_kind_name(layer->kind));
    return NORMA_OK;
}

norma_status norma_target_describe_node_root(const norma_h5_input *input, const char *group,
                                             norma_layer *layer)
{
    const rules *r = &table[layer->kind];
    const char *fallback = layer->kind == NORMA_LAYER_ACTIVATION ? NULL : "identity";
    NORMA_TRY(check_known(input, group, layer));
    if (layer->n_inputs < r->least || layer->n_inputs > r->most)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: has %" PRId64 " inputs; %s takes %s",
                          norma_h5_input_name_root(input), group, layer->n_inputs,
                          norma_layer_kind_name(layer->kind), r->most == 1 ? "one" : "more");
    NORMA_TRY(norma_target_read_activation_root(input, group, fallback, &layer->activation));
    switch (layer->kind) {
    case NORMA_LAYER_BATCHNORM:
        return read_channels(input, group, "bn_var", layer);
    case NORMA_LAYER_ADD:
    case NORMA_LAYER_MULTIPLY:
        return describe_joined(input, group, layer);
    case NORMA_LAYER_CLIP:
        return read_clip(input, group, layer);
    case NORMA_LAYER_MAX_POOL:
    case NORMA_LAYER_AVERAGE_POOL:
        return read_window(input, group, layer);
    case NORMA_LAYER_RESHAPE:
        return read_reshape(input, group, layer);
    case NORMA_LAYER_RESIZE:
        return read_resize(input, group, layer);
    case NORMA_LAYER_CONV2D:
    case NORMA_LAYER_LINEAR:
    case NORMA_LAYER_CONCAT:
    case NORMA_LAYER_ACTIVATION:
    case NORMA_LAYER_GLOBAL_AVERAGE:
    case NORMA_LAYER_FLATTEN:
    case NORMA_LAYER_SOFTMAX:
    case NORMA_N_LAYER_KINDS:
        break;
    }
    return NORMA_OK;
}

norma_status norma_target_read_node_root(const norma_h5_input *input, const char *group,
                                         norma_layer *layer)
{
    char text[NAME_LENGTH];
    char path[PATH_LENGTH];
    norma_layer_kind kind = layer->kind;
    int64_t c = layer->n_channels_out;
    if (layer->kind != NORMA_LAYER_BATCHNORM)
        return NORMA_OK;
    for (int64_t i = 0; i < c; i++) {
        layer->weight[i] = 1;
        layer->bias[i] = 0;
    }
    if (!has_constant(input, group))
        return norma_target_read_batch_norm_root(input, group, layer);
    NORMA_TRY(norma_h5_input_text_root(input, group, "type", text, sizeof text));
    NORMA_TRY(norma_layer_kind_from_name(text, &kind));
    snprintf(path, sizeof path, "%s/constant", group);
    return norma_h5_input_read_root(input, path, 1, &c,
                                    kind == NORMA_LAYER_ADD ? layer->bias : layer->weight);
}
