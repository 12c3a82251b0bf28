#include "io/input/target_layer.h"

#include "io/input/target_node.h"
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/base/names.h"
#include "src/base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATH_LENGTH 256
#define NAME_LENGTH 128
#define N_NAMES(names) ((int64_t)(sizeof(names) / sizeof(names)[0]))

/* A larger stride, padding or dilation is refused. */
#define MAX_PIXELS 1000000

static const char *const member_names[] = {"weight",  "bias",    "bn_gamma",
                                           "bn_beta", "bn_mean", "bn_var"};
static const char *const attribute_names[] = {"type",    "activation", "negative_slope", "stride",
                                              "padding", "pool",       "bn_eps",         "inputs",
                                              "groups",  "dilation",   "slope",          "limit"};

static const norma_names members = NORMA_NAMES("member of a layer", "members", member_names);
static const norma_names attributes = NORMA_NAMES("attribute", "attributes", attribute_names);

/* Options of PyTorch's layers that change the result and are not supported. */
static const char *const refused_attributes[] = {"padding_mode", "ceil_mode"};

/* The datasets of a batch normalization, in the order of norma_layer_fold. */
static const char *const bn_names[] = {"bn_gamma", "bn_beta", "bn_mean", "bn_var"};

static bool is_among(const char *name, const char *const *names, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    return false;
}

/* Refuses datasets that are not known: they could change what the layer computes. */
static norma_status check_members(const norma_h5_input *input, const char *group)
{
    int64_t n = 0;
    NORMA_TRY(norma_h5_input_count_root(input, group, &n));
    for (int64_t i = 0; i < n; i++) {
        char name[NAME_LENGTH];
        NORMA_TRY(norma_h5_input_member_root(input, group, i, name, sizeof name));
        if (is_among(name, member_names, N_NAMES(member_names)))
            continue;
        return norma_status_context(norma_names_fail(&members, NORMA_CONFIG, name),
                                    "%s: %s: ", norma_h5_input_name_root(input), group);
    }
    return NORMA_OK;
}

/* Refuses attributes that change a convolution, and those whose names resemble a known one; others
 * are ignored. */
static norma_status check_attributes(const norma_h5_input *input, const char *group)
{
    int64_t n = 0;
    NORMA_TRY(norma_h5_input_count_attributes_root(input, group, &n));
    for (int64_t i = 0; i < n; i++) {
        char name[NAME_LENGTH];
        NORMA_TRY(norma_h5_input_attribute_root(input, group, i, name, sizeof name));
        if (is_among(name, attribute_names, N_NAMES(attribute_names)))
            continue;
        if (is_among(name, refused_attributes, N_NAMES(refused_attributes)))
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is not supported",
                              norma_h5_input_name_root(input), group, name);
        if (norma_text_nearest(name, attribute_names, N_NAMES(attribute_names)))
            return norma_status_context(norma_names_fail(&attributes, NORMA_CONFIG, name),
                                        "%s: %s: ", norma_h5_input_name_root(input), group);
    }
    return NORMA_OK;
}

norma_status norma_target_read_pair_root(const norma_h5_input *input, const char *object,
                                         const char *name, int64_t least, int64_t pair[2])
{
    double values[2] = {0, 0};
    int64_t n = 0;
    if (!norma_h5_input_has_attribute_root(input, object, name))
        return NORMA_OK;
    NORMA_TRY(norma_h5_input_numbers_root(input, object, name, 1, 2, values, &n));
    for (int64_t k = 0; k < 2; k++) {
        double x = values[k < n ? k : 0];
        if (!(x >= (double)least && x <= MAX_PIXELS) || x != (double)(int64_t)x)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s: attribute %s is %g; a whole number from %" PRId64
                              " on is expected",
                              norma_h5_input_name_root(input), object, name, x, least);
        pair[k] = (int64_t)x;
    }
    return NORMA_OK;
}

/* Reads 1 number for all sides, 2 for rows and columns, or 4: top, left, bottom, right. */
static norma_status read_padding(const norma_h5_input *input, const char *group, norma_layer *layer)
{
    double values[4] = {0, 0, 0, 0};
    int64_t n = 0;
    if (!norma_h5_input_has_attribute_root(input, group, "padding"))
        return NORMA_OK;
    NORMA_TRY(norma_h5_input_numbers_root(input, group, "padding", 1, 4, values, &n));
    if (n == 3)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: attribute padding holds 3 values; expected: 1, 2 or 4 (top, "
                          "left, bottom, right)",
                          norma_h5_input_name_root(input), group);
    for (int64_t k = 0; k < n; k++)
        if (!(values[k] >= 0 && values[k] <= MAX_PIXELS) || values[k] != (double)(int64_t)values[k])
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s: attribute padding is %g; a whole number from 0 on is "
                              "expected",
                              norma_h5_input_name_root(input), group, values[k]);
    for (int axis = 0; axis < 2; axis++) {
        double near = values[n == 1 ? 0 : axis];
        layer->padding[axis] = (int64_t)near;
        layer->padding_more[axis] = n == 4 ? (int64_t)(values[2 + axis] - near) : 0;
    }
    return NORMA_OK;
}

/* Is the type conv1d, whatever way it is written? */
static bool is_one_dimensional(const norma_h5_input *input, const char *group)
{
    char text[NAME_LENGTH];
    char plain[NAME_LENGTH];
    size_t n = 0;
    if (norma_h5_input_text_root(input, group, "type", text, sizeof text) != NORMA_OK)
        return false;
    for (const char *at = text; *at; at++)
        if (isalnum((unsigned char)*at))
            plain[n++] = (char)tolower((unsigned char)*at);
    plain[n] = '\0';
    return strcmp(plain, "conv1d") == 0 || strcmp(plain, "convolution1d") == 0;
}

/* A convolution of rows is one of images of one row: its numbers are those of the width. */
static norma_status turn_one_dimensional(const norma_h5_input *input, const char *group,
                                         norma_layer *layer)
{
    static const char *const names[] = {"stride", "dilation", "padding"};
    for (int k = 0; k < 3; k++) {
        double values[2] = {0, 0};
        int64_t n = 0;
        if (!norma_h5_input_has_attribute_root(input, group, names[k]))
            continue;
        NORMA_TRY(
            norma_h5_input_numbers_root(input, group, names[k], 1, k < 2 ? 1 : 2, values, &n));
        if (k == 2) /* left, right */
            layer->padding_more[1] = n == 2 ? (int64_t)(values[1] - values[0]) : 0;
    }
    layer->padding[1] = layer->padding[0];
    layer->stride[0] = layer->dilation[0] = 1;
    layer->padding[0] = layer->padding_more[0] = 0;
    return NORMA_OK;
}

/* Reads stride, padding, dilation and groups, which only convolutions have. */
norma_status norma_target_read_geometry_root(const norma_h5_input *input, const char *group,
                                             norma_layer *layer)
{
    const char *file = norma_h5_input_name_root(input);
    int64_t groups[2] = {1, 1};
    NORMA_TRY(norma_target_read_pair_root(input, group, "stride", 1, layer->stride));
    NORMA_TRY(read_padding(input, group, layer));
    NORMA_TRY(norma_target_read_pair_root(input, group, "dilation", 1, layer->dilation));
    NORMA_TRY(norma_target_read_pair_root(input, group, "groups", 1, groups));
    layer->groups = groups[0];
    if (groups[0] != groups[1])
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute groups holds 2 numbers, 1 is expected",
                          file, group);
    if (layer->kind != NORMA_LAYER_LINEAR)
        return NORMA_OK;
    if (layer->stride[0] != 1 || layer->stride[1] != 1 || layer->padding[0] != 0 ||
        layer->padding[1] != 0 || layer->padding_more[0] != 0 || layer->padding_more[1] != 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: a linear layer has no stride or padding", file,
                          group);
    if (layer->groups != 1 || layer->dilation[0] != 1 || layer->dilation[1] != 1)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: a linear layer has no groups or dilation", file,
                          group);
    return NORMA_OK;
}

/* Reads a name; where it is missing it is `fallback`, and NORMA_CONFIG where that is NULL. */
static norma_status read_name(const norma_h5_input *input, const char *group, const char *name,
                              const char *fallback, char out[NAME_LENGTH])
{
    if (norma_h5_input_has_attribute_root(input, group, name))
        return norma_h5_input_text_root(input, group, name, out, NAME_LENGTH);
    if (!fallback)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is missing",
                          norma_h5_input_name_root(input), group, name);
    snprintf(out, NAME_LENGTH, "%s", fallback);
    return NORMA_OK;
}

norma_status norma_target_read_activation_root(const norma_h5_input *input, const char *group,
                                               const char *fallback, norma_activation *activation)
{
    char text[NAME_LENGTH];
    int64_t n = 0;
    NORMA_TRY(read_name(input, group, "activation", fallback, text));
    norma_status status = norma_activation_from_name(text, activation);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: %s: ", norma_h5_input_name_root(input), group);
    const norma_activation_descriptor *d = &norma_activation_table[activation->kind];
    if (!d->attribute || !norma_h5_input_has_attribute_root(input, group, d->attribute))
        return NORMA_OK;
    NORMA_TRY(
        norma_h5_input_numbers_root(input, group, d->attribute, 1, 1, &activation->parameter, &n));
    bool leaky = activation->kind == NORMA_ACTIVATION_LEAKY_RELU;
    double value = activation->parameter;
    if (leaky ? !(value > 0 && value < 1) : !(value >= d->min && value <= d->max))
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is %g; a number %s is expected",
                          norma_h5_input_name_root(input), group, d->attribute, value,
                          leaky ? "between 0 and 1" : "above 0");
    return NORMA_OK;
}

static norma_status read_extents(const norma_h5_input *input, const char *group, norma_layer *layer)
{
    char path[PATH_LENGTH];
    int rank = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {1, 1, 1, 1};
    int64_t ignored = 0;
    snprintf(path, sizeof path, "%s/weight", group);
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, &rank, extents));
    bool one_dimensional = is_one_dimensional(input, group);
    if (one_dimensional && rank != 3)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: has %d axes, [outputs, inputs, width] are expected",
                          norma_h5_input_name_root(input), path, rank);
    if ((rank == 3 && !one_dimensional) || (rank == 4 && layer->kind == NORMA_LAYER_LINEAR))
        return NORMA_FAIL(
            NORMA_CONFIG, "%s: %s: has %d axes, %s", norma_h5_input_name_root(input), path, rank,
            layer->kind == NORMA_LAYER_LINEAR ? "[outputs, inputs] are expected"
                                              : "[outputs, inputs, height, width] are expected");
    layer->n_channels_out = extents[0];
    if (extents[0] % layer->groups != 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: attribute groups is %" PRId64 ", which does not divide the "
                          "%" PRId64 " output channels",
                          norma_h5_input_name_root(input), group, layer->groups, extents[0]);
    NORMA_TRY(norma_index_multiply(extents[1], layer->groups, "input channels of a layer",
                                   &layer->n_channels_in));
    layer->kernel = (norma_kernel_shape){rank == 4 ? extents[2] : 1, rank == 4 ? extents[3] : 1};
    if (one_dimensional)
        layer->kernel.width = extents[2];
    NORMA_TRY(norma_index_multiply(extents[0], extents[1], "elements of a weight", &ignored));
    return norma_index_multiply(ignored, norma_kernel_taps(layer->kernel), "elements of a weight",
                                &ignored);
}

norma_status norma_target_describe_layer_root(const norma_h5_input *input, const char *group,
                                              norma_layer *layer)
{
    char text[NAME_LENGTH];
    const char *file = norma_h5_input_name_root(input);
    NORMA_TRY(check_attributes(input, group));
    NORMA_TRY(read_name(input, group, "type", NULL, text));
    norma_status status = norma_layer_kind_from_name(text, &layer->kind);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: %s: ", file, group);
    if (!norma_layer_has_kernel(layer))
        return norma_target_describe_node_root(input, group, layer);
    if (layer->n_inputs != 1)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: has %" PRId64 " inputs; %s takes one", file, group,
                          layer->n_inputs, norma_layer_kind_name(layer->kind));
    NORMA_TRY(norma_target_read_activation_root(input, group, NULL, &layer->activation));
    NORMA_TRY(read_name(input, group, "pool", "none", text));
    status = norma_pool_from_name(text, &layer->pool);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: %s: ", file, group);
    NORMA_TRY(norma_target_read_geometry_root(input, group, layer));
    if (is_one_dimensional(input, group))
        NORMA_TRY(turn_one_dimensional(input, group, layer));
    NORMA_TRY(read_extents(input, group, layer));
    return check_members(input, group);
}

static norma_status read_batch_norm(const norma_h5_input *input, const char *group,
                                    norma_layer *layer, double *arrays)
{
    char path[PATH_LENGTH];
    double eps = 1e-5; /* PyTorch's default */
    int64_t n = 0;
    int64_t c2 = layer->n_channels_out;
    for (int k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/%s", group, bn_names[k]);
        NORMA_TRY(norma_h5_input_read_root(input, path, 1, &c2, arrays + k * c2));
    }
    if (norma_h5_input_has_attribute_root(input, group, "bn_eps")) {
        NORMA_TRY(norma_h5_input_numbers_root(input, group, "bn_eps", 1, 1, &eps, &n));
        if (eps < 0)
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute bn_eps is %g; it cannot be negative",
                              norma_h5_input_name_root(input), group, eps);
    }
    norma_status status =
        norma_layer_fold(layer, arrays, arrays + c2, arrays + 2 * c2, arrays + 3 * c2, eps);
    if (status != NORMA_OK)
        return norma_status_context(status, "%s: %s: ", norma_h5_input_name_root(input), group);
    return NORMA_OK;
}

norma_status norma_target_read_batch_norm_root(const norma_h5_input *input, const char *group,
                                               norma_layer *layer)
{
    double *arrays = NULL;
    NORMA_TRY(NORMA_ALLOC(arrays, 4 * layer->n_channels_out));
    norma_status status = read_batch_norm(input, group, layer, arrays);
    NORMA_FREE(arrays);
    return status;
}

norma_status norma_target_read_layer_root(const norma_h5_input *input, const char *group,
                                          norma_layer *layer)
{
    char path[PATH_LENGTH];
    bool any = false;
    int64_t extents[4] = {layer->n_channels_out, layer->n_channels_in / layer->groups,
                          layer->kernel.height, layer->kernel.width};
    int rank = 0;
    if (!norma_layer_has_kernel(layer))
        return norma_target_read_node_root(input, group, layer);
    int64_t ignored[NORMA_H5_INPUT_MAX_RANK];
    snprintf(path, sizeof path, "%s/weight", group);
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, &rank, ignored));
    if (rank == 3) /* of rows */
        extents[2] = extents[3];
    NORMA_TRY(norma_h5_input_read_root(input, path, rank, extents, layer->weight));
    snprintf(path, sizeof path, "%s/bias", group);
    if (norma_h5_input_has_root(input, path))
        NORMA_TRY(norma_h5_input_read_root(input, path, 1, extents, layer->bias));
    for (int k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/%s", group, bn_names[k]);
        any = any || norma_h5_input_has_root(input, path);
    }
    return any ? norma_target_read_batch_norm_root(input, group, layer) : NORMA_OK;
}
