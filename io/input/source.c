#include "io/input/source.h"

#include "io/hdf5/h5_input.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/shared.h"
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/base/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct norma_source {
    int64_t n_layers;
    norma_source_pair *pairs; /* [n_layers]; n_features 0 where not read; owned */
    bool with_statistics;
    norma_shared *shared; /* all W1, W2, and statistics; owned */
};

#define PATH_LENGTH 64

/* In the order in which they are stored; those of layer 1 have c1 values, those of layer 2 c2. */
enum { N_STATISTICS = 3 };
static const char *const statistics_names[2][N_STATISTICS] = {{"mu1", "var1", "b1"},
                                                              {"mu2", "var2", "b2"}};
enum { VARIANCE = 1, BIAS = 2 };

static int64_t first_size(const norma_source_pair *pair)
{
    return pair->n_features * (pair->n_channels_in / pair->groups) * norma_kernel_taps(pair->k1);
}

static int64_t second_size(const norma_source_pair *pair)
{
    return pair->n_features * (pair->n_channels_out / pair->groups) * norma_kernel_taps(pair->k2);
}

static int64_t statistics_size(const norma_source_pair *pair)
{
    return N_STATISTICS * (pair->n_features + pair->n_channels_out);
}

/* Extents [a, b] or [a, b, height, width] of a weight. */
static norma_status read_extents_root(const norma_h5_input *input, const char *path, int64_t *a,
                                      int64_t *b, norma_kernel_shape *kernel)
{
    int rank = 0;
    int64_t n = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {1, 1, 1, 1};
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, &rank, extents));
    if (rank == 3)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: has 3 axes, 2 or 4 are expected",
                          norma_h5_input_name_root(input), path);
    *a = extents[0];
    *b = extents[1];
    *kernel = (norma_kernel_shape){rank == 4 ? extents[2] : 1, rank == 4 ? extents[3] : 1};
    NORMA_TRY(norma_index_multiply(*a, *b, "elements of a weight", &n));
    return norma_index_multiply(n, norma_kernel_taps(*kernel), "elements of a weight", &n);
}

static norma_status check_pair_root(const char *file, const char *group,
                                    const norma_source_pair *pair, int64_t c1_of_second,
                                    const norma_layer *layer)
{
    int64_t height = pair->k1.height + pair->k2.height - 1;
    int64_t width = pair->k1.width + pair->k2.width - 1;
    if (pair->n_features % pair->groups != 0 || pair->n_features / pair->groups != c1_of_second)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: W1 has %" PRId64 " features (axis 0) but W2 has %" PRId64
                          " (axis 1)%s",
                          file, group, pair->n_features, c1_of_second,
                          pair->groups > 1 ? " for each group of channels" : "");
    if (pair->n_channels_in != layer->n_channels_in)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: W1 has %" PRId64 " input channels (axis 1) but the target layer "
                          "has %" PRId64 "%s",
                          file, group, pair->n_channels_in / pair->groups,
                          layer->n_channels_in / pair->groups, pair->groups > 1 ? " a group" : "");
    if (pair->n_channels_out != layer->n_channels_out)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: W2 has %" PRId64 " output channels (axis 0) but the target "
                          "layer has %" PRId64,
                          file, group, pair->n_channels_out, layer->n_channels_out);
    if (height < layer->kernel.height || width < layer->kernel.width)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: W1 and W2 together reach %" PRId64 "x%" PRId64
                          " taps, which does not cover the target's %" PRId64 "x%" PRId64,
                          file, group, height, width, layer->kernel.height, layer->kernel.width);
    return NORMA_OK;
}

/* A member that is not understood could change what the pair computes. */
static norma_status check_members_root(const norma_h5_input *input, const char *group)
{
    static const char *const known[] = {"W1", "W2", "Ws", "mu1", "var1", "b1", "mu2", "var2", "b2"};
    static const norma_names names = NORMA_NAMES("member of a pair", "members", known);
    int64_t n = 0;
    NORMA_TRY(norma_h5_input_count_root(input, group, &n));
    for (int64_t i = 0; i < n; i++) {
        char name[PATH_LENGTH];
        NORMA_TRY(norma_h5_input_member_root(input, group, i, name, sizeof name));
        if (norma_names_index(&names, name) < 0)
            return norma_status_context(norma_names_fail(&names, NORMA_CONFIG, name),
                                        "%s: %s: ", norma_h5_input_name_root(input), group);
    }
    return NORMA_OK;
}

static norma_status describe_pair_root(const norma_h5_input *input, int64_t l,
                                       const norma_layer *layer, norma_source_pair *pair)
{
    const char *file = norma_h5_input_name_root(input);
    char group[PATH_LENGTH];
    char path[2 * PATH_LENGTH];
    int64_t c1_of_second = 0;
    snprintf(group, sizeof group, "/source/%03d", (int)l);
    NORMA_TRY(norma_h5_input_check_links_root(input, group));
    if (!norma_h5_input_is_group_root(input, group))
        return NORMA_FAIL(NORMA_CONFIG, "%s: there is no group %s with the weights for layer %03d",
                          file, group, (int)l);
    NORMA_TRY(check_members_root(input, group));
    snprintf(path, sizeof path, "%s/W1", group);
    NORMA_TRY(read_extents_root(input, path, &pair->n_features, &pair->n_channels_in, &pair->k1));
    pair->groups = layer->groups;
    NORMA_TRY(norma_index_multiply(pair->n_channels_in, pair->groups, "input channels of a source",
                                   &pair->n_channels_in));
    snprintf(path, sizeof path, "%s/W2", group);
    NORMA_TRY(read_extents_root(input, path, &pair->n_channels_out, &c1_of_second, &pair->k2));
    return check_pair_root(file, group, pair, c1_of_second, layer);
}

/* out[c1][c2][|K2|] from in[c2][c1][|K2|], group by group. */
static void to_feature_major(const norma_source_pair *pair, const double *in, double *out)
{
    int64_t n_taps = norma_kernel_taps(pair->k2);
    int64_t n_outputs = pair->n_channels_out / pair->groups;
    int64_t n_features = pair->n_features / pair->groups;
    size_t bytes = (size_t)n_taps * sizeof *out;
    for (int64_t g = 0; g < pair->groups; g++)
        for (int64_t i = 0; i < n_outputs; i++)
            for (int64_t j = 0; j < n_features; j++)
                memcpy(out + ((g * n_features + j) * n_outputs + i) * n_taps,
                       in + ((g * n_outputs + i) * n_features + j) * n_taps, bytes);
}

static norma_status read_pair_root(const norma_h5_input *input, int64_t l,
                                   const norma_source_pair *pair, double *w1, double *w2)
{
    char path[PATH_LENGTH];
    int rank = 0;
    int64_t ignored[NORMA_H5_INPUT_MAX_RANK];
    int64_t first[4] = {pair->n_features, pair->n_channels_in / pair->groups, pair->k1.height,
                        pair->k1.width};
    int64_t second[4] = {pair->n_channels_out, pair->n_features / pair->groups, pair->k2.height,
                         pair->k2.width};
    double *given = NULL;
    snprintf(path, sizeof path, "/source/%03d/W1", (int)l);
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, &rank, ignored));
    NORMA_TRY(norma_h5_input_read_root(input, path, rank, first, w1));
    snprintf(path, sizeof path, "/source/%03d/W2", (int)l);
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, &rank, ignored));
    NORMA_TRY(NORMA_ALLOC(given, second_size(pair)));
    norma_status status = norma_h5_input_read_root(input, path, rank, second, given);
    if (status == NORMA_OK)
        to_feature_major(pair, given, w2);
    NORMA_FREE(given);
    return status;
}

/* values[3 (c1 + c2)] = mu1, var1, b1, mu2, var2, b2 of a layer. */
static norma_status read_statistics_root(const norma_h5_input *input, int64_t l,
                                         const norma_source_pair *pair, double *values)
{
    const int64_t lengths[2] = {pair->n_features, pair->n_channels_out};
    for (int of = 0; of < 2; of++)
        for (int k = 0; k < N_STATISTICS; k++) {
            char path[PATH_LENGTH];
            int64_t n = lengths[of];
            snprintf(path, sizeof path, "/source/%03d/%s", (int)l, statistics_names[of][k]);
            if (k == BIAS && !norma_h5_input_has_root(input, path))
                memset(values, 0, (size_t)n * sizeof *values);
            else
                NORMA_TRY(norma_h5_input_read_root(input, path, 1, &n, values));
            for (int64_t i = 0; k == VARIANCE && i < n; i++)
                if (values[i] < 0)
                    return NORMA_FAIL(NORMA_CONFIG,
                                      "%s: %s: variance %" PRId64 " is %g; it cannot be negative",
                                      norma_h5_input_name_root(input), path, i, values[i]);
            values += n;
        }
    return NORMA_OK;
}

/* A skip that nobody takes would change what the pair computes. */
static norma_status refuse_skip_root(const norma_h5_input *input, int64_t l)
{
    char path[PATH_LENGTH];
    snprintf(path, sizeof path, "/source/%03d/Ws", (int)l);
    if (!norma_h5_input_has_root(input, path))
        return NORMA_OK;
    return NORMA_FAIL(
        NORMA_CONFIG,
        "%s: %s: a skip connection, which nothing uses; give --residual inner or outer",
        norma_h5_input_name_root(input), path);
}

static norma_status describe_root(const norma_h5_input *input, const norma_network *network,
                                  const bool *needed, bool skips_used, norma_source_pair *pairs)
{
    for (int64_t l = 0; l < network->n_layers; l++) {
        if (needed && !needed[l])
            continue;
        NORMA_TRY(describe_pair_root(input, l, &network->layers[l], &pairs[l]));
        if (!skips_used)
            NORMA_TRY(refuse_skip_root(input, l));
    }
    return NORMA_OK;
}

/* Where each pair's arrays lie in the shared memory; returns their size in doubles. */
static int64_t place_pairs(norma_source *source, const double *storage)
{
    int64_t used = 0;
    for (int64_t l = 0; l < source->n_layers; l++) {
        norma_source_pair *pair = &source->pairs[l];
        if (pair->n_features == 0)
            continue;
        pair->w1 = storage ? storage + used : NULL;
        used += first_size(pair);
        pair->w2 = storage ? storage + used : NULL;
        used += second_size(pair);
        if (!source->with_statistics)
            continue;
        const double **const arrays[] = {&pair->mean1, &pair->variance1, &pair->bias1,
                                         &pair->mean2, &pair->variance2, &pair->bias2};
        for (int k = 0; k < 2 * N_STATISTICS; k++) {
            *arrays[k] = storage ? storage + used : NULL;
            used += k < N_STATISTICS ? pair->n_features : pair->n_channels_out;
        }
    }
    return used;
}

static norma_status read_all_root(const norma_h5_input *input, const norma_source *source,
                                  double *storage)
{
    for (int64_t l = 0; l < source->n_layers; l++) {
        const norma_source_pair *pair = &source->pairs[l];
        if (pair->n_features == 0)
            continue;
        NORMA_TRY(read_pair_root(input, l, pair, storage, storage + first_size(pair)));
        storage += first_size(pair) + second_size(pair);
        if (!source->with_statistics)
            continue;
        NORMA_TRY(read_statistics_root(input, l, pair, storage));
        storage += statistics_size(pair);
    }
    return NORMA_OK;
}

norma_status norma_source_read(MPI_Comm comm, const char *path, const norma_network *network,
                               const bool *needed, bool skips_used, bool statistics_used,
                               norma_source **out)
{
    int rank = 0;
    norma_source *source = NULL;
    norma_h5_input *input = NULL;
    MPI_Comm_rank(comm, &rank);
    norma_status status = NORMA_CALLOC(source, 1);
    if (status == NORMA_OK) {
        source->n_layers = network->n_layers;
        source->with_statistics = statistics_used;
        status = NORMA_CALLOC(source->pairs, network->n_layers);
    }
    for (int64_t l = 0; status == NORMA_OK && l < network->n_layers; l++)
        source->pairs[l].groups = 1;
    if (status == NORMA_OK && rank == 0)
        status = norma_h5_input_open_root(path, &input);
    if (status == NORMA_OK && rank == 0)
        status = describe_root(input, network, needed, skips_used, source->pairs);
    NORMA_GOTO(status, norma_agree(comm, status));
    MPI_Bcast(source->pairs, (int)((size_t)network->n_layers * sizeof(norma_source_pair)), MPI_BYTE,
              0, comm);
    int64_t bytes = place_pairs(source, NULL) * (int64_t)sizeof(double);
    NORMA_GOTO(status, norma_shared_create(comm, bytes, &source->shared));
    double *storage = norma_shared_data_local(source->shared);
    if (rank == 0)
        status = read_all_root(input, source, storage);
    NORMA_GOTO(status, norma_agree(comm, status));
    norma_shared_broadcast(source->shared);
    (void)place_pairs(source, storage);
    *out = source;
    source = NULL;
done:
    norma_h5_input_close_root(&input);
    norma_source_destroy(&source);
    return status;
}

const norma_source_pair *norma_source_pair_local(const norma_source *source, int64_t layer)
{
    return &source->pairs[layer];
}

void norma_source_destroy(norma_source **source)
{
    if (!*source)
        return;
    NORMA_FREE((*source)->pairs);
    norma_shared_destroy(&(*source)->shared);
    NORMA_FREE(*source);
}
