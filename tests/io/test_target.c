/* io/input/target, io/input/source, io/hdf5/h5_input: values of good files (computed by numpy
 * beside them), one clear message for each bad one, the network that Fashion-MNIST was learned by.
 * input_files.py writes the files. */
#include "tests/harness/mpi_harness.h"

#include "io/hdf5/h5_input.h"
#include "io/input/dataset.h"
#include "io/input/skip.h"
#include "io/input/source.h"
#include "io/input/target.h"
#include "src/base/mem.h"
#include "src/network/bounds.h"
#include "src/network/forward.h"
#include "src/network/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LENGTH 1024

static const char *files(const char *name, char path[PATH_LENGTH])
{
    const char *folder = getenv("NORMA_TEST_INPUTS");
    snprintf(path, PATH_LENGTH, "%s/%s", folder ? folder : ".", name);
    return path;
}

/* The largest difference between n values and a dataset of the file; rank 0, 0 elsewhere. */
static double difference_from_file(const char *file, const char *path, int64_t n,
                                   const double *values)
{
    norma_h5_input *input = NULL;
    double *expected = NULL, difference = 0;
    int rank = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK], size = 1;
    if (norma_test_runtime->rank != 0)
        return 0;
    norma_test_ok(norma_h5_input_open_root(file, &input));
    norma_test_ok(norma_h5_input_shape_root(input, path, 1, 4, &rank, extents));
    for (int k = 0; k < rank; k++)
        size *= extents[k];
    assert_int_equal(size, n);
    norma_test_ok(NORMA_ALLOC(expected, n));
    norma_test_ok(norma_h5_input_read_root(input, path, rank, extents, expected));
    difference = norma_test_max_difference(values, expected, n);
    NORMA_FREE(expected);
    norma_h5_input_close_root(&input);
    return difference;
}

static void test_network(void **state)
{
    (void)state;
    char path[PATH_LENGTH], name[64];
    norma_target *target = NULL;
    norma_test_ok_all(
        norma_target_read(norma_test_runtime->world, files("network.h5", path), &target));
    const norma_network *network = norma_target_network_local(target);
    const norma_layer *a = &network->layers[0], *b = &network->layers[1];
    norma_test_check_all(network->n_layers == 3);
    norma_test_check_all(network->scale[0] == 0.5 && network->scale[1] == 0.25);
    norma_test_check_all(network->offset[0] == -1 && network->offset[1] == -1);
    norma_test_check_all(network->input_min == -1 && network->input_max == 1.5);
    norma_test_check_all(strcmp(network->dataset, "none of ours") == 0);
    norma_test_check_all(a->kind == NORMA_LAYER_CONV2D && a->pool == NORMA_POOL_MAX2);
    norma_test_check_all(a->activation.kind == NORMA_ACTIVATION_RELU);
    norma_test_check_all(a->stride[0] == 1 && a->stride[1] == 2 && a->padding[1] == 1);
    norma_test_check_all(b->kernel.height == 1 && b->kernel.width == 2);
    norma_test_check_all(b->padding[0] == 0 && b->padding[1] == 1);
    norma_test_check_all(b->activation.kind == NORMA_ACTIVATION_LEAKY_RELU);
    norma_test_check_all(b->activation.parameter == 0.2);
    norma_test_check_all(network->layers[2].kind == NORMA_LAYER_LINEAR);
    norma_test_check_all(norma_shape_size(network->layers[2].output) == 2);
    for (int64_t l = 0; l < 3; l++) {
        const norma_layer *layer = &network->layers[l];
        snprintf(name, sizeof name, "/expected/%03d/weight", (int)l);
        norma_test_check_all(difference_from_file(path, name, norma_layer_weight_size(layer),
                                                  layer->weight) < 1e-14);
        snprintf(name, sizeof name, "/expected/%03d/bias", (int)l);
        norma_test_check_all(difference_from_file(path, name, layer->n_channels_out, layer->bias) <
                             1e-14);
    }
    norma_target_destroy(&target);
}

/* The same numbers in every type, and other shapes of path. */
static void test_types(void **state)
{
    (void)state;
    static const char *const names[] = {
        "f2",     "f4",         "f8",           "g",        "i1",           "u1",
        "i2",     "u2",         "i4",           "u4",       "i8",           "u8",
        "big_f2", "big_f4",     "big_f8",       "big_i2",   "big_i4",       "big_u8",
        "/f4",    "compressed", "deep/er/data", "kernel:0", "/a:b/kernel:0"};
    static const double expected[] = {1, 2, 3, 4, 5, 100};
    char path[PATH_LENGTH], where[PATH_LENGTH + 64];
    norma_target *target = NULL;
    for (size_t k = 0; k < 2 * sizeof names / sizeof names[0]; k++) {
        /* cut at the first colon that leaves a file */
        files(k % 2 == 0 ? "types.h5" : "co:lon,types.mat", path);
        snprintf(where, sizeof where, "%s:%s", path, names[k / 2]);
        norma_test_ok_all(norma_target_read(norma_test_runtime->world, where, &target));
        const norma_network *network = norma_target_network_local(target);
        norma_test_check_all(network->n_layers == 1 && network->layers[0].n_channels_out == 2);
        norma_test_check_all(network->input_min == -1 && network->input_max == 1);
        norma_test_check_all(memcmp(network->layers[0].weight, expected, sizeof expected) == 0);
        norma_target_destroy(&target);
    }
    snprintf(where, sizeof where, "%s:conv", files("types.h5", path));
    norma_test_ok_all(norma_target_read(norma_test_runtime->world, where, &target));
    const norma_layer *layer = &norma_target_network_local(target)->layers[0];
    norma_test_check_all(layer->kernel.width == 2 && layer->n_channels_in == 3);
    norma_test_check_all(layer->weight[23] == 23 && layer->bias[1] == 0);
    norma_test_check_all(layer->hidden.height == 0);
    norma_target_destroy(&target);
}

/* Feature-major second weights, for all layers and for some. */
static void test_source(void **state)
{
    (void)state;
    char path[PATH_LENGTH], name[64];
    static const bool needed[] = {false, true, false};
    norma_target *target = NULL;
    norma_source *source = NULL;
    MPI_Comm world = norma_test_runtime->world;
    norma_test_ok_all(norma_target_read(world, files("network.h5", path), &target));
    const norma_network *network = norma_target_network_local(target);
    norma_test_ok_all(
        norma_source_read(world, files("source.h5", path), network, NULL, false, false, &source));
    for (int l = 0; l < 3; l++) {
        const norma_source_pair *pair = norma_source_pair_local(source, l);
        int64_t n = pair->n_features * pair->n_channels_in * norma_kernel_taps(pair->k1);
        norma_test_check_all(pair->n_features == 7 - 2 * (l == 1) - (l == 2));
        snprintf(name, sizeof name, "/source/%03d/W1", l);
        norma_test_check_all(difference_from_file(path, name, n, pair->w1) == 0);
        n = pair->n_features * pair->n_channels_out * norma_kernel_taps(pair->k2);
        snprintf(name, sizeof name, "/expected/%03d/W2", l);
        norma_test_check_all(difference_from_file(path, name, n, pair->w2) == 0);
    }
    norma_source_destroy(&source);
    norma_test_ok_all(norma_source_read(world, path, network, needed, false, false, &source));
    norma_test_check_all(norma_source_pair_local(source, 0)->n_features == 0);
    norma_test_check_all(norma_source_pair_local(source, 1)->n_features == 5);
    snprintf(name, sizeof name, "/expected/001/W2");
    norma_test_check_all(
        difference_from_file(path, name, 15, norma_source_pair_local(source, 1)->w2) == 0);
    norma_source_destroy(&source);
    norma_target_destroy(&target);
}

/* Reads what a line of cases.txt names; must fail. */
static norma_status read_case(const char *kind, const char *name, const norma_network *network)
{
    MPI_Comm world = norma_test_runtime->world;
    norma_target *target = NULL;
    norma_source *source = NULL;
    norma_skips *skips = NULL;
    norma_dataset *dataset = NULL;
    norma_status status = NORMA_OK;
    if (strcmp(kind, "target") == 0)
        status = norma_target_read(world, name, &target);
    else if (strcmp(kind, "source") == 0)
        status = norma_source_read(world, name, network, NULL, false, false, &source);
    else if (strcmp(kind, "skip") == 0)
        status = norma_skips_read(world, name, network, NULL, &skips);
    else
        status = norma_dataset_read(world, name, 3, &dataset);
    norma_skips_destroy(&skips);
    norma_target_destroy(&target);
    norma_source_destroy(&source);
    norma_dataset_destroy(&dataset);
    return status;
}

static void test_bad_files(void **state)
{
    (void)state;
    char path[PATH_LENGTH], line[2 * PATH_LENGTH];
    int n_cases = 0, n_bad = 0;
    norma_target *target = NULL;
    norma_test_ok_all(
        norma_target_read(norma_test_runtime->world, files("network.h5", path), &target));
    FILE *cases = fopen(files("cases.txt", path), "r");
    norma_test_check_all(cases != NULL);
    while (fgets(line, sizeof line, cases)) {
        char *rest = NULL;
        const char *kind = strtok_r(line, "\t\n", &rest);
        const char *name = strtok_r(NULL, "\t\n", &rest);
        const char *text = strtok_r(NULL, "\t\n", &rest);
        norma_status_clear();
        norma_status status = read_case(kind, name, norma_target_network_local(target));
        const char *message = norma_status_error()->message;
        bool good = status == NORMA_CONFIG && norma_test_contains(message, text);
        if (!good && norma_test_runtime->rank == 0)
            fprintf(stderr, "%s: status %d, message '%s' lacks '%s'\n", name, (int)status, message,
                    text);
        n_bad += good ? 0 : 1;
        n_cases++;
    }
    fclose(cases);
    norma_status_clear();
    norma_target_destroy(&target);
    norma_test_check_all(n_bad == 0 && n_cases > 70);
}

/* Every operator of a graph, against the numpy forward pass in the file; liveness saves memory, and
 * interval-deep ranges hold the values of each layer. */
static void test_graph(void **state)
{
    (void)state;
    enum { IMAGES = 4 };
    char path[PATH_LENGTH];
    norma_target *target = NULL;
    norma_forward *forward = NULL;
    norma_slots slots;
    double *buffers[16] = {NULL}, *range = NULL;
    files("graph.h5", path);
    norma_test_ok_all(norma_target_read(norma_test_runtime->world, path, &target));
    const norma_network *network = norma_target_network_local(target);
    norma_test_check_all(network->n_layers == 22 && !norma_network_is_chain(network));
    norma_test_check_all(strcmp(network->layers[21].name, "013") == 0);
    norma_test_ok_all(norma_network_place(network, &slots));
    norma_test_check_all(slots.n_slots <= 5 && 2 * slots.total < slots.values);
    norma_test_ok_all(norma_forward_create(network, 2, &forward));
    norma_test_ok_all(NORMA_ALLOC(range, 2 * slots.values));
    for (int64_t k = 0; k < slots.n_slots; k++)
        norma_test_ok_all(NORMA_ALLOC(buffers[k], IMAGES * slots.size[k]));
    norma_h5_input *input = NULL;
    const int64_t extents[4] = {IMAGES, 3, 10, 7};
    if (norma_test_runtime->rank == 0) {
        norma_test_ok(norma_h5_input_open_root(path, &input));
        norma_test_ok(norma_h5_input_read_root(input, "/expected/x", 4, extents, buffers[0]));
        norma_h5_input_close_root(&input);
    }
    MPI_Bcast(buffers[0], IMAGES * 210, MPI_DOUBLE, 0, norma_test_runtime->world);
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *layer = &network->layers[l];
        int64_t from = network->inputs[layer->first_input] + 1;
        int64_t n = layer->n_channels_in, pixels = norma_shape_size(layer->input) / n;
        bool inside = true;
        norma_test_ok_all(norma_bounds_propagate(network, l, range, range + slots.values));
        for (int64_t k = 0; k < IMAGES * n * pixels; k++) {
            double x = buffers[slots.of[from]][k];
            int64_t c = k / pixels % n;
            inside = inside && x >= range[c] && x <= range[slots.values + c];
        }
        norma_test_check_all(inside);
        norma_forward_step(forward, l, IMAGES, &slots, buffers);
    }
    double difference =
        difference_from_file(path, "/expected/outputs", (int64_t)IMAGES * 5, buffers[slots.of[22]]);
    norma_test_check_all(difference < 1e-12);
    for (int64_t k = 0; k < slots.n_slots; k++)
        NORMA_FREE(buffers[k]);
    NORMA_FREE(range);
    norma_slots_clear(&slots);
    norma_forward_destroy(&forward);
    norma_target_destroy(&target);
}

/* Real networks of all trained activations: their own single-precision outputs, stored by whoever
 * trained them. */
static void check_reference_outputs(const char *name, int64_t n_layers)
{
    enum { IMAGES = 100 };
    char path[PATH_LENGTH];
    const char *source = getenv("NORMA_SOURCE");
    MPI_Comm world = norma_test_runtime->world;
    norma_target *target = NULL;
    norma_dataset *dataset = NULL;
    norma_forward *forward = NULL;
    double *a = NULL, *b = NULL;
    snprintf(path, sizeof path, "%s/experiments/data/%s.h5", source ? source : ".", name);
    norma_test_ok_all(norma_target_read(world, path, &target));
    const norma_network *network = norma_target_network_local(target);
    norma_test_check_all(network->n_layers == n_layers);
    norma_test_ok_all(norma_dataset_read(world, network->dataset, IMAGES, &dataset));
    const norma_images *images = norma_dataset_images_local(dataset);
    norma_test_ok_all(norma_images_check(images, network));
    norma_test_ok_all(norma_forward_create(network, 1, &forward));
    norma_test_ok_all(NORMA_ALLOC(a, IMAGES * 32 * 784));
    norma_test_ok_all(NORMA_ALLOC(b, IMAGES * 32 * 784));
    norma_images_load(images, network, 0, IMAGES, a);
    for (int64_t l = 0; l < network->n_layers; l++) {
        norma_forward_layer(forward, l, IMAGES, a, b);
        double *swap = a;
        a = b;
        b = swap;
    }
    double difference = difference_from_file(path, "/reference/logits_first_100_test_images",
                                             (int64_t)IMAGES * 10, a);
    norma_test_check_all(difference < 1e-4);
    norma_forward_destroy(&forward);
    NORMA_FREE(a);
    NORMA_FREE(b);
    norma_dataset_destroy(&dataset);
    norma_target_destroy(&target);
}

static void test_reference_outputs(void **state)
{
    (void)state;
    check_reference_outputs("fashion_cnn_w32", 6);
    check_reference_outputs("fashion_cnn_w16_relu", 5);
    check_reference_outputs("fashion_cnn_w16_leaky-relu", 5);
    check_reference_outputs("fashion_cnn_w16_tanh", 5);
    check_reference_outputs("fashion_cnn_w16_sigmoid", 5);
    check_reference_outputs("fashion_cnn_w16_gelu", 5);
}

/* One weight stored in many ways: virtual, in raw files, chunked, packed, behind links. */
static void test_stored(void **state)
{
    (void)state;
    static const char *const names[] = {
        "virtual", "virtual_of_virtual", "external", "chunked", "packed", "unsigned", "soft",
        "linked",  "/group/chunked"};
    char path[PATH_LENGTH], where[PATH_LENGTH + 32];
    files("stored.h5", path);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        norma_target *target = NULL;
        snprintf(where, sizeof where, "%s:%s", path, names[k]);
        norma_test_ok_all(norma_target_read(norma_test_runtime->world, where, &target));
        const norma_layer *layer = &norma_target_network_local(target)->layers[0];
        norma_test_check_all(difference_from_file(path, "/expected", 12, layer->weight) == 0);
        norma_target_destroy(&target);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_network),   cmocka_unit_test(test_types),
    cmocka_unit_test(test_stored),    cmocka_unit_test(test_source),
    cmocka_unit_test(test_bad_files), cmocka_unit_test(test_reference_outputs),
    cmocka_unit_test(test_graph),
};

norma_test_main_mpi("io.target", tests)
