/* The arrays of a layer in the result file: affine maps and frozen weights. */
#include "experiments/reconstruct/construct/layer_values.h"
#include "experiments/reconstruct/output.h"
#include "experiments/reconstruct/statistics.h"

#include "src/base/index.h"
#include "src/base/mem.h"

#include <stdio.h>

enum { MOST_PATH = 64 };

typedef struct array {
    const char *name;
    const char *dimension; /* beside replica */
    const char *long_name;
} array;

static const array map_arrays[] = {
    {"gamma1", "feature", "scale of the first affine map"},
    {"beta1", "feature", "shift of the first affine map"},
    {"gamma2", "channel", "scale of the second affine map"},
    {"beta2", "channel", "shift of the second affine map"},
    {"bn1_weight", "feature", "weight of the first batch norm"},
    {"bn1_bias", "feature", "bias of the first batch norm"},
    {"bn1_running_mean", "feature", "running mean of the first batch norm"},
    {"bn1_running_var", "feature", "running variance of the first batch norm"},
    {"bn2_weight", "channel", "weight of the second batch norm"},
    {"bn2_bias", "channel", "bias of the second batch norm"},
    {"bn2_running_mean", "channel", "running mean of the second batch norm"},
    {"bn2_running_var", "channel", "running variance of the second batch norm"},
    {"linear_region", "end",
     "least and greatest argument at which the activation counts as linear"},
    /* Only where a file gives them: */
    {"conv1_bias", "feature", "bias of the first convolution"},
    {"conv2_bias", "channel", "bias of the second convolution"},
};
enum { N_BIAS_ARRAYS = 2, N_MAP_ARRAYS = sizeof map_arrays / sizeof map_arrays[0] };

/* The group of a layer's arrays. */
static void layer_group(const norma_reconstruct_output *output, int64_t cell, int64_t layer,
                        char path[MOST_PATH])
{
    if (norma_config_is_single(output->config))
        snprintf(path, MOST_PATH, "/layers/%03lld", (long long)layer);
    else
        snprintf(path, MOST_PATH, "/cells/%06lld/layers/%03lld",
                 (long long)norma_config_get_cell_number(output->config, cell), (long long)layer);
}

static norma_status add_axis(norma_result *file, const char *group, const char *name,
                             int64_t length, const char *long_name)
{
    return norma_schema_add_dimension(
        file, group,
        &(norma_dimension){.name = name, .length = length, .units = "1", .long_name = long_name});
}

static norma_status add_weights(norma_reconstruct_output *output, const char *group,
                                const norma_reconstruct_layer *layer)
{
    const norma_kernel *kernel = &layer->shape.kernel;
    norma_result *file = output->file;
    NORMA_TRY(add_axis(file, group, "channel_in", layer->shape.n_channels_in,
                       layer->groups > 1 ? "input channel of the target layer among those of its "
                                           "group"
                                         : "input channel of the target layer"));
    NORMA_TRY(add_axis(file, group, "row1", kernel->first.height, "row of the kernel K1"));
    NORMA_TRY(add_axis(file, group, "column1", kernel->first.width, "column of the kernel K1"));
    NORMA_TRY(add_axis(file, group, "row2", kernel->second.height, "row of the kernel K2"));
    NORMA_TRY(add_axis(file, group, "column2", kernel->second.width, "column of the kernel K2"));
    NORMA_TRY(norma_schema_add_variable(
        file, group,
        &(norma_variable){.name = "W1",
                          .type = NORMA_FLOAT64,
                          .dimensions = {"replica", "feature", "channel_in", "row1", "column1"},
                          .units = "1",
                          .long_name = "frozen weights of the first source layer",
                          .written_whole = true}));
    const char *features = "feature";
    if (layer->groups > 1) {
        features = "feature_of_group";
        NORMA_TRY(add_axis(file, group, features, layer->n_features / layer->groups,
                           "hidden channel among those of its group"));
    }
    NORMA_TRY(norma_schema_add_variable(
        file, group,
        &(norma_variable){.name = "W2",
                          .type = NORMA_FLOAT64,
                          .dimensions = {"replica", "channel", features, "row2", "column2"},
                          .units = "1",
                          .long_name = "frozen weights of the second source layer",
                          .written_whole = true}));
    if (!layer->skip)
        return NORMA_OK;
    NORMA_TRY(add_axis(file, group, "row", kernel->target.height, "row of the target's kernel"));
    NORMA_TRY(
        add_axis(file, group, "column", kernel->target.width, "column of the target's kernel"));
    return norma_schema_add_variable(
        file, group,
        &(norma_variable){.name = "Ws",
                          .type = NORMA_FLOAT64,
                          .dimensions = {"replica", "channel", "channel_in", "row", "column"},
                          .units = "1",
                          .long_name = "frozen weights of the skip connection",
                          .written_whole = true});
}

static norma_status add_teacher(norma_reconstruct_output *output, const char *group)
{
    return norma_schema_add_variable(
        output->file, group,
        &(norma_variable){.name = "teacher",
                          .type = NORMA_FLOAT64,
                          .dimensions = {"replica", "channel", "channel_in"},
                          .units = "1",
                          .long_name = "weights of the teacher's hidden layer"});
}

static norma_status add_values(norma_reconstruct_output *output, const char *group, int64_t n)
{
    NORMA_TRY(add_axis(output->file, group, "index", n, "singular value, largest first"));
    return norma_schema_add_variable(
        output->file, group,
        &(norma_variable){.name = "singular_value",
                          .type = NORMA_FLOAT64,
                          .dimensions = {"replica", "index"},
                          .units = "1",
                          .long_name = "singular values of M, largest first"});
}

static norma_status add_order(norma_reconstruct_output *output, const char *group)
{
    return norma_schema_add_variable(
        output->file, group,
        &(norma_variable){.name = "permutation",
                          .type = NORMA_INT32,
                          .dimensions = {"replica", "channel"},
                          .units = "1",
                          .long_name = "output channel of the target that a channel computes"});
}

/* Attributes with which a reader can run the pair without Norma. */
static norma_status set_layer_attributes(norma_reconstruct_output *output, const char *group,
                                         const norma_reconstruct_cell *cell,
                                         const norma_reconstruct_layer *layer)
{
    const norma_kernel *kernel = &layer->shape.kernel;
    const norma_source_shape *source = &layer->source_shape;
    char text[64];
    NORMA_TRY(norma_result_set_text(output->file, group, "activation",
                                    norma_activation_name(layer->activation.kind)));
    const char *parameter = norma_activation_table[layer->activation.kind].attribute;
    if (parameter)
        NORMA_TRY(
            norma_result_set_double(output->file, group, parameter, layer->activation.parameter));
    const norma_kernel_shape shapes[] = {kernel->first, kernel->second};
    static const char *const shape_names[] = {"kernel1", "kernel2"};
    const int64_t *const pairs[] = {source->padding, source->padding_far, source->stride1,
                                    source->stride2, source->dilation};
    static const char *const pair_names[] = {"padding1", "padding1_far", "stride1", "stride2",
                                             "dilation"};
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%lldx%lld", (long long)shapes[i].height,
                 (long long)shapes[i].width);
        NORMA_TRY(norma_result_set_text(output->file, group, shape_names[i], text));
    }
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        snprintf(text, sizeof text, "%lldx%lld", (long long)pairs[i][0], (long long)pairs[i][1]);
        NORMA_TRY(norma_result_set_text(output->file, group, pair_names[i], text));
    }
    NORMA_TRY(norma_result_set_int64(output->file, group, "groups", layer->groups));
    NORMA_TRY(norma_result_set_text(output->file, group, "residual",
                                    norma_residual_name(cell->residual)));
    NORMA_TRY(norma_result_set_text(output->file, group, "bn_statistics",
                                    norma_reconstruct_statistics_names[cell->statistics]));
    return norma_result_set_double(output->file, group, "bn_eps", cell->bn_eps);
}

bool norma_reconstruct_output_has_arrays(const norma_reconstruct_output *output)
{
    return output->save_gamma || output->save_weights || output->save_values || output->with_orders;
}

norma_status norma_reconstruct_output_add_cell(norma_reconstruct_output *output,
                                               const norma_reconstruct_cell *cell)
{
    char group[MOST_PATH];
    if (!norma_reconstruct_output_has_arrays(output))
        return NORMA_OK;
    for (int64_t i = 0; i < cell->n_layers; i++) {
        const norma_reconstruct_layer *layer = &cell->layers[i];
        if (!layer->wanted)
            continue;
        layer_group(output, cell->number, i, group);
        NORMA_TRY(norma_schema_add_group(output->file, group));
        NORMA_TRY(set_layer_attributes(output, group, cell, layer));
        NORMA_TRY(add_axis(output->file, group, "replica", output->n_replicas,
                           "independent draw of the source weights"));
        NORMA_TRY(add_axis(output->file, group, "feature", layer->n_features,
                           "hidden channel of the source pair"));
        NORMA_TRY(add_axis(output->file, group, "channel", layer->source_shape.n_channels_out,
                           "output channel of the target layer"));
        if (output->save_gamma)
            NORMA_TRY(add_axis(output->file, group, "end", 2, "lower and upper end"));
        int n_arrays =
            N_MAP_ARRAYS - (cell->statistics == NORMA_STATISTICS_FILE ? 0 : N_BIAS_ARRAYS);
        for (int k = 0; output->save_gamma && k < n_arrays; k++)
            NORMA_TRY(norma_schema_add_variable(
                output->file, group,
                &(norma_variable){.name = map_arrays[k].name,
                                  .type = NORMA_FLOAT64,
                                  .dimensions = {"replica", map_arrays[k].dimension},
                                  .units = "1",
                                  .long_name = map_arrays[k].long_name}));
        if (output->save_weights)
            NORMA_TRY(add_weights(output, group, layer));
        if (output->save_weights && output->n_teacher > 0)
            NORMA_TRY(add_teacher(output, group));
        if (output->save_values)
            NORMA_TRY(add_values(output, group, norma_reconstruct_values_count(cell, i)));
        if (output->with_orders)
            NORMA_TRY(add_order(output, group));
    }
    return NORMA_OK;
}

static norma_status write_row(const norma_reconstruct_writer *writer, const char *group,
                              const char *name, int64_t replica, int64_t n, const double *values)
{
    char path[2 * MOST_PATH];
    const int64_t start[] = {replica, 0};
    const int64_t count[] = {1, n};
    snprintf(path, sizeof path, "%s/%s", group, name);
    return norma_reconstruct_writer_put_local(writer, path, NORMA_FLOAT64, start, count, values);
}

static norma_status write_teacher(const norma_reconstruct_writer *writer, const char *group,
                                  const norma_layer *teacher, int64_t replica)
{
    const int64_t start[] = {replica, 0, 0};
    const int64_t count[] = {1, teacher->n_channels_out, teacher->n_channels_in};
    char path[2 * MOST_PATH];
    snprintf(path, sizeof path, "%s/teacher", group);
    return norma_reconstruct_writer_put_local(writer, path, NORMA_FLOAT64, start, count,
                                              teacher->weight);
}

/* This rank's part of values that the ranks of the team share. */
static norma_status write_share(const norma_reconstruct_writer *writer, const char *path,
                                const int64_t *start, const int64_t *count, const double *values)
{
    norma_result *file = writer->output->file;
    if (writer->is_world)
        return norma_result_write(file, path, NORMA_FLOAT64, start, count, values);
    return norma_team_agree(
        writer->team, norma_result_write_local(file, path, NORMA_FLOAT64, start, count, values));
}

/* The four arrays of one affine map as a batch norm computes it; prefix "bn1" or "bn2". */
static norma_status write_batch_norm(const norma_reconstruct_writer *writer, const char *group,
                                     const char *prefix, int64_t replica, int64_t n,
                                     const norma_bn_statistics *statistics, const double *gamma,
                                     const double *beta)
{
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
    double *values = NULL;
    norma_status status = NORMA_OK;
    double eps = norma_config_get_real(writer->output->config, 0, "bn-eps");
    NORMA_TRY(NORMA_ALLOC(values, 4 * n));
    norma_maps_to_batch_norm(n, gamma, beta, eps, statistics, values, values + n, values + 2 * n,
                             values + 3 * n);
    for (int k = 0; k < 4 && status == NORMA_OK; k++) {
        char name[32];
        snprintf(name, sizeof name, "%s_%s", prefix, names[k]);
        status = write_row(writer, group, name, replica, n, values + k * n);
    }
    NORMA_FREE(values);
    return status;
}

static norma_status write_maps(const norma_reconstruct_writer *writer, const char *group,
                               const norma_reconstruct_layer *layer, int64_t replica)
{
    const norma_maps *maps = layer->maps;
    int64_t c1 = maps->n_features;
    int64_t c2 = maps->n_channels_out;
    NORMA_TRY(write_row(writer, group, "gamma1", replica, c1, maps->gamma1));
    NORMA_TRY(write_row(writer, group, "beta1", replica, c1, maps->beta1));
    NORMA_TRY(write_row(writer, group, "gamma2", replica, c2, maps->gamma2));
    NORMA_TRY(write_row(writer, group, "beta2", replica, c2, maps->beta2));
    NORMA_TRY(write_row(writer, group, "linear_region", replica, 2,
                        (const double[]){maps->region.low, maps->region.high}));
    NORMA_TRY(write_batch_norm(writer, group, "bn1", replica, c1, &layer->statistics1, maps->gamma1,
                               maps->beta1));
    NORMA_TRY(write_batch_norm(writer, group, "bn2", replica, c2, &layer->statistics2, maps->gamma2,
                               maps->beta2));
    if (!layer->statistics1.bias)
        return NORMA_OK;
    NORMA_TRY(write_row(writer, group, "conv1_bias", replica, c1, layer->statistics1.bias));
    return write_row(writer, group, "conv2_bias", replica, c2, layer->statistics2.bias);
}

static norma_status write_skip(const norma_reconstruct_writer *writer, const char *group,
                               const norma_reconstruct_layer *layer, int64_t replica)
{
    const norma_kernel_shape *kernel = &layer->shape.kernel.target;
    const int64_t start[] = {replica, 0, 0, 0, 0};
    const int64_t count[] = {1, layer->shape.n_channels_out, layer->shape.n_channels_in,
                             kernel->height, kernel->width};
    char path[2 * MOST_PATH];
    snprintf(path, sizeof path, "%s/Ws", group);
    return norma_reconstruct_writer_put_local(writer, path, NORMA_FLOAT64, start, count,
                                              layer->skip);
}

/* Each rank draws and writes its share of the features, whole groups where there are several. */
static norma_status write_weights(const norma_reconstruct_writer *writer, const char *group,
                                  const norma_reconstruct_layer *layer, int64_t replica)
{
    const norma_kernel *kernel = &layer->shape.kernel;
    int64_t width1 = norma_khatri_rao_width_first(&layer->shape);
    int64_t width2 = norma_khatri_rao_width_second(&layer->shape);
    int64_t c2 = layer->shape.n_channels_out;
    int64_t taps2 = norma_kernel_taps(kernel->second);
    int64_t of_group = layer->n_features / layer->groups;
    int64_t first = 0;
    int64_t n_shared = layer->groups > 1 ? layer->groups : layer->n_features;
    int64_t n =
        norma_index_share(n_shared, writer->team->chain.size, writer->team->chain.rank, &first);
    const int64_t start2[] = {replica, layer->groups > 1 ? first * c2 : 0,
                              layer->groups > 1 ? 0 : first, 0, 0};
    const int64_t count2[] = {1, layer->groups > 1 ? n * c2 : c2, layer->groups > 1 ? of_group : n,
                              kernel->second.height, kernel->second.width};
    if (layer->groups > 1) {
        first *= of_group;
        n *= of_group;
    }
    double *drawn = NULL;
    double *turned = NULL;
    char path[2 * MOST_PATH];

    norma_status status = NORMA_ALLOC(drawn, n * (width1 > width2 ? width1 : width2));
    if (status == NORMA_OK)
        status = NORMA_ALLOC(turned, n * width2);
    NORMA_GOTO(status, norma_team_agree(writer->team, status));

    norma_tensor_fill(layer->w1, first, n, drawn);
    snprintf(path, sizeof path, "%s/W1", group);
    const int64_t start1[] = {replica, first, 0, 0, 0};
    const int64_t count1[] = {1, n, layer->shape.n_channels_in, kernel->first.height,
                              kernel->first.width};
    NORMA_GOTO(status, write_share(writer, path, start1, count1, drawn));

    /* Stored by feature here, by output channel in the file, as PyTorch has it. */
    norma_tensor_fill(layer->w2, first, n, drawn);
    int64_t columns = count2[2];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < c2; i++)
            for (int64_t p = 0; p < taps2; p++)
                turned[((j / columns * c2 + i) * columns + j % columns) * taps2 + p] =
                    drawn[(j * c2 + i) * taps2 + p];
    snprintf(path, sizeof path, "%s/W2", group);
    NORMA_GOTO(status, write_share(writer, path, start2, count2, turned));
    if (layer->skip)
        status = norma_team_agree(writer->team, write_skip(writer, group, layer, replica));
done:
    NORMA_FREE(turned);
    NORMA_FREE(drawn);
    return status;
}

static norma_status write_order(const norma_reconstruct_writer *writer, const char *group,
                                const norma_reconstruct_layer *layer, int64_t replica)
{
    int64_t c2 = layer->shape.n_channels_out;
    const int64_t start[] = {replica, 0};
    const int64_t count[] = {1, c2};
    int32_t *rows = NULL;
    char path[2 * MOST_PATH];
    NORMA_TRY(NORMA_ALLOC(rows, c2));
    for (int64_t i = 0; i < c2; i++)
        rows[i] = (int32_t)layer->permutation[i];
    snprintf(path, sizeof path, "%s/permutation", group);
    norma_status status =
        norma_reconstruct_writer_put_local(writer, path, NORMA_INT32, start, count, rows);
    NORMA_FREE(rows);
    return status;
}

norma_status norma_reconstruct_output_arrays(const norma_reconstruct_writer *writer,
                                             const norma_reconstruct_cell *cell, int64_t replica,
                                             int64_t layer)
{
    const norma_reconstruct_output *output = writer->output;
    char group[MOST_PATH];
    layer_group(output, cell->number, layer, group);
    if (output->save_gamma)
        NORMA_TRY(norma_team_agree(writer->team,
                                   write_maps(writer, group, &cell->layers[layer], replica)));
    if (output->save_weights)
        NORMA_TRY(write_weights(writer, group, &cell->layers[layer], replica));
    if (output->save_weights && output->n_teacher > 0)
        NORMA_TRY(norma_team_agree(
            writer->team, write_teacher(writer, group, &cell->random->layers[0], replica)));
    if (output->with_orders)
        NORMA_TRY(norma_team_agree(writer->team,
                                   write_order(writer, group, &cell->layers[layer], replica)));
    if (output->save_values)
        NORMA_TRY(write_row(writer, group, "singular_value", replica,
                            norma_reconstruct_values_count(cell, layer),
                            cell->layers[layer].values));
    return NORMA_OK;
}
